"""Members of share groups that lose their connection keep their partitions for a grace period, not a whole session."""

from __future__ import annotations

import logging

import pytest

from shareq.coordinator.group.shard import GroupCoordinatorSettings
from shareq.coordinator.group.share.groups import ShareGroupLimits
from shareq.coordinator.group.share.session_timeouts import TURN_MEMBERS, SessionTimeouts
from shareq.coordinator.ports import ShareGroupSettings
from shareq.coordinator.shard import at_once
from shareq.protocol.errors import ErrorCode
from tests.unit.coordinator.group.share.world import GROUP, GroupWorld

GRACE_MS = 3_000
HEARTBEAT_MS = 5_000
SESSION_MS = 45_000


def world_with(*member_ids: str, grace_ms: int = GRACE_MS) -> GroupWorld:
    """Return a world of members that have just sent heartbeats, the first over connection 1, the second over 2."""
    settings = GroupCoordinatorSettings(ShareGroupLimits(disconnect_grace_ms=grace_ms))
    world = GroupWorld(settings=ShareGroupSettings(session_timeout_ms=SESSION_MS), coordinator=settings)
    for connection_id, member_id in enumerate(member_ids, 1):
        world.beat(member_id, 0, ["t"], connection_id=connection_id)
    return world


def lose(world: GroupWorld, connection_id: int) -> None:
    world.log.run(at_once(world.shard.share.connection_lost(connection_id, world.time.now_ms)))


def test_a_member_that_had_to_send_a_heartbeat_leaves_after_the_grace() -> None:
    world = world_with("a", "b")
    world.log.advance(HEARTBEAT_MS)
    lose(world, 1)
    world.log.advance(GRACE_MS - 1)
    assert set(world.group.members) == {"a", "b"}
    world.log.advance(1)
    assert set(world.group.members) == {"b"}
    assert world.beat("b", 3).assignment == {"t": [0, 1]}


def test_a_member_that_sent_its_heartbeat_just_before_is_given_its_interval_first() -> None:
    """A live client opens another connection only when its next heartbeat is due."""
    world = world_with("a")
    lose(world, 1)
    world.log.advance(HEARTBEAT_MS + GRACE_MS - 1)
    assert set(world.group.members) == {"a"}
    world.log.advance(1)
    assert not world.group.members


def test_a_heartbeat_over_another_connection_keeps_the_member() -> None:
    world = world_with("a")
    epoch = world.group.current_of("a").member_epoch
    lose(world, 1)
    world.log.advance(HEARTBEAT_MS)
    assert world.beat("a", epoch, connection_id=2).error is ErrorCode.NONE
    world.log.advance(SESSION_MS - 1)
    assert set(world.group.members) == {"a"}
    world.log.advance(1)
    assert not world.group.members


def test_the_loss_of_a_connection_that_the_member_uses_no_more_changes_nothing() -> None:
    world = world_with("a")
    assert world.beat("a", world.group.current_of("a").member_epoch, connection_id=2).error is ErrorCode.NONE
    lose(world, 1)
    world.log.advance(SESSION_MS - 1)
    assert set(world.group.members) == {"a"}


def test_a_member_that_left_and_joined_over_another_connection_is_not_taken_out_with_the_first() -> None:
    world = world_with("a")
    world.beat("a", -1)
    world.beat("a", 0, ["t"], connection_id=2)
    lose(world, 1)
    world.log.advance(SESSION_MS - 1)
    assert set(world.group.members) == {"a"}


def test_a_connection_that_is_lost_between_the_two_phases_of_a_heartbeat_counts_as_lost() -> None:
    world = world_with()
    plan = world.begin("a", 0, ["t"], connection_id=1)
    lose(world, 1)
    world.finish(plan)
    world.log.advance(HEARTBEAT_MS + GRACE_MS)
    assert not world.group.members


def test_all_members_of_a_connection_leave_with_one_epoch() -> None:
    world = world_with()
    for member_id in "abc":
        world.beat(member_id, 0, ["t"], connection_id=7)
    before = world.group.group_epoch
    lose(world, 7)
    world.log.advance(HEARTBEAT_MS + GRACE_MS)
    assert (not world.group.members, world.group.group_epoch) == (True, before + 1)


def test_a_session_that_ends_before_the_grace_still_ends_then() -> None:
    world = world_with("a", grace_ms=60_000)
    lose(world, 1)
    world.log.advance(SESSION_MS)
    assert not world.group.members


def test_a_negative_grace_leaves_it_to_the_session_timeout() -> None:
    world = world_with("a", grace_ms=-1)
    world.log.advance(HEARTBEAT_MS)
    lose(world, 1)
    world.log.advance(SESSION_MS - HEARTBEAT_MS - 1)
    assert set(world.group.members) == {"a"}
    world.log.advance(1)
    assert not world.group.members


def test_after_a_restart_members_have_a_whole_session_to_come_back() -> None:
    world = world_with("a")
    lose(world, 1)
    world.log.reload()
    world.log.advance(SESSION_MS - 1)
    assert set(world.group.members) == {"a"}


def test_a_removed_member_that_comes_back_is_asked_to_join_and_gets_its_partitions_again() -> None:
    world = world_with("a")
    epoch = world.group.current_of("a").member_epoch
    lose(world, 1)
    world.log.advance(HEARTBEAT_MS + GRACE_MS)
    assert world.beat("a", epoch, connection_id=2).error is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.beat("a", 0, ["t"], connection_id=2).assignment == {"t": [0, 1]}


def test_the_line_about_removed_members_names_the_lost_connection(caplog: pytest.LogCaptureFixture) -> None:
    world = world_with("b", "a", "c")
    lose(world, 1)
    lose(world, 2)
    with caplog.at_level(logging.INFO):
        world.log.advance(HEARTBEAT_MS + GRACE_MS)
        world.log.advance(SESSION_MS)
    lines = [(record.message, record.__dict__["fields"]) for record in caplog.records]
    assert lines == [
        (
            "share group g: members ['a', 'b'] were removed: their connections were lost",
            {"event": "member_disconnected", "group": GROUP, "members": ["a", "b"]},
        ),
        (
            "share group g: members ['c'] were not heard of in time",
            {"event": "member_silent", "group": GROUP, "members": ["c"]},
        ),
    ]


def test_a_connection_of_many_members_is_worked_off_with_pauses() -> None:
    timeouts = SessionTimeouts()
    settings = ShareGroupSettings()
    for number in range(2 * TURN_MEMBERS + 1):
        timeouts.heard_of("g", f"m{number}", settings, 0, 1)
    steps = timeouts.connection_lost(1, GRACE_MS, lambda _group_id: settings, 0)
    assert len(list(steps)) == 2
    silent = timeouts.take_silent(HEARTBEAT_MS + GRACE_MS, 1_000_000_000)
    assert len(silent["g"]) == 2 * TURN_MEMBERS + 1
