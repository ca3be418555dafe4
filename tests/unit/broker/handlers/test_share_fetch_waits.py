"""ShareFetch: long polls, over frames on virtual time, and what ends them."""

from __future__ import annotations

import pytest

from shareq.protocol.errors import ErrorCode
from tests.support.mock_transport import BrokerWorld
from tests.support.share_client import ShareClient, acquired_of, append, fetch_errors, from_the_start

UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def waiting_member(world: BrokerWorld, *topics: str) -> ShareClient:
    """A member that fetches from partition 0 of each topic, for as long as a second, with nothing there yet."""
    places = [(world.create_topic(topic).topic_id, 0) for topic in topics]
    from_the_start(world)
    member = ShareClient(world)
    member.join(*topics)
    member.fetch(*places)
    member.send_fetch(max_wait_ms=1_000)
    world.clock.run_until_idle()
    assert not member.connection.frames
    return member


def test_the_next_record_ends_the_wait_in_the_tick_it_is_written() -> None:
    world = BrokerWorld()
    member = waiting_member(world, "t")
    append(world, "t", 3)
    assert acquired_of(member.fetch_answer()) == [(0, 2, 1)]


def test_the_time_is_up_exactly_then() -> None:
    world = BrokerWorld()
    member = waiting_member(world, "t")
    world.clock.advance(999)
    assert not member.connection.frames
    world.clock.advance(1)
    assert member.fetch_answer().responses == []


@pytest.mark.parametrize("topics", [("t",), ("t", "u")])
def test_a_deleted_topic_ends_the_wait_at_once(topics: tuple[str, ...]) -> None:
    """The member learns it while its other topics have nothing for it; those stay in its session."""
    world = BrokerWorld()
    member = waiting_member(world, *topics)
    deleted = world.broker.metadata.topic("t")
    assert deleted is not None
    world.broker.metadata.delete_topics(["t"])
    assert fetch_errors(member.fetch_answer()) == {(deleted.topic_id, 0): UNKNOWN}
    assert member.connection.closed is False
    if len(topics) > 1:
        append(world, "u", 1)
        assert acquired_of(member.fetch(forgotten=[(deleted.topic_id, 0)])) == []  # its start offset is written first
        assert acquired_of(member.fetch()) == [(0, 0, 1)]


def test_a_topic_deleted_and_created_again_ends_the_wait_too() -> None:
    world = BrokerWorld()
    member = waiting_member(world, "t")
    old = world.broker.metadata.topic("t")
    assert old is not None
    world.broker.metadata.delete_topics(["t"])
    new = world.create_topic("t")
    append(world, "t", 1)
    assert fetch_errors(member.fetch_answer()) == {(old.topic_id, 0): UNKNOWN}
    assert fetch_errors(member.fetch()) == {(old.topic_id, 0): UNKNOWN}
    answer = member.heartbeat()
    assert member.assigned(answer) == {"t": [0]}
    member.fetch((new.topic_id, 0), forgotten=[(old.topic_id, 0)])
    assert acquired_of(member.fetch()) == [(0, 0, 1)]
