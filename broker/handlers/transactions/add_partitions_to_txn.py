"""AddPartitionsToTxn: v0-5 (KIP-98, KIP-890).

Behaviour: all partitions of a transaction or none; one that cannot be added makes the others OPERATION_NOT_ATTEMPTED.
Producers of transaction version 2 leave it to the broker.
v2: a fenced producer gets PRODUCER_FENCED, INVALID_PRODUCER_EPOCH before. v4, v5: brokers among themselves, several
transactions at a time, to which partitions are added, or which are asked whether they have them; CLUSTER_ACTION instead
of rights on names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.dispatch.in_turns import Steps, lacking_in_turns, pending_in_turns, run_in_turns
from shareq.broker.foundation.pending import Pending, gather
from shareq.broker.metadata.topic_names import INTERNAL_TOPICS
from shareq.broker.security.rights import CLUSTER_ACTION, WRITE_TOPIC, WRITE_TRANSACTION
from shareq.broker.transactions.named_partitions import TURN_PARTITIONS, Errors, NamedPartitions, count, rows
from shareq.coordinator.transaction.metadata import TopicPartition
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTransaction,
)

_FENCED_FROM: Final = 2
_BROKERS_FROM: Final = 4

_CLIENT_VERSION: Final = 0
_BROKERS_CLIENT_VERSION: Final = 2  # a broker that knows version 4 knows transaction version 2, says Apache Kafka

Answer = AddPartitionsToTxnResponse | Pending[AddPartitionsToTxnResponse]


def handle(ctx: RequestContext, request: AddPartitionsToTxnRequest) -> Answer:
    if ctx.api_version >= _BROKERS_FROM:
        return _of_brokers(ctx, request)
    if not ctx.may(WRITE_TRANSACTION, request.v3_and_below_transactional_id):
        topics, error = request.v3_and_below_topics, WRITE_TRANSACTION.error
        hidden = _named(ctx).refused_rows(topics, error, partial(run_in_turns, ctx))
        return hidden.then(lambda rows: AddPartitionsToTxnResponse(results_by_topic_v3_and_below=rows))
    return pending_in_turns(ctx, _of_client(ctx, request))


def failed(request: AddPartitionsToTxnRequest, error: ErrorCode) -> AddPartitionsToTxnResponse:
    """The same for every partition; above them all where brokers asked."""
    if request.transactions:
        return AddPartitionsToTxnResponse(error_code=error)
    topics = request.v3_and_below_topics
    everywhere = {TopicPartition(topic.name, each): error for topic in topics for each in topic.partitions}
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=rows(topics, everywhere))


def _of_client(ctx: RequestContext, request: AddPartitionsToTxnRequest) -> Steps[Pending[AddPartitionsToTxnResponse]]:
    topics = request.v3_and_below_topics
    refused = yield from lacking_in_turns(ctx, WRITE_TOPIC, dict.fromkeys(topic.name for topic in topics))
    identity = (
        request.v3_and_below_transactional_id,
        request.v3_and_below_producer_id,
        request.v3_and_below_producer_epoch,
    )

    def add(partitions: Sequence[TopicPartition]) -> Pending[Errors]:
        added = ctx.services.transactions.coordinator.add_partitions(*identity, partitions, _CLIENT_VERSION)
        return added.then(lambda error: dict.fromkeys(partitions, _known(ctx.api_version, error)))

    refused |= INTERNAL_TOPICS  # no client may write to those, as in Apache Kafka
    answered = _named(ctx).rows_of(topics, refused, add, partial(run_in_turns, ctx))
    return answered.then(lambda rows: AddPartitionsToTxnResponse(results_by_topic_v3_and_below=rows))


def _of_brokers(ctx: RequestContext, request: AddPartitionsToTxnRequest) -> Answer:
    if not ctx.may(CLUSTER_ACTION):
        return AddPartitionsToTxnResponse(error_code=CLUSTER_ACTION.error)
    transactions = request.transactions
    answers: Pending[list[AddPartitionsToTxnResult]] = Pending()

    def add() -> Iterator[None]:
        begun = []
        for transaction in transactions:
            begun.append(_of_transaction(ctx, transaction))
            yield
        gather(begun).on_complete(answers.complete)

    if sum(count(transaction.topics) for transaction in transactions) <= TURN_PARTITIONS:
        for _ in add():
            pass
    else:
        run_in_turns(ctx, add())
    return answers.then(lambda results: AddPartitionsToTxnResponse(results_by_transaction=results))


def _of_transaction(
    ctx: RequestContext, transaction: AddPartitionsToTxnTransaction
) -> Pending[AddPartitionsToTxnResult]:
    identity = (transaction.transactional_id, transaction.producer_id, transaction.producer_epoch)
    coordinator = ctx.services.transactions.coordinator

    def add(partitions: Sequence[TopicPartition]) -> Pending[Errors]:
        if transaction.verify_only:
            return coordinator.verify_partitions(*identity, partitions)
        added = coordinator.add_partitions(*identity, partitions, _BROKERS_CLIENT_VERSION)
        return added.then(lambda error: dict.fromkeys(partitions, error))

    answered = _named(ctx).rows_of(transaction.topics, frozenset(), add, partial(run_in_turns, ctx))
    return answered.then(lambda rows: AddPartitionsToTxnResult(transaction.transactional_id, rows))


def _named(ctx: RequestContext) -> NamedPartitions:
    return NamedPartitions(ctx.services.metadata)


def _known(version: int, error: ErrorCode) -> ErrorCode:
    fenced = version < _FENCED_FROM and error is ErrorCode.PRODUCER_FENCED
    return ErrorCode.INVALID_PRODUCER_EPOCH if fenced else error
