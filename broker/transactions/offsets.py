"""TxnOffsetCommit: offsets of a group as part of a producer's transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shareq.broker.coordinator_runtime.partition import ProducerEpoch
from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.metadata.topic_names import CONSUMER_OFFSETS
from shareq.broker.topics.internal import ensure
from shareq.broker.transactions.admission import Refusals, Writer, admit
from shareq.coordinator.group.offsets import commit
from shareq.coordinator.routing import group_partition_for
from shareq.coordinator.transaction.metadata import TopicPartition
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponseTopic,
)
from shareq.protocol.generated.txn_offset_commit import TxnOffsetCommitRequest

if TYPE_CHECKING:
    from shareq.broker.broker import Broker

_ABORTABLE_FROM: Final = 4
_ADDS_FROM: Final = 5


def as_offset_commit(request: TxnOffsetCommitRequest) -> OffsetCommitRequest:
    """The request without its producer. Topics have no ids yet."""
    return OffsetCommitRequest(
        group_id=request.group_id,
        generation_id_or_member_epoch=request.generation_id,
        member_id=request.member_id,
        group_instance_id=request.group_instance_id,
        topics=[
            OffsetCommitRequestTopic(
                topic.name,
                partitions=[
                    OffsetCommitRequestPartition(
                        each.partition_index,
                        each.committed_offset,
                        each.committed_leader_epoch,
                        each.committed_metadata,
                    )
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ],
    )


def commit_offsets(
    broker: Broker, writer: ProducerEpoch, transactional_id: str, offsets: OffsetCommitRequest, version: int
) -> Pending[OffsetCommitResponse]:
    """Commit as part of the transaction; topics exist, and come with names and ids.

    UNKNOWN_TOPIC_OR_PARTITION for topics that go before it can be done. All partitions are refused if the partition
    that keeps the group's offsets is not part of it, and the broker does not make it so: before version 4 with
    INVALID_TXN_STATE.
    """
    if not offsets.group_id:
        return completed(commit.refused(offsets, ErrorCode.INVALID_GROUP_ID))
    if ensure(broker.metadata, broker.configs.broker, CONSUMER_OFFSETS):
        return completed(commit.refused(offsets, ErrorCode.COORDINATOR_NOT_AVAILABLE))
    partitions = broker.group_coordinator.partitions
    at = TopicPartition(CONSUMER_OFFSETS, group_partition_for(offsets.group_id, partitions.count))
    log = broker.logs.get(*at)

    def admitted(refusals: Refusals) -> Pending[OffsetCommitResponse]:
        error = refusals.get(at, ErrorCode.NONE)
        if error is ErrorCode.TRANSACTION_ABORTABLE and version < _ABORTABLE_FROM:
            error = ErrorCode.INVALID_TXN_STATE
        if error:
            return completed(commit.refused(offsets, error))
        gone = _take_out_gone(broker, offsets)
        partition = partitions.get(at.partition)
        answer = partition.schedule(
            lambda: partition.shard.offsets.commit_transactional(offsets),
            lambda failure: commit.refused(offsets, failure),
            producer=writer,
        )
        return answer.then(lambda response: _with(gone, response)) if gone else answer

    return admit(broker, Writer(transactional_id, writer, version >= _ADDS_FROM), {at: log}).chain(admitted)


def _take_out_gone(broker: Broker, offsets: OffsetCommitRequest) -> list[OffsetCommitResponseTopic]:
    """Leave in the request the topics that still exist; the answer to the others."""
    topic_by_id = broker.metadata.topic_by_id
    gone = [topic for topic in offsets.topics if topic_by_id(topic.topic_id) is None]
    if not gone:
        return []
    offsets.topics = [topic for topic in offsets.topics if topic_by_id(topic.topic_id) is not None]
    return commit.refused(OffsetCommitRequest(topics=gone), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION).topics


def _with(gone: list[OffsetCommitResponseTopic], response: OffsetCommitResponse) -> OffsetCommitResponse:
    return OffsetCommitResponse(topics=[*gone, *response.topics])
