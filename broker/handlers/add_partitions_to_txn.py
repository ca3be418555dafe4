"""AddPartitionsToTxn: v0-3 (KIP-98).

Behaviour: all partitions of the request or none; one that cannot be added makes the others OPERATION_NOT_ATTEMPTED.
Producers of transaction version 2 leave it to the broker. v4 and v5 are for brokers among themselves, and not served.
v2: a fenced producer is told PRODUCER_FENCED, INVALID_PRODUCER_EPOCH before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from shareq.broker.context import RequestContext
from shareq.broker.handlers import VersionRange
from shareq.broker.pending import Pending
from shareq.broker.security.rights import WRITE_TOPIC, WRITE_TRANSACTION
from shareq.broker.topic_names import INTERNAL_TOPICS
from shareq.coordinator.transaction.metadata import TopicPartition
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)

VERSIONS = VersionRange(0, 3)

_FENCED_FROM: Final = 2

Answer = AddPartitionsToTxnResponse | Pending[AddPartitionsToTxnResponse]


def handle(ctx: RequestContext, request: AddPartitionsToTxnRequest) -> Answer:
    if not ctx.may(WRITE_TRANSACTION, request.v3_and_below_transactional_id):
        return failed(request, WRITE_TRANSACTION.error)
    partitions = [
        TopicPartition(topic.name, partition) for topic in request.v3_and_below_topics for partition in topic.partitions
    ]
    problems = _problems(ctx, partitions)
    if problems:
        return _response(request, lambda at: problems.get(at, ErrorCode.OPERATION_NOT_ATTEMPTED))
    added = ctx.broker.transaction_coordinator.add_partitions(
        request.v3_and_below_transactional_id,
        request.v3_and_below_producer_id,
        request.v3_and_below_producer_epoch,
        partitions,
        0,
    )
    return added.then(lambda error: failed(request, _known(ctx.api_version, error)))


def failed(request: AddPartitionsToTxnRequest, error: ErrorCode) -> AddPartitionsToTxnResponse:
    """The same for every partition."""
    return _response(request, lambda _at: error)


def _problems(ctx: RequestContext, partitions: list[TopicPartition]) -> dict[TopicPartition, ErrorCode]:
    topics = {at.topic for at in partitions}
    refused = ctx.without(WRITE_TOPIC, topics) | topics & INTERNAL_TOPICS  # nobody may, as in Apache Kafka
    problems: dict[TopicPartition, ErrorCode] = {}
    for at in partitions:
        image = ctx.broker.metadata.topic(at.topic)
        if at.topic in refused:
            problems[at] = WRITE_TOPIC.error
        elif image is None or not 0 <= at.partition < image.partitions:
            problems[at] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return problems


def _known(version: int, error: ErrorCode) -> ErrorCode:
    fenced = version < _FENCED_FROM and error is ErrorCode.PRODUCER_FENCED
    return ErrorCode.INVALID_PRODUCER_EPOCH if fenced else error


def _response(
    request: AddPartitionsToTxnRequest, error_of: Callable[[TopicPartition], ErrorCode]
) -> AddPartitionsToTxnResponse:
    return AddPartitionsToTxnResponse(
        results_by_topic_v3_and_below=[
            AddPartitionsToTxnTopicResult(
                topic.name,
                [
                    AddPartitionsToTxnPartitionResult(partition, error_of(TopicPartition(topic.name, partition)))
                    for partition in topic.partitions
                ],
            )
            for topic in request.v3_and_below_topics
        ]
    )
