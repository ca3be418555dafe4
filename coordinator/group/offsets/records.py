"""The records of committed offsets on `__consumer_offsets`, types 0 and 1, as Apache Kafka 4.3.1 writes them.

    key       string group, string topic, int32 partition
    value 4   int64 offset, int32 leader epoch, string metadata, int64 time of day of the commit; topic id (tag 0)
    value 1   int64 offset, string metadata, int64 time of the commit, int64 time of the expiry

Version 1 is written for a commit with a retention of its own, version 4 for all others. A null value removes the
offset. All versions 0 to 4 are read (0 to 2 have no leader epoch, 0 to 3 no topic id), and so is type 0, the form of
releases before 0.9, which has the key's fields, offset, metadata and time of the commit.
"""

from __future__ import annotations

from typing import Final

from shareq.coordinator.group.offsets.offset import NO_EXPIRY, CommittedOffset
from shareq.coordinator.record_serde import RecordTypes
from shareq.coordinator.shard import CoordinatorRecord, InconsistentRecords
from shareq.protocol.generated.legacy_offset_commit import LegacyOffsetCommitKey, LegacyOffsetCommitValue
from shareq.protocol.generated.offset_commit import OffsetCommitKey, OffsetCommitValue
from shareq.protocol.primitives import ZERO_UUID, Message

OFFSET_RECORD_TYPES: Final[RecordTypes] = {
    LegacyOffsetCommitKey.API_KEY: (LegacyOffsetCommitKey, LegacyOffsetCommitValue),
    OffsetCommitKey.API_KEY: (OffsetCommitKey, OffsetCommitValue),
}

_VERSION: Final = 4
_VERSION_WITH_EXPIRY: Final = 1


def offset_record(group_id: str, topic: str, partition: int, committed: CommittedOffset) -> CoordinatorRecord:
    """Return the record of a commit.

    A record with an expiry has no room for leader epoch and topic id; a replay restores the offset without them.
    """
    version = _VERSION
    if committed.expire_ms != NO_EXPIRY:
        version = _VERSION_WITH_EXPIRY
        committed = committed._replace(leader_epoch=-1, topic_id=ZERO_UUID)
    value = OffsetCommitValue(
        offset=committed.offset,
        leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
        commit_timestamp=committed.commit_ms,
        expire_timestamp=committed.expire_ms,
        topic_id=committed.topic_id,
    )
    return CoordinatorRecord(OffsetCommitKey(group_id, topic, partition), value, version)


def offset_tombstone(group_id: str, topic: str, partition: int) -> CoordinatorRecord:
    return CoordinatorRecord(OffsetCommitKey(group_id, topic, partition), None)


def committed_of(value: Message | None, record_offset: int) -> CommittedOffset | None:
    """Read the value of a record; None for a tombstone. Raise InconsistentRecords for a value of another type."""
    if value is None:
        return None
    if isinstance(value, OffsetCommitValue):
        return CommittedOffset(
            offset=value.offset,
            leader_epoch=value.leader_epoch,
            metadata=value.metadata,
            commit_ms=value.commit_timestamp,
            expire_ms=value.expire_timestamp,
            topic_id=value.topic_id,
            record_offset=record_offset,
        )
    if isinstance(value, LegacyOffsetCommitValue):
        return CommittedOffset(
            value.offset, metadata=value.metadata, commit_ms=value.commit_timestamp, record_offset=record_offset
        )
    raise InconsistentRecords(f"a {type(value).__name__} where a committed offset belongs")
