"""SyncGroup and Heartbeat: the assignment, and how members learn of a rebalance."""

from __future__ import annotations

from shareq.coordinator.group.classic.group import ClassicState
from shareq.protocol.errors import ErrorCode
from tests.unit.coordinator.group.classic.world import DELAY_MS, REBALANCE_MS, SESSION_MS, ClassicWorld


def completing(count: int = 2) -> tuple[ClassicWorld, list[str]]:
    """Return a group that waits for its assignment, and its member ids, the leader's first."""
    world = ClassicWorld()
    ids = [world.first_join()[0] for _ in range(count)]
    world.log.advance(2 * DELAY_MS)
    assert world.group.state is ClassicState.COMPLETING_REBALANCE
    return world, ids


def test_members_wait_for_the_leaders_assignment() -> None:
    world, (leader, other) = completing()
    waiting = world.sync(other)
    assert waiting.waits
    sync = world.sync(leader, None, {leader: b"L", other: b"O"})
    assert (sync.response.assignment, waiting.response.assignment) == (b"L", b"O")
    assert (sync.response.protocol_type, sync.response.protocol_name) == ("consumer", "range")
    assert world.group.state is ClassicState.STABLE


def test_the_assignment_is_written_down() -> None:
    world, (leader, other) = completing()
    world.sync(leader, None, {leader: b"L", other: b"O"})
    value = world.written
    assert (value.protocol_type, value.protocol, value.generation, value.leader) == ("consumer", "range", 1, leader)
    assert [(m.member_id, m.assignment) for m in value.members] == [(leader, b"L"), (other, b"O")]
    member = value.members[0]
    assert (member.client_id, member.client_host) == ("client", "/127.0.0.1")
    assert (member.session_timeout, member.rebalance_timeout) == (SESSION_MS, REBALANCE_MS)


def test_whom_the_leader_leaves_out_gets_an_empty_assignment() -> None:
    world, (leader, other) = completing()
    world.sync(leader, None, {leader: b"L", "stranger": b"S"})
    assert world.sync(other).response.assignment == b""
    assert [m.member_id for m in world.group.members.values()] == [leader, other]


def test_a_member_that_comes_late_gets_its_assignment() -> None:
    world, (leader, other) = completing()
    world.sync(leader, None, {other: b"O"})
    assert world.sync(other).response.assignment == b"O"


def test_what_a_sync_may_get_wrong() -> None:
    world, (leader, _) = completing()
    assert world.sync("stranger").error is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.sync(leader, 0).error is ErrorCode.ILLEGAL_GENERATION
    assert world.sync(leader, 2).error is ErrorCode.ILLEGAL_GENERATION
    assert world.sync(leader, kind="connect").error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert world.sync(leader, protocol="sticky").error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert world.sync(leader, 1, group_id="").error is ErrorCode.INVALID_GROUP_ID
    assert world.sync(leader, 1, group_id="h").error is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.sync(leader, kind=None, protocol=None).error is ErrorCode.NONE


def test_a_sync_during_a_rebalance(world: ClassicWorld) -> None:
    (one,) = world.stable()
    world.first_join()
    assert world.sync(one).error is ErrorCode.REBALANCE_IN_PROGRESS


def test_who_waits_for_an_assignment_hears_of_the_next_rebalance() -> None:
    world, (leader, other) = completing()
    waiting = world.sync(other)
    world.leave(leader)
    assert waiting.error is ErrorCode.REBALANCE_IN_PROGRESS
    assert world.group.leader_id == other


def test_a_repeated_sync_takes_the_place_of_the_one_that_waits() -> None:
    world, (leader, other) = completing()
    first = world.sync(other)
    second = world.sync(other)
    assert (first.error, second.waits) == (ErrorCode.REBALANCE_IN_PROGRESS, True)
    world.sync(leader, None, {other: b"O"})
    assert second.response.assignment == b"O"


def test_a_leader_that_never_syncs_is_out_after_the_rebalance_timeout() -> None:
    world, (leader, other) = completing()
    waiting = world.sync(other)
    world.keep_alive(REBALANCE_MS - 1, leader)
    assert waiting.waits
    world.log.advance(1)
    assert waiting.error is ErrorCode.REBALANCE_IN_PROGRESS
    assert list(world.group.members) == [other]
    assert world.beat(other) is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_follower_that_never_syncs_is_out_after_the_rebalance_timeout() -> None:
    world, (leader, other) = completing()
    world.sync(leader, None, {leader: b"L"})
    world.keep_alive(REBALANCE_MS, leader, other)
    assert list(world.group.members) == [leader]
    assert world.group.state is ClassicState.PREPARING_REBALANCE


def test_nobody_is_out_once_all_have_synced() -> None:
    world, (leader, other) = completing()
    world.sync(other)
    world.sync(leader, None, {leader: b"L"})
    world.keep_alive(2 * REBALANCE_MS, leader, other)
    assert world.group.state is ClassicState.STABLE


def test_a_silent_leader_is_out_after_its_session() -> None:
    world, (_, other) = completing()
    waiting = world.sync(other)
    world.log.advance(SESSION_MS - 1)
    assert waiting.waits
    world.log.advance(1)
    assert waiting.error is ErrorCode.REBALANCE_IN_PROGRESS
    assert world.group.leader_id == other


# -- heartbeats


def test_heartbeats_prolong_the_session(world: ClassicWorld) -> None:
    (one,) = world.stable()
    world.log.advance(SESSION_MS - 1)
    assert world.beat(one) is ErrorCode.NONE
    world.log.advance(SESSION_MS - 1)
    assert world.beat(one) is ErrorCode.NONE
    world.log.advance(SESSION_MS)
    assert world.beat(one) is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.group.state is ClassicState.EMPTY


def test_what_a_heartbeat_may_get_wrong(world: ClassicWorld) -> None:
    (one,) = world.stable()
    assert world.beat("stranger") is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.beat(one, 0) is ErrorCode.ILLEGAL_GENERATION
    assert world.beat(one, group_id="") is ErrorCode.INVALID_GROUP_ID
    assert world.beat(one, group_id="h") is ErrorCode.UNKNOWN_MEMBER_ID


def test_an_id_that_is_out_cannot_send_heartbeats(world: ClassicWorld) -> None:
    pending = world.join().response.member_id
    assert world.beat(pending) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_heartbeat_while_the_assignment_is_awaited() -> None:
    world, (leader, _) = completing()
    assert world.beat(leader) is ErrorCode.NONE


def test_waiting_members_need_no_heartbeats(world: ClassicWorld) -> None:
    """A connection is silent while its JoinGroup waits."""
    one, two = world.stable(2)
    join = world.join(one)
    world.keep_alive(3 * SESSION_MS, two)
    assert join.waits
    world.join(two)
    assert join.error is ErrorCode.NONE


def test_when_the_last_member_falls_silent_the_group_is_empty_and_that_is_written(world: ClassicWorld) -> None:
    world.stable()
    world.log.advance(SESSION_MS)
    assert (world.written.generation, world.written.members, world.written.leader) == (2, [], None)
    assert (world.written.protocol_type, world.written.protocol) == ("consumer", None)
