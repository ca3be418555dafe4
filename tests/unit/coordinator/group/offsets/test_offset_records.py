"""Committed offsets on `__consumer_offsets`: bytes by hand from Apache Kafka 4.3.1's layouts, and their decoding."""

from __future__ import annotations

import pytest

from shareq.coordinator.group.offsets.offset import CommittedOffset
from shareq.coordinator.group.offsets.records import committed_of, offset_record, offset_tombstone
from shareq.coordinator.group.serde import GROUP_SERDE
from shareq.coordinator.shard import InconsistentRecords
from shareq.protocol.errors import MalformedMessage
from shareq.protocol.generated.group_metadata import GroupMetadataValue
from shareq.protocol.primitives import ZERO_UUID

T = bytes(range(1, 17))
T_HEX = "0102030405060708090a0b0c0d0e0f10"
KEY = "0001 0002 6731 0001 74 00000007"
COMMITTED = CommittedOffset(42, 3, "me", 5, -1, T)


@pytest.mark.parametrize(
    ("committed", "value"),
    [
        (COMMITTED, f"0004 000000000000002a 00000003 03 6d65 0000000000000005 01 00 10 {T_HEX}"),
        (
            COMMITTED._replace(leader_epoch=-1, metadata="", topic_id=ZERO_UUID),
            "0004 000000000000002a ffffffff 01 0000000000000005 00",
        ),
        (COMMITTED._replace(expire_ms=9), "0001 000000000000002a 0002 6d65 0000000000000005 0000000000000009"),
    ],
    ids=["as usual", "what is not known", "with a retention of its own"],
)
def test_bytes(committed: CommittedOffset, value: str) -> None:
    record = offset_record("g1", "t", 7, committed)
    assert GROUP_SERDE.encode(record) == (bytes.fromhex(KEY), bytes.fromhex(value))


def test_a_tombstone_is_a_key_without_a_value() -> None:
    assert GROUP_SERDE.encode(offset_tombstone("g1", "t", 7)) == (bytes.fromhex(KEY), None)


@pytest.mark.parametrize(
    ("key", "value", "read"),
    [
        (KEY, f"0004 000000000000002a 00000003 03 6d65 0000000000000005 01 00 10 {T_HEX}", COMMITTED),
        (KEY, "0003 000000000000002a 00000003 0002 6d65 0000000000000005", COMMITTED._replace(topic_id=ZERO_UUID)),
        (KEY, "0002 000000000000002a 0002 6d65 0000000000000005", CommittedOffset(42, -1, "me", 5)),
        (KEY, "0001 000000000000002a 0002 6d65 0000000000000005 0000000000000009", CommittedOffset(42, -1, "me", 5, 9)),
        (KEY, "0000 000000000000002a 0002 6d65 0000000000000005", CommittedOffset(42, -1, "me", 5)),
        (f"0000{KEY[4:]}", "0000 000000000000002a 0002 6d65 0000000000000005", CommittedOffset(42, -1, "me", 5)),
        (f"0000{KEY[4:]}", None, None),
    ],
    ids=["4", "3", "2", "1", "0", "of old releases", "tombstone of old releases"],
)
def test_every_version_is_read(key: str, value: str | None, read: CommittedOffset | None) -> None:
    record = GROUP_SERDE.decode(bytes.fromhex(key), None if value is None else bytes.fromhex(value))
    assert record is not None
    expected = None if read is None else read._replace(record_offset=99)
    assert committed_of(record.value, 99) == expected


def test_a_version_of_the_future_is_not_read() -> None:
    with pytest.raises(MalformedMessage, match="OffsetCommitValue has no version 5"):
        GROUP_SERDE.decode(bytes.fromhex(KEY), bytes.fromhex("0005 00"))


def test_a_value_of_another_type() -> None:
    with pytest.raises(InconsistentRecords, match="a GroupMetadataValue where a committed offset belongs"):
        committed_of(GroupMetadataValue("", 0, None, None, 0, []), 0)
