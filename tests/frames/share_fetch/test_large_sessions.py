"""A share session with thousands of partitions: each request checks some, in rotation, and loading runs in turns."""

from __future__ import annotations

import pytest

from devtools.in_memory.mock_transport import BrokerWorld
from shareq.broker.foundation.turn_budget import LOOK, TURN_ELEMENTS
from shareq.broker.handlers.shared import share_fetch_rights
from shareq.broker.share.coordinator import ShareCoordinatorService
from shareq.broker.share.core import sessions
from shareq.broker.share.core.sessions import LOOKED_AT, MOST_PARTITIONS
from shareq.broker.share.fetch import ShareFetch
from shareq.broker.share.partitions import SharePartitionManager
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from tests.support.clients.share_client import Place, ShareClient, acquired_of, append, fetch_errors, from_the_start
from tests.support.worlds.counted_work import Work

PARTITIONS = 2_500
WAIT_MS = 900


def member_of(partitions: int) -> tuple[ShareClient, list[Place]]:
    """Return a member of a group that begins with the first record, and its topic's partitions."""
    world = BrokerWorld()
    topic_id = world.create_topic("t", partitions).topic_id
    from_the_start(world)
    member = ShareClient(world)
    member.join("t")
    return member, [(topic_id, partition) for partition in range(partitions)]


def waited(member: ShareClient) -> int:
    """Return after how many milliseconds an empty fetch of at most `WAIT_MS` is answered."""
    clock = member.world.clock
    member.send_fetch(max_wait_ms=WAIT_MS)
    began = clock.now_ms()
    while not member.connection.frames:
        clock.advance(1)
    assert not acquired_of(member.fetch_answer())
    return clock.now_ms() - began


def test_the_states_of_a_large_topic_are_made_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first heartbeat creates all states, at 15 µs each."""
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
    """At 10 µs per partition, small requests in a large session once blocked the loop."""
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
    monkeypatch.setattr(share_fetch_rights, "wanted_partition", work.count(share_fetch_rights.wanted_partition))
    work.ticks.clear()
    member.send_fetch()
    work.run(world, neighbour)
    member.fetch_answer()
    assert sum(work.ticks) == LOOKED_AT


def test_what_comes_to_any_partition_ends_the_wait_at_once() -> None:
    """The fetch waits on all 10,000 partitions: waiting on a thousand at a time delayed a record by half a second."""
    member, places = member_of(PARTITIONS)
    clock = member.world.clock
    member.fetch(*places)
    assert waited(member) == WAIT_MS, "as long as it asked for"
    for partition in (0, 1_234, 2_345):
        member.send_fetch(max_wait_ms=WAIT_MS)
        clock.advance(100)
        append(member.world, "t", 1, partition=partition)
        began = clock.now_ms()
        assert len(acquired_of(member.fetch_answer())) == 1
        assert clock.now_ms() == began


def test_what_came_between_two_requests_is_had_without_a_wait() -> None:
    member, places = member_of(PARTITIONS)
    member.fetch(*places)
    for partition in (0, 1_234, 2_345):
        append(member.world, "t", 1, partition=partition)
    began = member.world.clock.now_ms()
    acquired = [len(acquired_of(member.fetch(max_wait_ms=WAIT_MS))) for _ in range(3)]
    assert (sum(acquired), member.world.clock.now_ms()) == (3, began)


def test_a_look_for_one_record_is_at_its_partition_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    member, places = member_of(PARTITIONS)
    world, work = member.world, Work()
    member.fetch(*places)
    member.send_fetch(max_wait_ms=WAIT_MS)
    world.clock.run_until_idle()
    monkeypatch.setattr(ShareFetch, "_is_ready", work.count(ShareFetch._is_ready))
    append(world, "t", 1, partition=1_234)
    work.run(world, world.connect())
    assert len(acquired_of(member.fetch_answer())) == 1
    assert 0 < sum(work.ticks) <= 3, "to have the start offset written, and when it is"


@pytest.mark.parametrize("answered", [True, False])
def test_a_fetch_that_waits_no_more_is_registered_nowhere(answered: bool) -> None:
    member, places = member_of(PARTITIONS)
    world = member.world
    member.fetch(*places)
    member.send_fetch(max_wait_ms=WAIT_MS)
    world.clock.run_until_idle()
    leaders = world.services.share.partitions.leaders()
    assert (len(leaders), {len(each.waiters) for each in leaders}) == (PARTITIONS, {1})
    if answered:
        append(world, "t", 1, partition=1_234)
        assert len(acquired_of(member.fetch_answer())) == 1
    else:
        member.connection.close()
    world.clock.run_until_idle()
    assert {len(each.waiters) for each in leaders} == {0}


def test_an_unknown_partition_of_a_large_session_is_named_within_one_wait() -> None:
    member, places = member_of(PARTITIONS)
    topic_id = places[0][0]
    member.fetch(*places, (topic_id, PARTITIONS))
    named: dict[Place, ErrorCode] = {}
    rounds = PARTITIONS // LOOKED_AT + 1
    for _ in range(rounds):
        member.send_fetch(max_wait_ms=WAIT_MS)
        member.world.clock.advance(WAIT_MS // rounds)
        named |= fetch_errors(member.fetch_answer())
    assert named == {(topic_id, PARTITIONS): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


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
