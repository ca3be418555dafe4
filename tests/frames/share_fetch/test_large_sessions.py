"""A share session with thousands of partitions: each request looks at some, all are looked at, and loaded in turns."""

from __future__ import annotations

import pytest

from devtools.in_memory.mock_transport import BrokerWorld
from shareq.broker.foundation.turn_budget import LOOK, TURN_ELEMENTS
from shareq.broker.handlers.shared import share_fetch_rights
from shareq.broker.share.coordinator import ShareCoordinatorService
from shareq.broker.share.core import sessions
from shareq.broker.share.core.sessions import LOOKED_AT, MOST_PARTITIONS
from shareq.broker.share.partitions import SharePartitionManager
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from tests.support.clients.share_client import Place, ShareClient, acquired_of, append, fetch_errors, from_the_start
from tests.support.worlds.counted_work import Work

PARTITIONS = 2_500
WAIT_MS = 900


def member_of(partitions: int) -> tuple[ShareClient, list[Place]]:
    """A member of a group that begins with the first record, and the partitions of its topic."""
    world = BrokerWorld()
    topic_id = world.create_topic("t", partitions).topic_id
    from_the_start(world)
    member = ShareClient(world)
    member.join("t")
    return member, [(topic_id, partition) for partition in range(partitions)]


def waited(member: ShareClient) -> int:
    """Return after how many milliseconds a fetch without records is answered that would wait for `WAIT_MS`."""
    clock = member.world.clock
    member.send_fetch(max_wait_ms=WAIT_MS)
    began = clock.now_ms()
    while not member.connection.frames:
        clock.advance(1)
    assert not acquired_of(member.fetch_answer())
    return clock.now_ms() - began


def test_the_states_of_a_large_topic_are_made_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first heartbeat makes all of them, 15 µs each."""
    world, work = BrokerWorld(), Work()
    world.create_topic("t", 1_200)
    member, neighbour = ShareClient(world), world.connect()
    made = work.count(ShareCoordinatorService.initialize_once)
    monkeypatch.setattr(ShareCoordinatorService, "initialize_once", made)
    member.connection.send(member.heartbeat_request("t", epoch=0), 1)
    work.run(world, neighbour)
    assert member.assigned(member.heartbeat_answer()) == {"t": list(range(1_200))}
    assert sum(work.ticks) == 1_200
    assert max(work.ticks) <= TURN_ELEMENTS + LOOK


def test_no_states_are_made_for_a_group_that_is_deleted_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    world, work = BrokerWorld(), Work()
    world.create_topic("t", 1_200)
    member, other = ShareClient(world), ShareClient(world, "m")
    made = work.count(ShareCoordinatorService.initialize_once)
    monkeypatch.setattr(ShareCoordinatorService, "initialize_once", made)
    member.connection.send(member.heartbeat_request("t", epoch=0), 1)
    while not work.now:
        world.clock.run_tick()
    other.connection.send(other.heartbeat_request(epoch=-1), 1)
    administrator = world.connect()
    administrator.send(DeleteGroupsRequest(["g"]), 2)
    world.clock.run_until_idle()
    assert administrator.receive(DeleteGroupsResponse).results[0].error_code == ErrorCode.NONE
    assert work.now < 1_200
    assert not [key for each in world.services.share_states.partitions for key in each.shard.share_partitions()]


def test_each_request_looks_at_some_and_loads_them_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """10 µs for each partition, with every request: a small one held the loop as long as the session was large."""
    member, places = member_of(PARTITIONS)
    world, work = member.world, Work()
    neighbour = world.connect()
    monkeypatch.setattr(SharePartitionManager, "_load", work.count(SharePartitionManager._load))
    for epoch in range(4):
        member.send_fetch(*(places if epoch == 0 else ()))
        work.run(world, neighbour)
        assert not fetch_errors(member.fetch_answer())
    assert sum(work.ticks) == PARTITIONS
    assert max(work.ticks) <= TURN_ELEMENTS
    monkeypatch.setattr(share_fetch_rights, "_wanted", work.count(share_fetch_rights._wanted))
    work.ticks.clear()
    member.send_fetch()
    work.run(world, neighbour)
    member.fetch_answer()
    assert sum(work.ticks) == LOOKED_AT


def test_all_partitions_are_looked_at_within_the_time_of_one_wait() -> None:
    member, places = member_of(PARTITIONS)
    for epoch in range(3):
        member.fetch(*(places if epoch == 0 else ()))
    assert sum(waited(member) for _ in range(3)) == WAIT_MS
    for partition in (0, 1_234, 2_345):
        append(member.world, "t", 1, partition=partition)
    acquired = [len(acquired_of(member.fetch())) for _ in range(6)]  # the first look writes a start offset down
    assert sum(acquired) == 3


def test_a_session_of_few_partitions_waits_as_long_as_it_asked_for() -> None:
    member, places = member_of(LOOKED_AT)
    member.fetch(*places)
    assert waited(member) == WAIT_MS


def test_a_session_has_no_more_partitions_than_the_largest_topic(monkeypatch: pytest.MonkeyPatch) -> None:
    member, places = member_of(16)
    topic_id = places[0][0]
    too_many = [(topic_id, partition) for partition in range(MOST_PARTITIONS + 1)]
    assert member.fetch(*too_many).error_code == ErrorCode.INVALID_REQUEST
    monkeypatch.setattr(sessions, "MOST_PARTITIONS", 15)
    assert member.fetch(*places).error_code == ErrorCode.INVALID_REQUEST
    assert member.fetch(*places[:10]).error_code == ErrorCode.NONE
    assert member.fetch(*places[6:]).error_code == ErrorCode.INVALID_REQUEST
    assert member.fetch(*places[5:15]).error_code == ErrorCode.NONE, "those that it has are not counted twice"


def test_no_more_are_forgotten_than_there_may_be() -> None:
    member, places = member_of(1)
    member.fetch(*places)
    forgotten = [(places[0][0], partition) for partition in range(MOST_PARTITIONS + 1)]
    assert member.fetch(forgotten=forgotten).error_code == ErrorCode.INVALID_REQUEST
