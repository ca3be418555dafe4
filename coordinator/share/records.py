"""Records of `__share_group_state`: ShareSnapshot is the whole state of a share partition, ShareUpdate a change to it.

    key of both    int16 type (0 ShareSnapshot, 1 ShareUpdate), string GroupId, uuid TopicId, int32 Partition
    ShareSnapshot  int16 0, int32 SnapshotEpoch, int32 StateEpoch, int32 LeaderEpoch, int64 StartOffset,
                   int64 CreateTimestamp, int64 WriteTimestamp, compact array of StateBatches,
                   tag 0: int32 DeliveryCompleteCount (left out when -1)
    ShareUpdate    int16 0, int32 SnapshotEpoch, int32 LeaderEpoch, int64 StartOffset (-1: unchanged),
                   compact array of StateBatches, tag 0 as above
    StateBatch     int64 FirstOffset, int64 LastOffset, int8 DeliveryState, int16 DeliveryCount, no tags

A share partition is deleted by a tombstone with a ShareSnapshot key, never with a ShareUpdate key. Checksums are
those of the record batches (`protocol/records/batch.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import chain
from struct import Struct, error
from typing import Final, cast

from shareq.coordinator.record_serde import TypedRecordSerde, expect
from shareq.coordinator.shard import CoordinatorRecord, InconsistentRecords
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.coordinator.share.share_state import UNSET
from shareq.coordinator.share.state_batches import PERSISTED_STATES, StateBatch, StateBatchLike
from shareq.protocol.generated import share_snapshot, share_update
from shareq.protocol.generated.share_snapshot import ShareSnapshotKey, ShareSnapshotValue
from shareq.protocol.generated.share_update import ShareUpdateKey, ShareUpdateValue
from shareq.protocol.primitives import NO_TAGS, SMALL, UnencodableMessage, tag_buffer, uvarint


def _check(record: CoordinatorRecord) -> None:
    value = record.value
    if not isinstance(value, ShareSnapshotValue | ShareUpdateValue):
        return
    expect(record, "start offset or count", (value.start_offset, value.delivery_complete_count), UNSET)
    expect(record, "snapshot epoch", (value.snapshot_epoch,))
    for batch in value.state_batches:
        if not is_sound(batch):
            raise InconsistentRecords(f"a {type(value).__name__} with the batch {batch}")


def is_sound(batch: StateBatchLike) -> bool:
    """Return True if a share partition's leader can have written this batch."""
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


def update_batches(batches: list[StateBatch]) -> list[share_update.StateBatch]:
    """Return the batches unchanged. An update has one batch for each range that was acknowledged, and these are not
    combined.
    """
    return cast("list[share_update.StateBatch]", batches)


_pack_update: Final = Struct(">hiiq").pack
_pack_count: Final = Struct(">i").pack
_pack_count_alone: Final = Struct(">BBBi").pack
_MOST_ROWS: Final = 32


def update_bytes(value: ShareUpdateValue, batches: Sequence[StateBatch]) -> bytes:
    """Return the value as `SHARE_STATE_SERDE` encodes it, from batches that are tuples. They are packed together, which
    takes a third of the time. Raises UnencodableMessage.
    """
    try:
        head = _pack_update(0, value.snapshot_epoch, value.leader_epoch, value.start_offset)
        count = len(batches) + 1
        return b"".join((head, SMALL[count] if count < 128 else uvarint(count), _rows(batches), _tags(value)))
    except error as failure:
        raise UnencodableMessage(f"ShareUpdateValue version 0: {failure}") from failure


def _rows(batches: Sequence[StateBatch]) -> bytes:
    if len(batches) <= _MOST_ROWS:
        return _packer(len(batches))(*chain.from_iterable(batches))
    parts = (batches[first : first + _MOST_ROWS] for first in range(0, len(batches), _MOST_ROWS))
    return b"".join([_packer(len(part))(*chain.from_iterable(part)) for part in parts])


@lru_cache(maxsize=_MOST_ROWS + 1)
def _packer(rows: int) -> Callable[..., bytes]:
    return Struct(">" + rows * "qqbhx").pack  # no tags: one byte, 0


def _tags(value: ShareUpdateValue) -> bytes:
    count, tags = value.delivery_complete_count, value.unknown_tags
    if count == UNSET:
        return tag_buffer(tags) if tags else NO_TAGS
    return tag_buffer((*tags, (0, _pack_count(count)))) if tags else _pack_count_alone(1, 0, 4, count)


def tombstone(key: SharePartitionKey) -> CoordinatorRecord:
    """Return the record that deletes the share partition's state."""
    return CoordinatorRecord(ShareSnapshotKey(*key), None)
