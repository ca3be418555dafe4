"""TxnOffsetCommit: offsets of a group as part of a producer's transaction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from shareq.broker.coordinator_runtime.partition import ProducerEpoch
from shareq.broker.coordinator_runtime.partitions import CoordinatorPartitions
from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.topics.internal import InternalTopics
from shareq.broker.topics.ports import PartitionLogs
from shareq.broker.transactions.admission import Refusals, TransactionAdmission, Writer
from shareq.broker.transactions.ports import TransactionLog
from shareq.coordinator.group.offsets import commit
from shareq.coordinator.group.offsets.commit import PreparedCommit
from shareq.coordinator.group.shard import GroupCoordinatorShard
from shareq.coordinator.ports import MetadataImage
from shareq.coordinator.routing import group_partition_for
from shareq.coordinator.transaction.metadata import TopicPartition
from shareq.protocol.errors import ApiError, ErrorCode
from shareq.protocol.generated.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponseTopic,
)
from shareq.protocol.generated.txn_offset_commit import TxnOffsetCommitRequest, TxnOffsetCommitRequestPartition
from shareq.protocol.names import CONSUMER_OFFSETS

_ABORTABLE_FROM: Final = 4
_ADDS_FROM: Final = 5
_IDS_FROM: Final = 6


def as_offset_commit(request: TxnOffsetCommitRequest) -> OffsetCommitRequest:
    """The request without its producer. Topics have names or ids, as there."""
    return OffsetCommitRequest(
        group_id=request.group_id,
        generation_id_or_member_epoch=request.generation_id_or_member_epoch,
        member_id=request.member_id,
        group_instance_id=request.group_instance_id,
        topics=[
            OffsetCommitRequestTopic(
                topic.name,
                topic.topic_id,
                [partition_of(each) for each in topic.partitions],
            )
            for topic in request.topics
        ],
    )


def partition_of(each: TxnOffsetCommitRequestPartition) -> OffsetCommitRequestPartition:
    """The partition in the form of an OffsetCommit."""
    return OffsetCommitRequestPartition(
        each.partition_index, each.committed_offset, each.committed_leader_epoch, each.committed_metadata
    )


class CommitOutcome(NamedTuple):
    """The error of all partitions, but for those of topics that are `gone` (their ids)."""

    error: ErrorCode = ErrorCode.NONE
    gone: frozenset[bytes] = frozenset()


class TransactionalOffsets:
    """Commits offsets as part of transactions. `group_partitions` are those of the group coordinator."""

    def __init__(
        self,
        admission: TransactionAdmission,
        group_partitions: Callable[[], CoordinatorPartitions[GroupCoordinatorShard]],
        internal_topics: InternalTopics,
        metadata: MetadataImage,
        logs: PartitionLogs[TransactionLog],
    ) -> None:
        self._admission = admission
        self._group_partitions = group_partitions
        self._internal_topics = internal_topics
        self._metadata = metadata
        self._logs = logs

    def commit(
        self, writer: ProducerEpoch, transactional_id: str, offsets: OffsetCommitRequest, version: int
    ) -> Pending[OffsetCommitResponse]:
        """Commit as part of the transaction; topics exist, and come with names and ids.

        UNKNOWN_TOPIC_OR_PARTITION, from version 6 on UNKNOWN_TOPIC_ID, for topics that go before it can be done. All
        partitions are refused if the partition that keeps the group's offsets is not part of it, and the broker does
        not make it so: before version 4 with INVALID_TXN_STATE.
        """
        if not offsets.group_id:
            return completed(commit.refused(offsets, ErrorCode.INVALID_GROUP_ID))
        return self._internal_topics.with_topics(
            (CONSUMER_OFFSETS,), lambda error: self._commit(writer, transactional_id, offsets, version, error)
        )

    def _commit(
        self,
        writer: ProducerEpoch,
        transactional_id: str,
        offsets: OffsetCommitRequest,
        version: int,
        error: ApiError,
    ) -> Pending[OffsetCommitResponse]:
        if error:
            return completed(commit.refused(offsets, ErrorCode.COORDINATOR_NOT_AVAILABLE))
        partitions = self._group_partitions()
        at = TopicPartition(CONSUMER_OFFSETS, group_partition_for(offsets.group_id, partitions.count))

        def admitted(refusals: Refusals) -> Pending[OffsetCommitResponse]:
            error = _refusal(refusals, at, version)
            if error:
                return completed(commit.refused(offsets, error))
            gone = self._take_out_gone(offsets, version)
            partition = partitions.get(at.partition)
            answer = partition.schedule(
                lambda: partition.shard.offsets.commit_transactional(offsets, version),
                lambda failure: commit.refused(offsets, failure),
                producer=writer,
            )
            return answer.then(lambda response: _with(gone, response)) if gone else answer

        admitting = Writer(transactional_id, writer, version >= _ADDS_FROM)
        return self._admission.admit(admitting, {at: self._logs.get(*at)}).chain(admitted)

    def commit_prepared(
        self,
        writer: ProducerEpoch,
        transactional_id: str,
        header: OffsetCommitRequest,
        version: int,
        prepared: PreparedCommit,
    ) -> Pending[CommitOutcome]:
        """As `commit`, of topics that were `prepared`; the header has none. The group's topic exists."""
        partitions = self._group_partitions()
        at = TopicPartition(CONSUMER_OFFSETS, group_partition_for(header.group_id, partitions.count))

        def admitted(refusals: Refusals) -> Pending[CommitOutcome]:
            error = _refusal(refusals, at, version)
            if error:
                return completed(CommitOutcome(error))
            topics = dict.fromkeys(topic.topic_id for topic in prepared.topics)
            gone = frozenset(each for each in topics if self._metadata.topic_by_id(each) is None)
            if gone:
                prepared.leave_out(gone)
            partition = partitions.get(at.partition)
            answer = partition.schedule(
                lambda: partition.shard.offsets.commit_prepared_transactional(header, version, prepared),
                lambda failure: failure,
                producer=writer,
            )
            return answer.then(lambda error: CommitOutcome(error, gone))

        admitting = Writer(transactional_id, writer, version >= _ADDS_FROM)
        return self._admission.admit(admitting, {at: self._logs.get(*at)}).chain(admitted)

    def _take_out_gone(self, offsets: OffsetCommitRequest, version: int) -> list[OffsetCommitResponseTopic]:
        """Leave in the request the topics that still exist; the answer to the others."""
        topic_by_id = self._metadata.topic_by_id
        gone = [topic for topic in offsets.topics if topic_by_id(topic.topic_id) is None]
        if not gone:
            return []
        offsets.topics = [topic for topic in offsets.topics if topic_by_id(topic.topic_id) is not None]
        error = ErrorCode.UNKNOWN_TOPIC_ID if version >= _IDS_FROM else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return commit.refused(OffsetCommitRequest(topics=gone), error).topics


def _refusal(refusals: Refusals, at: TopicPartition, version: int) -> ErrorCode:
    error = refusals.get(at, ErrorCode.NONE)
    if error is ErrorCode.TRANSACTION_ABORTABLE and version < _ABORTABLE_FROM:
        return ErrorCode.INVALID_TXN_STATE
    return error


def _with(gone: list[OffsetCommitResponseTopic], response: OffsetCommitResponse) -> OffsetCommitResponse:
    return OffsetCommitResponse(topics=[*gone, *response.topics])
