"""A classic group on `__consumer_offsets`: bytes by hand from Apache Kafka 4.3.1's layout, and older versions."""

from __future__ import annotations

import pytest

from shareq.coordinator.group.classic.group import ClassicGroup, ClassicMember, ClassicState
from shareq.coordinator.group.classic.records import group_record, group_tombstone, new_group_record, restored
from shareq.coordinator.group.classic.turn import ClassicGroupSettings
from shareq.coordinator.group.classic_groups import ClassicGroups
from shareq.coordinator.group.counters import GroupCounters
from shareq.coordinator.group.groups import Group
from shareq.coordinator.group.serde import GROUP_SERDE
from shareq.coordinator.group.share.group import ShareGroup
from shareq.coordinator.shard import AmpleRoom, InconsistentRecords
from shareq.protocol.generated.group_metadata import GroupMetadataKey, GroupMetadataValue, MemberMetadata

KEY = bytes.fromhex("0002 0001 67")
MEMBER = (
    "0002 6d31"  # member id
    "0001 69"  # instance id
    "0001 63 0002 2f68"  # client id, host
    "0000ea60 00002710"  # rebalance and session timeout
    "00000002 7375 00000002 6173"  # subscription, assignment
)
VALUE = bytes.fromhex(
    "0003"
    "0008 636f6e73756d6572"  # protocol type
    "00000007"
    "0005 72616e6765"  # protocol
    "0002 6d31"  # leader
    "0000018bcfe56800"  # time of the state
    "00000001" + MEMBER
)
EMPTY = bytes.fromhex("0003 0000 00000000 ffff ffff 0000018bcfe56800 00000000")


def group() -> ClassicGroup:
    made = ClassicGroup("g", 1_700_000_000_000)
    made.add(ClassicMember("m1", "i", "c", "/h", 60_000, 10_000, (("sticky", b"?"), ("range", b"su"))), "consumer")
    made.generation, made.protocol_name, made.state = 7, "range", ClassicState.STABLE
    return made


def test_the_record_of_a_generation() -> None:
    assert GROUP_SERDE.encode(group_record(group(), {"m1": b"as"})) == (KEY, VALUE)


def test_the_record_of_a_group_without_generation() -> None:
    assert GROUP_SERDE.encode(new_group_record(group())) == (KEY, EMPTY)


def test_the_tombstone() -> None:
    assert GROUP_SERDE.encode(group_tombstone("g")) == (KEY, None)


def test_the_group_as_its_record_has_it() -> None:
    decoded = GROUP_SERDE.decode(KEY, VALUE)
    assert decoded is not None
    assert isinstance(decoded.value, GroupMetadataValue)
    back = restored("g", decoded.value)
    assert (back.state, back.generation, back.type, back.protocol_name) == (ClassicState.STABLE, 7, "consumer", "range")
    assert (back.leader_id, back.state_since_ms) == ("m1", 1_700_000_000_000)
    assert back.static_members == {"i": "m1"}
    assert back.members["m1"] == ClassicMember("m1", "i", "c", "/h", 60_000, 10_000, (("range", b"su"),), b"as")


@pytest.mark.parametrize("version", [0, 1, 2, 3, 4])
def test_every_version_is_read(version: int) -> None:
    member = MemberMetadata(
        "m1", "i" if version >= 3 else None, "c", "/h", 60_000 if version else -1, 10_000, b"su", b"as"
    )
    value = GroupMetadataValue(
        protocol_type="consumer",
        generation=7,
        protocol="range",
        leader="m1",
        current_state_timestamp=5 if version >= 2 else -1,
        members=[member],
    )
    out = bytearray()
    value.encode_into(out, version)
    decoded = GROUP_SERDE.decode(KEY, version.to_bytes(2, "big") + bytes(out))
    assert decoded is not None
    assert isinstance(decoded.value, GroupMetadataValue)
    back = restored("g", decoded.value)
    assert back.state_since_ms == (5 if version >= 2 else None)
    assert back.members["m1"].rebalance_timeout_ms == (60_000 if version else 10_000)
    assert back.members["m1"].instance_id == ("i" if version >= 3 else None)


def test_a_simple_group_has_no_type() -> None:
    value = GroupMetadataValue(protocol_type="", generation=0, protocol=None, leader=None, members=[])
    back = restored("g", value)
    assert (back.state, back.type, back.protocol_type) == (ClassicState.EMPTY, None, "")


def test_a_group_of_another_kind_has_no_classic_record() -> None:
    groups: dict[str, Group] = {"g": ShareGroup("g")}
    classic = ClassicGroups(groups, lambda: 0, ClassicGroupSettings(), GroupCounters(), AmpleRoom())
    classic.replay(GroupMetadataKey("g"), None)
    assert "g" in groups
    with pytest.raises(InconsistentRecords):
        classic.replay(GroupMetadataKey("g"), GroupMetadataValue())
