"""Records of `__share_group_state`: ShareSnapshot is the whole state of a share partition, ShareUpdate a change to it.

    key of both    int16 type (0 ShareSnapshot, 1 ShareUpdate), string GroupId, uuid TopicId, int32 Partition
    ShareSnapshot  int16 0, int32 SnapshotEpoch, int32 StateEpoch, int32 LeaderEpoch, int64 StartOffset,
                   int64 CreateTimestamp, int64 WriteTimestamp, compact array of StateBatches,
                   tag 0: int32 DeliveryCompleteCount (left out when -1)
    ShareUpdate    int16 0, int32 SnapshotEpoch, int32 LeaderEpoch, int64 StartOffset (-1: unchanged),
                   compact array of StateBatches, tag 0 as above
    StateBatch     int64 FirstOffset, int64 LastOffset, int8 DeliveryState, int16 DeliveryCount, no tags

A share partition is deleted by a tombstone with a ShareSnapshot key, never with a ShareUpdate key.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, cast

from shareq.coordinator.record_serde import TypedRecordSerde, expect
from shareq.coordinator.shard import CoordinatorRecord, InconsistentRecords
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.coordinator.share.share_state import UNSET
from shareq.coordinator.share.state_batches import StateBatch, StateBatchLike
from shareq.protocol.generated import share_snapshot, share_update
from shareq.protocol.generated.share_snapshot import ShareSnapshotKey, ShareSnapshotValue
from shareq.protocol.generated.share_update import ShareUpdateKey, ShareUpdateValue

PERSISTED_STATES: Final = frozenset((0, 2, 3, 4))  # available, acknowledged, archiving, archived; never acquired


def _check(record: CoordinatorRecord) -> None:
    value = record.value
    if not isinstance(value, ShareSnapshotValue | ShareUpdateValue):
        return
    expect(record, "start offset or count", (value.start_offset, value.delivery_complete_count), UNSET)
    expect(record, "snapshot epoch", (value.snapshot_epoch,))
    for batch in value.state_batches:
        if not is_sound(batch):
            raise InconsistentRecords(f"a {type(value).__name__} with the batch {batch}")


def are_sound(batches: Iterable[StateBatch]) -> bool:
    """Whether a share partition's leader can have written these."""
    for first, last, state, count in batches:
        if not 0 <= first <= last or state not in PERSISTED_STATES or count < 0:
            return False
    return True


def is_sound(batch: StateBatchLike) -> bool:
    """Whether a share partition's leader can have written this."""
    return (
        0 <= batch.first_offset <= batch.last_offset
        and batch.delivery_state in PERSISTED_STATES
        and batch.delivery_count >= 0
    )


SHARE_STATE_SERDE: Final = TypedRecordSerde(
    {
        ShareSnapshotKey.API_KEY: (ShareSnapshotKey, ShareSnapshotValue),
        ShareUpdateKey.API_KEY: (ShareUpdateKey, ShareUpdateValue),
    },
    _check,
)

# What a record takes at most, to know before encoding whether it fits: batch and record overhead, both type numbers,
# the fixed fields, the longest key; then each state batch.
RECORD_OVERHEAD_BYTES: Final = 256
STATE_BATCH_BYTES: Final = 20


def snapshot_batches(batches: Iterable[StateBatch]) -> list[share_snapshot.StateBatch]:
    return [share_snapshot.StateBatch(*batch) for batch in batches]


def update_batches(batches: Iterable[StateBatch]) -> list[share_update.StateBatch]:
    """The batches as they are: an update is encoded and replayed, and has one for each range that was acknowledged."""
    return cast("list[share_update.StateBatch]", list(batches))


def tombstone(key: SharePartitionKey) -> CoordinatorRecord:
    """Deletes the share partition's state."""
    return CoordinatorRecord(ShareSnapshotKey(*key), None)
