"""A paused share group, over frames: nothing is delivered, everything else works."""

from __future__ import annotations

import pytest

from devtools.in_memory.mem_fs import CrashModel
from devtools.in_memory.mock_transport import BrokerWorld
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.share_acknowledge import (
    AcknowledgementBatch,
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
)
from tests.support.clients.share_client import (
    ACCEPT,
    RELEASE,
    RENEW,
    Place,
    ShareClient,
    acquired_of,
    append,
    configure,
    from_the_start,
)
from tests.support.worlds.dead_letters import DeadLetterWorld

LOCK_MS = 15_000


def pause(world: BrokerWorld, *, paused: bool = True) -> None:
    configure(world, shareq_paused=str(paused).lower())


def member_at_work(records: int = 3, **properties: str) -> tuple[BrokerWorld, ShareClient, Place]:
    """Return a member that has acquired the records, one batch each, in a group paused since."""
    world = BrokerWorld({"log.flush.interval.messages": "1"})
    place = (world.create_topic("t").topic_id, 0)
    from_the_start(world)
    configure(world, share_record_lock_duration_ms=str(LOCK_MS), **properties)
    append(world, "t", 1, batches=records)
    member = ShareClient(world)
    member.join("t")
    assert member.acquire(place) == [(0, records - 1, 1)]
    pause(world)
    return world, member, place


def renew(member: ShareClient, place: Place, offset: int) -> None:
    rows = [AcknowledgePartition(place[1], [AcknowledgementBatch(offset, offset, [RENEW])])]
    request = ShareAcknowledgeRequest("g", "m", member.session_epoch, True, [AcknowledgeTopic(place[0], rows)])
    member.connection.send(request, 2)
    assert member.acknowledge_answer() == ErrorCode.NONE


def test_a_fetch_of_a_paused_group_waits_as_if_there_were_no_records() -> None:
    world, member, _ = member_at_work()
    append(world, "t", 1)
    member.send_fetch(max_wait_ms=1_000)
    world.clock.advance(999)
    assert not member.connection.frames
    world.clock.advance(1)
    answer = member.fetch_answer()
    assert (answer.error_code, answer.responses) == (ErrorCode.NONE, [])
    assert member.fetch(max_wait_ms=0).responses == []


def test_a_fetch_that_waits_is_answered_in_the_moment_of_the_resumption() -> None:
    world, member, _ = member_at_work()
    append(world, "t", 2)
    member.send_fetch(max_wait_ms=60_000)
    world.clock.advance(1_000)
    assert not member.connection.frames
    pause(world, paused=False)
    world.clock.run_until_idle()
    assert acquired_of(member.fetch_answer()) == [(3, 4, 1)]


def test_a_fetch_that_waited_before_the_pause_gets_nothing_during_it() -> None:
    world, member, _ = member_at_work()
    pause(world, paused=False)
    member.send_fetch(max_wait_ms=60_000)
    pause(world)
    append(world, "t", 1)
    world.clock.advance(1_000)
    assert not member.connection.frames
    pause(world, paused=False)
    world.clock.run_until_idle()
    assert acquired_of(member.fetch_answer()) == [(3, 3, 1)]


def test_another_group_goes_on() -> None:
    world, _, place = member_at_work()
    from_the_start(world, "h")
    other = ShareClient(world, "n", "h")
    other.join("t")
    assert other.acquire(place) == [(0, 2, 1)]


def test_what_is_in_flight_is_acknowledged_renewed_and_released() -> None:
    world, member, place = member_at_work()
    world.clock.advance(LOCK_MS - 1)
    assert member.acknowledge(place, (0, 0, ACCEPT), (1, 1, RELEASE)) == ErrorCode.NONE
    renew(member, place, 2)
    assert member.heartbeat().error_code == ErrorCode.NONE
    assert member.acquire(place) == []
    world.clock.advance(LOCK_MS - 1)
    assert member.acknowledge(place, (2, 2, ACCEPT)) == ErrorCode.NONE
    pause(world, paused=False)
    assert member.acquire(place) == [(1, 1, 2)]


def test_locks_run_out_and_their_records_come_with_the_resumption() -> None:
    world, member, place = member_at_work()
    world.clock.advance(LOCK_MS)
    assert member.acknowledge(place, (0, 2, ACCEPT)) == ErrorCode.INVALID_RECORD_STATE
    member.send_fetch(max_wait_ms=60_000)
    world.clock.run_until_idle()
    assert not member.connection.frames
    pause(world, paused=False)
    world.clock.run_until_idle()
    assert acquired_of(member.fetch_answer()) == [(0, 2, 2)]


def test_dead_letters_of_what_is_in_flight_are_written() -> None:
    world = DeadLetterWorld()
    world.produce(b"v")
    for count in (1, 2):
        assert world.take() == [(0, 0, count)]
        configure(world.world, shareq_paused="true")
        world.end(RELEASE, 0, 0)
        assert world.take() == []
        configure(world.world, shareq_paused="false")
    assert world.offsets() == [0]
    assert world.start_offset() == 1


@pytest.mark.parametrize("how", ["stop", CrashModel.PROCESS_KILL, CrashModel.POWER_LOSS])
def test_a_restart_keeps_the_pause(how: str | CrashModel) -> None:
    world, member, place = member_at_work()
    if isinstance(how, CrashModel):
        world.crash(how)
    else:
        world.restart()
    member.reconnect()
    assert member.acquire(place) == []
    pause(world, paused=False)
    assert member.acquire() == [(0, 2, 1)]


def test_what_comes_while_a_new_group_is_paused_is_not_lost_to_a_restart() -> None:
    """The topic end seen at the first fetch becomes the group's start."""
    world = BrokerWorld({"log.flush.interval.messages": "1"})
    place = (world.create_topic("t").topic_id, 0)
    pause(world)
    append(world, "t", 1)
    member = ShareClient(world)
    member.join("t")
    member.fetch(place)
    append(world, "t", 2)
    assert member.acquire() == []
    world.restart()
    member.reconnect()
    pause(world, paused=False)
    assert member.acquire(place) == [(1, 2, 1)]


@pytest.mark.parametrize("order", ["none", "key"])
def test_a_group_with_order_by_key_is_paused_as_another(order: str) -> None:
    world, member, place = member_at_work(shareq_order=order)
    append(world, "t", 1)
    assert member.acknowledge(place, (0, 2, RELEASE)) == ErrorCode.NONE
    assert member.acquire() == []
    pause(world, paused=False)
    assert member.acquire() == [(0, 2, 2), (3, 3, 1)]
