"""AddPartitionsToTxn: v0-5 (KIP-98, KIP-890).

Behaviour: adds all partitions to a transaction or none; if one cannot be added, the others get OPERATION_NOT_ATTEMPTED.
For producers of transaction version 2 the broker adds partitions itself. v2: a fenced producer gets PRODUCER_FENCED
(before, INVALID_PRODUCER_EPOCH). v4, v5: requests of brokers, for several transactions, which add partitions or ask if
they belong to a transaction; they need CLUSTER_ACTION instead of rights on names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from shareq.broker.data_folder_ground import FolderContext
from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.foundation.turn_budget import in_pieces
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

CONTEXT = FolderContext

_FENCED_FROM: Final = 2
_BROKERS_FROM: Final = 4

_CLIENT_VERSION: Final = 0
_BROKERS_CLIENT_VERSION: Final = 2  # a broker that knows version 4 knows transaction version 2, says Apache Kafka

_Topics = Sequence[AddPartitionsToTxnTopic]
_Errors = dict[TopicPartition, ErrorCode]
_Answer = Pending[ErrorCode] | Pending[_Errors]
"""The error of all partitions, or the errors of some; then the others get OPERATION_NOT_ATTEMPTED."""


async def handle(ctx: FolderContext, request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnResponse:
    if ctx.api_version >= _BROKERS_FROM:
        return await _of_brokers(ctx, request)
    transaction = AddPartitionsToTxnTransaction(
        request.v3_and_below_transactional_id,
        request.v3_and_below_producer_id,
        request.v3_and_below_producer_epoch,
        topics=request.v3_and_below_topics,
    )
    errors: ErrorCode | _Errors = WRITE_TRANSACTION.error
    if ctx.may(WRITE_TRANSACTION, transaction.transactional_id):
        answer = await _asked(ctx, transaction, clients=True)
        errors = await answer
    if ctx.api_version < _FENCED_FROM and errors is ErrorCode.PRODUCER_FENCED:
        errors = ErrorCode.INVALID_PRODUCER_EPOCH
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=await _rows(ctx, transaction.topics, errors))


def failed(request: AddPartitionsToTxnRequest, error: ErrorCode) -> AddPartitionsToTxnResponse:
    """Return the answer with the same error for every partition; for v4 and later, only as the top-level error."""
    if request.transactions:
        return AddPartitionsToTxnResponse(error_code=error)
    return AddPartitionsToTxnResponse(
        results_by_topic_v3_and_below=[
            AddPartitionsToTxnTopicResult(topic.name, _results(topic.name, topic.partitions, error))
            for topic in request.v3_and_below_topics
        ]
    )


async def _of_brokers(ctx: FolderContext, request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnResponse:
    if not ctx.may(CLUSTER_ACTION):
        return AddPartitionsToTxnResponse(error_code=CLUSTER_ACTION.error)
    transactions = request.transactions
    asked: list[_Answer] = []
    for each in transactions:  # all before the first is awaited: they become durable together
        asked.append(await _asked(ctx, each, clients=False))
        await ctx.breathe()
    response = AddPartitionsToTxnResponse()
    for each, answer in zip(transactions, asked, strict=True):
        rows = await _rows(ctx, each.topics, await answer)
        response.results_by_transaction.append(AddPartitionsToTxnResult(each.transactional_id, rows))
        await ctx.breathe()
    return response


async def _asked(ctx: FolderContext, transaction: AddPartitionsToTxnTransaction, *, clients: bool) -> _Answer:
    """Add all partitions through the coordinator, unless one of them may not be added.

    With `clients`, the request comes from a client: its rights are checked, and internal topics are refused, as in
    Apache Kafka.
    """
    every: dict[TopicPartition, None] = {}
    found: _Errors = {}
    may: dict[str, bool] = {}
    for topic in transaction.topics:
        name, image = topic.name, ctx.services.metadata.topic(topic.name)
        if clients and name not in may:
            may[name] = ctx.may(WRITE_TOPIC, name) and name not in INTERNAL_TOPICS
        refused = clients and not may[name]
        error = ErrorCode.TOPIC_AUTHORIZATION_FAILED if refused else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        count = 0 if refused or image is None else image.partitions
        for some in in_pieces(topic.partitions):
            for partition in some:
                at = TopicPartition(name, partition)
                every[at] = None
                if not 0 <= partition < count:
                    found[at] = error
            await ctx.breathe(1 + len(some))
    if found:
        return completed(found)
    coordinator = ctx.ground.transactions.coordinator
    identity = (transaction.transactional_id, transaction.producer_id, transaction.producer_epoch)
    if transaction.verify_only:
        return coordinator.verify_partitions(*identity, every)
    return coordinator.add_partitions(*identity, every, _CLIENT_VERSION if clients else _BROKERS_CLIENT_VERSION)


async def _rows(
    ctx: FolderContext, topics: _Topics, errors: ErrorCode | _Errors
) -> list[AddPartitionsToTxnTopicResult]:
    rows: list[AddPartitionsToTxnTopicResult] = []
    for topic in topics:
        row = AddPartitionsToTxnTopicResult(topic.name, [])
        rows.append(row)
        for some in in_pieces(topic.partitions):
            row.results_by_partition += _results(topic.name, some, errors)
            await ctx.breathe(1 + len(some))
    return rows


def _results(
    topic: str, partitions: Sequence[int], errors: ErrorCode | _Errors
) -> list[AddPartitionsToTxnPartitionResult]:
    if isinstance(errors, ErrorCode):
        return [AddPartitionsToTxnPartitionResult(each, errors) for each in partitions]
    others = ErrorCode.OPERATION_NOT_ATTEMPTED
    return [
        AddPartitionsToTxnPartitionResult(each, errors.get(TopicPartition(topic, each), others)) for each in partitions
    ]
