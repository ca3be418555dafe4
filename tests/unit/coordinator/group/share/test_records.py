"""Share groups' records on `__consumer_offsets`: bytes by hand from Apache Kafka 4.3.1's layouts, and their replay."""

from __future__ import annotations

import pytest

from shareq.coordinator.group.groups import FIRST_EPOCH, Group
from shareq.coordinator.group.serde import GROUP_SERDE
from shareq.coordinator.group.share import records
from shareq.coordinator.group.share.group import (
    CurrentAssignment,
    ShareGroup,
    ShareMember,
    StatePartitions,
    TopicPartitions,
)
from shareq.coordinator.group.share.records import SHARE_GROUP_RECORDS
from shareq.coordinator.shard import CoordinatorRecord, InconsistentRecords
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.coordinator.share.records import tombstone
from shareq.protocol.errors import MalformedMessage

T = bytes(range(1, 17))
T_HEX = "0102030405060708090a0b0c0d0e0f10"
U = bytes(range(17, 33))
U_HEX = "1112131415161718191a1b1c1d1e1f20"

MEMBER = ShareMember("m1", "r", "c", "/1.2.3.4", ("t", "u"))
ASSIGNMENT = {U: frozenset({2}), T: frozenset({1, 0})}
CURRENT = CurrentAssignment(3, 2, {T: frozenset({0})})
PARTITIONS = StatePartitions(
    initializing={U: TopicPartitions("u", frozenset({0}))},
    initialized={T: TopicPartitions("t", frozenset({1, 0}))},
    deleting={bytes(16): "z"},
)

GOLDEN = [
    pytest.param(
        records.member_record("g1", "m1", MEMBER),
        "000a 0002 6731 0002 6d31",
        "0000 02 72 02 63 09 2f312e322e332e34 03 02 74 02 75 00",
        id="member metadata",
    ),
    pytest.param(
        records.member_record("g1", "m1", ShareMember("m1")),
        "000a 0002 6731 0002 6d31",
        "0000 00 01 01 01 00",
        id="member metadata without rack",
    ),
    pytest.param(
        records.epoch_record("g1", 5, -2),
        "000b 0002 6731",
        "0000 00000005 fffffffffffffffe 00",
        id="group metadata",
    ),
    pytest.param(
        records.assignment_epoch_record("g1", 5, 7),
        "000c 0002 6731",
        "0000 00000005 01 00 08 0000000000000007",
        id="target assignment metadata",
    ),
    pytest.param(
        records.assignment_epoch_record("g1", 5, 0),
        "000c 0002 6731",
        "0000 00000005 00",
        id="target assignment metadata without timestamp",
    ),
    pytest.param(
        records.target_record("g1", "m1", ASSIGNMENT),
        "000d 0002 6731 0002 6d31",
        "0000 03" + T_HEX + "03 00000000 00000001 00" + U_HEX + "02 00000002 00 00",
        id="target assignment of a member",
    ),
    pytest.param(
        records.current_record("g1", "m1", CURRENT),
        "000e 0002 6731 0002 6d31",
        "0000 00000003 00000002 00 02" + T_HEX + "02 00000000 00 00",
        id="current assignment",
    ),
    pytest.param(
        records.state_partitions_record("g1", PARTITIONS),
        "000f 0002 6731",
        "0000 02" + U_HEX + "02 75 02 00000000 00"  # initialising
        "02" + T_HEX + "02 74 03 00000000 00000001 00"  # initialised
        "02" + "00" * 16 + "02 7a 00 00",  # deleting
        id="state partition metadata",
    ),
]


@pytest.mark.parametrize(("record", "key", "value"), GOLDEN)
def test_bytes(record: CoordinatorRecord, key: str, value: str) -> None:
    encoded = bytes.fromhex(key), bytes.fromhex(value)
    assert GROUP_SERDE.encode(record) == encoded
    assert GROUP_SERDE.decode(*encoded) == record


def test_a_member_goes_by_three_tombstones() -> None:
    assert [GROUP_SERDE.encode(record) for record in records.member_gone_records("g1", "m1")] == [
        (bytes.fromhex(f"{kind} 0002 6731 0002 6d31"), None) for kind in ("000e", "000d", "000a")
    ]


def test_unknown_types_are_skipped() -> None:
    """Type 9 is unused, and types of other groups are not read yet."""
    assert GROUP_SERDE.decode(bytes.fromhex("0009 0002 6731"), b"x") is None


def test_a_value_version_out_of_range_is_malformed() -> None:
    with pytest.raises(MalformedMessage):
        GROUP_SERDE.decode(bytes.fromhex("000b 0002 6731"), bytes.fromhex("0001 00000005 fffffffffffffffe 00"))


# -- replay


def replayed(*log: CoordinatorRecord) -> dict[str, Group]:
    groups: dict[str, Group] = {}
    for record in log:
        assert SHARE_GROUP_RECORDS.replay(groups, record)
    return groups


def share_group(groups: dict[str, Group]) -> ShareGroup:
    group = groups["g1"]
    assert isinstance(group, ShareGroup)
    return group


FULL = (
    records.member_record("g1", "m1", MEMBER),
    records.epoch_record("g1", 5, 99),
    records.target_record("g1", "m1", ASSIGNMENT),
    records.assignment_epoch_record("g1", 5, 7),
    records.current_record("g1", "m1", CURRENT),
    records.state_partitions_record("g1", PARTITIONS),
)


def test_replay_mirrors_the_records() -> None:
    group = share_group(replayed(*FULL))
    assert group.members == {"m1": MEMBER}
    assert (group.group_epoch, group.metadata_hash) == (5, 99)
    assert (group.assignment_epoch, group.assignment_timestamp_ms) == (5, 7)
    assert group.targets == {"m1": ASSIGNMENT}
    assert group.current_of("m1") == CURRENT
    assert group.state_partitions == PARTITIONS
    assert group.subscribers == {"t": 1, "u": 1}


@pytest.mark.parametrize("record", FULL)
def test_any_value_creates_the_group(record: CoordinatorRecord) -> None:
    """A compacted log may begin with any of them."""
    group = share_group(replayed(record))
    assert group.group_epoch in (FIRST_EPOCH, 5)


@pytest.mark.parametrize("record", FULL)
def test_a_tombstone_of_what_is_not_there_is_passed_over(record: CoordinatorRecord) -> None:
    assert replayed(CoordinatorRecord(record.key, None)) == {}


def test_the_tombstones_in_their_order_remove_everything() -> None:
    gone = records.member_gone_records("g1", "m1")
    group_gone = (
        records.assignment_epoch_tombstone("g1"),
        records.state_partitions_record("g1", None),
        records.group_tombstone("g1"),
    )
    assert replayed(*FULL, *gone, *group_gone) == {}
    assert share_group(replayed(*FULL, *gone, group_gone[0])).assignment_epoch == -1


@pytest.mark.parametrize(
    "early",
    [
        records.member_record("g1", "m1", None),
        records.group_tombstone("g1"),
    ],
)
def test_a_tombstone_that_comes_too_early_is_an_error(early: CoordinatorRecord) -> None:
    with pytest.raises(InconsistentRecords):
        replayed(*FULL, early)


def test_a_group_tombstone_before_that_of_its_assignment_epoch_is_an_error() -> None:
    with pytest.raises(InconsistentRecords):
        replayed(*FULL, *records.member_gone_records("g1", "m1"), records.group_tombstone("g1"))


def test_tombstones_whose_values_compaction_took_are_no_error() -> None:
    """The cleaner may have removed the assignments' records and tombstones before the others'."""
    groups = replayed(FULL[0], records.member_record("g1", "m1", None), FULL[1], records.group_tombstone("g1"))
    assert groups == {}


def test_records_of_others_are_left_to_others() -> None:
    assert not SHARE_GROUP_RECORDS.replay({}, tombstone(SharePartitionKey("g", T, 0)))


def test_a_share_record_of_a_group_of_another_kind_is_an_error() -> None:
    groups: dict[str, Group] = {"g1": object()}  # type: ignore[dict-item]  # any other class
    with pytest.raises(InconsistentRecords):
        SHARE_GROUP_RECORDS.replay(groups, FULL[0])
