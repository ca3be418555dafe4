"""AddPartitionsToTxn: v0-5 (KIP-98, KIP-890).

Behaviour: all partitions of a transaction or none; one that cannot be added makes the others OPERATION_NOT_ATTEMPTED.
Producers of transaction version 2 leave it to the broker.
v2: a fenced producer gets PRODUCER_FENCED, INVALID_PRODUCER_EPOCH before. v4, v5: brokers among themselves, several
transactions at a time, to which partitions are added, or which are asked whether they have them; CLUSTER_ACTION instead
of rights on names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Final

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.foundation.pending import Pending, completed, gather
from shareq.broker.metadata.topic_names import INTERNAL_TOPICS
from shareq.broker.security.rights import CLUSTER_ACTION, WRITE_TOPIC, WRITE_TRANSACTION
from shareq.coordinator.transaction.metadata import TopicPartition
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
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
        return failed(request, WRITE_TRANSACTION.error)
    topics = request.v3_and_below_topics
    partitions = _partitions(topics)
    refused = ctx.lacking(WRITE_TOPIC, {at.topic for at in partitions})
    problems = _problems(ctx, partitions, refused | INTERNAL_TOPICS)  # no client may, as in Apache Kafka
    if problems:
        return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=_rows(topics, problems))
    added = ctx.services.transactions.coordinator.add_partitions(
        request.v3_and_below_transactional_id,
        request.v3_and_below_producer_id,
        request.v3_and_below_producer_epoch,
        partitions,
        _CLIENT_VERSION,
    )
    return added.then(lambda error: failed(request, _known(ctx.api_version, error)))


def failed(request: AddPartitionsToTxnRequest, error: ErrorCode) -> AddPartitionsToTxnResponse:
    """The same for every partition; above them all where brokers asked."""
    if request.transactions:
        return AddPartitionsToTxnResponse(error_code=error)
    topics = request.v3_and_below_topics
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=_rows(topics, _same(topics, error)))


def _of_brokers(ctx: RequestContext, request: AddPartitionsToTxnRequest) -> Answer:
    if not ctx.may(CLUSTER_ACTION):
        return AddPartitionsToTxnResponse(error_code=CLUSTER_ACTION.error)
    answers = [_of_transaction(ctx, transaction) for transaction in request.transactions]
    return gather(answers).then(lambda results: AddPartitionsToTxnResponse(results_by_transaction=results))


def _of_transaction(
    ctx: RequestContext, transaction: AddPartitionsToTxnTransaction
) -> Pending[AddPartitionsToTxnResult]:
    topics = transaction.topics
    partitions = _partitions(topics)
    identity = (transaction.transactional_id, transaction.producer_id, transaction.producer_epoch)
    coordinator = ctx.services.transactions.coordinator
    problems = _problems(ctx, partitions, frozenset())
    if problems:
        errors: Pending[dict[TopicPartition, ErrorCode]] = completed(problems)
    elif transaction.verify_only:
        errors = coordinator.verify_partitions(*identity, partitions)
    else:
        added = coordinator.add_partitions(*identity, partitions, _BROKERS_CLIENT_VERSION)
        errors = added.then(lambda error: _same(topics, error))
    return errors.then(lambda each: AddPartitionsToTxnResult(transaction.transactional_id, _rows(topics, each)))


def _partitions(topics: Iterable[AddPartitionsToTxnTopic]) -> list[TopicPartition]:
    return [TopicPartition(topic.name, partition) for topic in topics for partition in topic.partitions]


def _problems(
    ctx: RequestContext, partitions: Iterable[TopicPartition], refused: Set[str]
) -> dict[TopicPartition, ErrorCode]:
    problems: dict[TopicPartition, ErrorCode] = {}
    for at in partitions:
        image = ctx.services.metadata.topic(at.topic)
        if at.topic in refused:
            problems[at] = WRITE_TOPIC.error
        elif image is None or not 0 <= at.partition < image.partitions:
            problems[at] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return problems


def _known(version: int, error: ErrorCode) -> ErrorCode:
    fenced = version < _FENCED_FROM and error is ErrorCode.PRODUCER_FENCED
    return ErrorCode.INVALID_PRODUCER_EPOCH if fenced else error


def _same(topics: Iterable[AddPartitionsToTxnTopic], error: ErrorCode) -> dict[TopicPartition, ErrorCode]:
    return dict.fromkeys(_partitions(topics), error)


def _rows(
    topics: Iterable[AddPartitionsToTxnTopic], errors: Mapping[TopicPartition, ErrorCode]
) -> list[AddPartitionsToTxnTopicResult]:
    """Those without an error of their own were not tried, because others have one."""
    others = ErrorCode.OPERATION_NOT_ATTEMPTED
    return [
        AddPartitionsToTxnTopicResult(
            topic.name,
            [
                AddPartitionsToTxnPartitionResult(each, errors.get(TopicPartition(topic.name, each), others))
                for each in topic.partitions
            ],
        )
        for topic in topics
    ]
