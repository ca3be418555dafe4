"""Bytes of `__share_group_state`, written out by hand from the record layouts of Apache Kafka 4.3.1."""

from __future__ import annotations

import pytest

from shareq.coordinator.shard import CoordinatorRecord, InconsistentRecords
from shareq.coordinator.share.delays import Delay, tags_of
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.coordinator.share.records import (
    SHARE_STATE_SERDE,
    snapshot_batches,
    tombstone,
    update_batches,
    update_bytes,
)
from shareq.coordinator.share.share_state import ShareState
from shareq.coordinator.share.state_batches import StateBatch
from shareq.protocol.errors import MalformedMessage
from shareq.protocol.generated import share_update
from shareq.protocol.generated.share_snapshot import ShareSnapshotKey, ShareSnapshotValue
from shareq.protocol.generated.share_update import ShareUpdateKey, ShareUpdateValue
from shareq.protocol.primitives import UnencodableMessage
from tests.support.each import for_each

TOPIC_ID = bytes(range(1, 17))
TOPIC_HEX = "0102030405060708090a0b0c0d0e0f10"
KEY = SharePartitionKey("g1", TOPIC_ID, 7)


def _hex(text: str) -> bytes:
    return bytes.fromhex(text.replace(" ", ""))


SNAPSHOT_KEY = _hex("00000002 6731" + TOPIC_HEX + "00000007")
UPDATE_KEY = _hex("00010002 6731" + TOPIC_HEX + "00000007")


def test_snapshot_bytes() -> None:
    value = ShareSnapshotValue(
        snapshot_epoch=3,
        state_epoch=2,
        leader_epoch=1,
        start_offset=100,
        create_timestamp=5,
        write_timestamp=6,
        state_batches=snapshot_batches([StateBatch(100, 109, 2, 1), StateBatch(110, 110, 4, 5)]),
    )
    expected = _hex(
        "0000"  # value version
        "00000003 00000002 00000001"  # snapshot, state, leader epoch
        "0000000000000064 0000000000000005 0000000000000006"  # start offset, create and write timestamp
        "03"  # two batches
        "0000000000000064 000000000000006d 02 0001 00"
        "000000000000006e 000000000000006e 04 0005 00"
        "00"  # no tags: DeliveryCompleteCount is -1
    )
    assert SHARE_STATE_SERDE.encode(CoordinatorRecord(ShareSnapshotKey(*KEY), value)) == (SNAPSHOT_KEY, expected)
    assert SHARE_STATE_SERDE.decode(SNAPSHOT_KEY, expected) == CoordinatorRecord(ShareSnapshotKey(*KEY), value)


def test_update_bytes() -> None:
    value = ShareUpdateValue(
        snapshot_epoch=3,
        leader_epoch=1,
        start_offset=-1,
        delivery_complete_count=10,
        state_batches=update_batches([StateBatch(100, 109, 2, 1)]),
    )
    expected = _hex(
        "0000"
        "00000003 00000001"  # snapshot and leader epoch; there is no state epoch
        "ffffffffffffffff"  # start offset unchanged
        "02 0000000000000064 000000000000006d 02 0001 00"
        "01 00 04 0000000a"  # one tag: 0, 4 bytes, DeliveryCompleteCount
    )
    assert SHARE_STATE_SERDE.encode(CoordinatorRecord(ShareUpdateKey(*KEY), value)) == (UPDATE_KEY, expected)
    value.state_batches = [share_update.StateBatch(100, 109, 2, 1)]
    assert SHARE_STATE_SERDE.encode(CoordinatorRecord(ShareUpdateKey(*KEY), value)) == (UPDATE_KEY, expected)
    assert SHARE_STATE_SERDE.decode(UPDATE_KEY, expected) == CoordinatorRecord(ShareUpdateKey(*KEY), value)


@for_each("count", [*range(5), 31, 32, 33, 64, 65, 126, 127, 128, 300])
@for_each("complete", [-1, 0, 5])
@for_each("delays", [(), (Delay(0, 0, 2**40, 1),)])
def test_batches_are_packed_together_as_they_are_one_by_one(
    count: int, complete: int, delays: tuple[Delay, ...]
) -> None:
    batches = [StateBatch(2 * n, 2 * n + n % 2, (0, 2, 3, 4)[n % 4], 1 + n) for n in range(count)]
    value = ShareUpdateValue(3, 1, 100, complete, update_batches(batches), tags_of(delays, 1000))
    assert SHARE_STATE_SERDE.encode(CoordinatorRecord(ShareUpdateKey(*KEY), value))[1] == update_bytes(value, batches)


@pytest.mark.parametrize("batch", [StateBatch(0, 2**63, 0, 1), StateBatch(0, 0, 0, 2**15)])
def test_numbers_that_do_not_fit_are_refused_as_they_are_one_by_one(batch: StateBatch) -> None:
    value = ShareUpdateValue(state_batches=update_batches([batch]))
    for encode in (value.encode, lambda _version: update_bytes(value, [batch])):
        with pytest.raises(UnencodableMessage):
            encode(0)


def test_the_key_of_updates_is_encoded_once() -> None:
    assert ShareState(KEY).update_key_bytes == UPDATE_KEY


def test_a_tombstone_has_a_snapshot_key() -> None:
    assert SHARE_STATE_SERDE.encode(tombstone(KEY)) == (SNAPSHOT_KEY, None)
    assert SHARE_STATE_SERDE.decode(SNAPSHOT_KEY, None) == tombstone(KEY)


def test_an_unknown_record_type_is_skipped() -> None:
    assert SHARE_STATE_SERDE.decode(_hex("0002 0000"), b"whatever") is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (SNAPSHOT_KEY, _hex("0001 00")),  # value version 1
        (SNAPSHOT_KEY, _hex("ffff 00")),
        (SNAPSHOT_KEY, b""),
        (SNAPSHOT_KEY, _hex("0000 0000")),
        (SNAPSHOT_KEY[:-1], None),
        (b"\x00", None),
    ],
)
def test_what_cannot_be_read_is_malformed(key: bytes, value: bytes | None) -> None:
    with pytest.raises(MalformedMessage):
        SHARE_STATE_SERDE.decode(key, value)


def _snapshot(
    *batches: StateBatch, snapshot_epoch: int = 0, start_offset: int = -1, delivery_complete_count: int = -1
) -> ShareSnapshotValue:
    return ShareSnapshotValue(
        snapshot_epoch=snapshot_epoch,
        state_epoch=0,
        leader_epoch=0,
        start_offset=start_offset,
        delivery_complete_count=delivery_complete_count,
        create_timestamp=0,
        write_timestamp=0,
        state_batches=snapshot_batches(batches),
    )


def test_the_lowest_numbers_that_make_sense_are_read() -> None:
    value = _snapshot(*[StateBatch(0, 0, state, 0) for state in (0, 2, 3, 4)])
    key, encoded = SHARE_STATE_SERDE.encode(CoordinatorRecord(ShareSnapshotKey(*KEY), value))
    assert SHARE_STATE_SERDE.decode(key, encoded) == CoordinatorRecord(ShareSnapshotKey(*KEY), value)


@pytest.mark.parametrize(
    "value",
    [
        _snapshot(start_offset=-2),
        _snapshot(delivery_complete_count=-2),
        _snapshot(snapshot_epoch=-1),
        *(
            _snapshot(StateBatch(0, 9, 0, 1), batch)
            for batch in (
                StateBatch(-1, 4, 0, 1),
                StateBatch(5, 4, 0, 1),
                StateBatch(5, 5, 1, 1),  # acquired is never persisted
                StateBatch(5, 5, 5, 1),
                StateBatch(5, 5, 0, -1),
            )
        ),
    ],
)
def test_what_makes_no_sense_is_not_taken_over(value: ShareSnapshotValue) -> None:
    """A record is damaged, or no leader can have written it."""
    key, encoded = SHARE_STATE_SERDE.encode(CoordinatorRecord(ShareSnapshotKey(*KEY), value))
    with pytest.raises(InconsistentRecords):
        SHARE_STATE_SERDE.decode(key, encoded)
