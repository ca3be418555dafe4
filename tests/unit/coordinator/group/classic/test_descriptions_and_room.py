"""Classic groups: description, choice of protocol, counters, log lines, and lack of room."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import pytest

from shareq.coordinator.group.classic.group import ClassicGroup, ClassicMember, ClassicState
from shareq.coordinator.group.classic.record_room import check_room
from shareq.coordinator.shard import AmpleRoom, CoordinatorRecord, RecordsTooLarge
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.describe_groups import DescribedGroup, DescribedGroupMember
from shareq.protocol.generated.group_metadata import GroupMetadataValue
from tests.unit.coordinator.group.classic.world import DELAY_MS, GROUP, ClassicWorld
from tests.unit.coordinator.group.consumer.world import ConsumerWorld


def described(world: ClassicWorld, group_id: str = GROUP, version: int = 6) -> DescribedGroup:
    return world.log.shard.classic.describe(group_id, version).response


def member_of(member_id: str, *protocols: str, instance: str | None = None, size: int = 10) -> ClassicMember:
    offered = tuple((name, bytes(size)) for name in protocols)
    return ClassicMember(member_id, instance, "c", "/h", 60_000, 10_000, offered)


# -- describing


def test_a_stable_group_is_described_with_its_protocol_and_what_members_have(world: ClassicWorld) -> None:
    (one,) = world.stable(statics=("i",), protocols={"sticky": b"other", "range": b"said"})
    world.group.protocol_name = "range"
    assert described(world) == DescribedGroup(
        group_id=GROUP,
        group_state="Stable",
        protocol_type="consumer",
        protocol_data="range",
        members=[
            DescribedGroupMember(
                member_id=one,
                group_instance_id="i",
                client_id="client",
                client_host="/127.0.0.1",
                member_metadata=b"said",
                member_assignment=b"0",
            )
        ],
    )


def test_while_a_group_rebalances_its_protocol_is_left_out(world: ClassicWorld) -> None:
    (one,) = world.stable(protocols={"range": b"said"})
    world.first_join(protocols={"range": b"new"})
    group = described(world)
    assert (group.group_state, group.protocol_type, group.protocol_data) == ("PreparingRebalance", "consumer", "")
    known = next(member for member in group.members if member.member_id == one)
    assert (known.member_metadata, known.member_assignment) == (b"", b"0")


@pytest.mark.parametrize("version", [5, 6])
def test_a_group_that_is_no_classic_one_is_dead_and_from_version_6_on_an_error(version: int) -> None:
    world = ConsumerWorld()
    world.join("m")
    for group_id, message in ((GROUP, "Group g is not a classic group."), ("x", "Group x not found.")):
        answer = world.log.shard.classic.describe(group_id, version).response
        assert (answer.group_id, answer.group_state, answer.members) == (group_id, "Dead", [])
        error = (ErrorCode.NONE, None) if version < 6 else (ErrorCode.GROUP_ID_NOT_FOUND, message)
        assert (answer.error_code, answer.error_message) == error


# -- protocols and states


def test_the_common_protocol_with_most_votes_is_the_groups() -> None:
    """The last name does not decide."""
    group = ClassicGroup("g", 0)
    group.add(member_of("one", "a", "b"), "consumer")
    group.add(member_of("two", "a", "b"), "consumer")
    group.add(member_of("three", "b", "c", "a"), "consumer")
    assert group.selected_protocol() == "a"


def test_what_a_member_did_not_offer_is_named() -> None:
    with pytest.raises(KeyError, match="sticky"):
        member_of("one", "range").metadata("sticky")


def test_a_step_between_states_that_there_is_not_is_named() -> None:
    with pytest.raises(ValueError, match=r"^classic group g: Empty -> Stable$"):
        ClassicGroup("g", 0).move_to(ClassicState.STABLE, 1)


def test_a_group_has_been_in_its_state_since_it_came_to_it(world: ClassicWorld) -> None:
    world.log.advance(5)
    world.first_join()
    assert (world.group.state_name, world.group.state_since_ms) == ("PreparingRebalance", world.time.wall_ms())
    since = world.time.wall_ms()
    world.log.advance(DELAY_MS)
    assert (world.group.state_name, world.group.state_since_ms) == ("CompletingRebalance", since + DELAY_MS)


# -- counting and logging


def test_each_assignment_counts_as_one_rebalance(world: ClassicWorld) -> None:
    (one,) = world.stable()
    assert world.counters.classic_rebalances == 1
    world.join(one)
    world.sync(one, None, {one: b"again"})
    assert world.counters.classic_rebalances == 2


def test_why_a_group_rebalances_and_members_leave_is_logged(
    caplog: pytest.LogCaptureFixture, world: ClassicWorld
) -> None:
    with caplog.at_level(logging.INFO):
        _, two = world.stable(2)
        world.leave(two)
    lines = [line for line in caplog.messages if line.startswith("classic group g: ")]
    assert f"classic group g: member {two} leaves, client's reason: not provided" in lines
    (began,) = [line for line in lines if "rebalance from Empty, generation 0: " in line]
    (again,) = [line for line in lines if "rebalance from Stable, generation 1: " in line]
    assert began != again


def test_a_join_that_another_one_replaces_is_answered_with_the_members_id(world: ClassicWorld) -> None:
    world.stable()
    two, first = world.first_join()
    world.join(two)
    assert (first.error, first.response.member_id) == (ErrorCode.REBALANCE_IN_PROGRESS, two)


# -- room


class Room(AmpleRoom):
    """A log with room for a fixed number of bytes. `asked`: the values that were checked; `fitting`: the answer to each
    check.
    """

    def __init__(self, room_bytes: int, *, fitting: bool) -> None:
        self.sure = room_bytes
        self.fitting = fitting
        self.asked: list[GroupMetadataValue] = []

    def room_bytes(self) -> int:
        return self.sure

    def fits(self, records: Sequence[CoordinatorRecord], *, spare_bytes: int = 0) -> bool:
        for record in records:
            assert isinstance(record.value, GroupMetadataValue)
            self.asked.append(record.value)
        return self.fitting


def stable_group() -> ClassicGroup:
    group = ClassicGroup("g", 0)
    group.add(member_of("one", "range", instance="i"), "consumer")
    group.add(member_of("two", "range"), "consumer")
    group.members["one"].assignment = b"of one"
    group.members["two"].assignment = b"of two"
    group.generation, group.protocol_name, group.state = 1, "range", ClassicState.STABLE
    return group


def test_a_new_member_has_to_fit_beside_the_others_without_their_assignments() -> None:
    group, comer = stable_group(), member_of("three", "range")
    enough = Room(group.most_bytes + comer.most_bytes, fitting=False)
    check_room(group, comer, enough)
    assert enough.asked == [], "what takes no more than this need not be encoded"
    scarce = Room(enough.sure - 1, fitting=True)
    check_room(group, comer, scarce)
    (value,) = scarce.asked
    assert [(each.member_id, each.assignment) for each in value.members] == [("one", b""), ("two", b""), ("three", b"")]
    scarce.fitting = False
    with pytest.raises(RecordsTooLarge):
        check_room(group, comer, scarce)


def test_a_static_member_that_comes_back_has_to_fit_with_the_assignments_that_stay() -> None:
    group, comer = stable_group(), member_of("again", "range", instance="i")
    room = Room(1 << 20, fitting=True)
    check_room(group, comer, room)
    (value,) = room.asked
    assert {each.member_id: each.assignment for each in value.members}.get("two") == b"of two"
    room.fitting = False
    with pytest.raises(RecordsTooLarge):
        check_room(group, comer, room)
