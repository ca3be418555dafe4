"""TxnOffsetCommit: offsets of a group as part of a producer's transaction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from shareq.broker.coordinator_runtime.partition import ProducerEpoch
from shareq.broker.coordinator_runtime.partitions import CoordinatorPartitions
from shareq.broker.topics.ports import PartitionLogs
from shareq.broker.transactions.admission import Refusals, TransactionAdmission, Writer
from shareq.broker.transactions.ports import TransactionLog
from shareq.coordinator.group.offsets.commit import PreparedCommit
from shareq.coordinator.group.shard import GroupCoordinatorShard
from shareq.coordinator.ports import MetadataImage
from shareq.coordinator.shard import CoordinatorResult
from shareq.coordinator.transaction.metadata import TopicPartition
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
)
from shareq.protocol.generated.txn_offset_commit import TxnOffsetCommitRequestPartition
from shareq.protocol.names import CONSUMER_OFFSETS

_ABORTABLE_FROM: Final = 4
_ADDS_FROM: Final = 5
_IDS_FROM: Final = 6


def partition_of(each: TxnOffsetCommitRequestPartition) -> OffsetCommitRequestPartition:
    """Return the partition in the form of an OffsetCommit."""
    return OffsetCommitRequestPartition(
        each.partition_index, each.committed_offset, each.committed_leader_epoch, each.committed_metadata
    )


class CommitOutcome(NamedTuple):
    """The error of all partitions, except those of deleted topics, whose ids are in `gone`."""

    error: ErrorCode = ErrorCode.NONE
    gone: frozenset[bytes] = frozenset()


class TransactionalOffsets:
    """Commits of offsets as part of transactions. `group_partitions` are those of the group coordinator."""

    def __init__(
        self,
        admission: TransactionAdmission,
        group_partitions: Callable[[], CoordinatorPartitions[GroupCoordinatorShard]],
        metadata: MetadataImage,
        logs: PartitionLogs[TransactionLog],
    ) -> None:
        self._admission = admission
        self._group_partitions = group_partitions
        self._metadata = metadata
        self._logs = logs

    async def commit(
        self,
        writer: ProducerEpoch,
        transactional_id: str,
        header: OffsetCommitRequest,
        version: int,
        prepared: PreparedCommit,
    ) -> CommitOutcome:
        """Commit the offsets in `prepared` as part of the transaction. The header names no topics.

        The groups' topic must exist. All partitions are refused if the partition with the group's offsets is not
        part of the transaction, and the broker does not add it (before version 4 with INVALID_TXN_STATE). Topics
        that have been deleted when the group decides are left out.
        """
        partitions = self._group_partitions()
        at = TopicPartition(CONSUMER_OFFSETS, partitions.place_of(header.group_id))
        gone: set[bytes] = set()

        def decide(shard: GroupCoordinatorShard) -> CoordinatorResult[ErrorCode]:
            # The request may have waited for its turn, and topics may have been deleted meanwhile.
            gone.update(prepared.leave_out_gone(self._metadata.topic_by_id))
            return shard.offsets.commit_transactional(header, version, prepared)

        admitting = Writer(transactional_id, writer, version >= _ADDS_FROM)
        error = _refusal(await self._admission.admit(admitting, {at: self._logs.get(*at)}), at, version)
        if error:
            return CommitOutcome(error)
        partition = partitions.get(at.partition)
        error = await partition.schedule(lambda: decide(partition.shard), lambda failure: failure, producer=writer)
        return CommitOutcome(error, frozenset(gone))


def _refusal(refusals: Refusals, at: TopicPartition, version: int) -> ErrorCode:
    error = refusals.get(at, ErrorCode.NONE)
    if error is ErrorCode.TRANSACTION_ABORTABLE and version < _ABORTABLE_FROM:
        return ErrorCode.INVALID_TXN_STATE
    return error
