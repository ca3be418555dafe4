"""ShareFetch long polls on virtual time, and the events that end them."""

from __future__ import annotations

import pytest

from devtools.in_memory.mock_transport import BrokerWorld
from shareq.protocol.errors import ErrorCode
from tests.support.clients.share_client import (
    ShareClient,
    acquired_of,
    append,
    configure,
    fetch_errors,
    from_the_start,
)

UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def idle_member(world: BrokerWorld, *topics: str) -> ShareClient:
    """Return a member with the empty partition 0 of each topic in its session."""
    places = [(world.create_topic(topic).topic_id, 0) for topic in topics]
    from_the_start(world)
    member = ShareClient(world)
    member.join(*topics)
    member.fetch(*places)
    return member


def waiting_member(world: BrokerWorld, *topics: str) -> ShareClient:
    member = idle_member(world, *topics)
    member.send_fetch(max_wait_ms=1_000)
    world.clock.run_until_idle()
    assert not member.connection.frames
    return member


def test_the_next_record_ends_the_wait_in_the_tick_it_is_written(world: BrokerWorld) -> None:
    member = waiting_member(world, "t")
    append(world, "t", 3)
    assert acquired_of(member.fetch_answer()) == [(0, 2, 1)]


def test_the_time_is_up_exactly_then(world: BrokerWorld) -> None:
    member = waiting_member(world, "t")
    world.clock.advance(999)
    assert not member.connection.frames
    world.clock.advance(1)
    assert member.fetch_answer().responses == []


@pytest.mark.parametrize(("group", "looks"), [("g", True), ("another", False)])
def test_more_room_in_the_window_by_a_change_of_the_groups_config_ends_the_wait(
    group: str, looks: bool, world: BrokerWorld
) -> None:
    member = idle_member(world, "t")
    configure(world, share_partition_max_record_locks="100")
    append(world, "t", 1, batches=101)
    assert acquired_of(member.fetch()) == [(0, 99, 1)]
    member.send_fetch(max_wait_ms=1_000)
    world.clock.run_until_idle()
    assert not member.connection.frames
    configure(world, group, share_partition_max_record_locks="101")
    world.clock.run_until_idle()
    assert len(member.connection.frames) == looks
    configure(world, share_partition_max_record_locks="101")
    assert acquired_of(member.fetch_answer()) == [(100, 100, 1)]


def test_both_partitions_of_a_fetch_are_handed_out_though_one_start_offset_is_not_durable_yet(
    world: BrokerWorld,
) -> None:
    member = idle_member(world, "t", "u")
    append(world, "t", 1)
    assert acquired_of(member.fetch(max_wait_ms=1_000)) == [(0, 0, 1)]
    append(world, "t", 1)
    append(world, "u", 2)
    assert sorted(acquired_of(member.fetch(max_wait_ms=1_000))) == [(0, 1, 1), (1, 1, 1)]


@pytest.mark.parametrize("topics", [("t",), ("t", "u")])
def test_a_deleted_topic_ends_the_wait_at_once(topics: tuple[str, ...], world: BrokerWorld) -> None:
    """The member's other topics are empty, and stay in its session."""
    member = waiting_member(world, *topics)
    deleted = world.services.metadata.topic("t")
    assert deleted is not None
    world.folder.metadata.delete_topics(["t"])
    assert fetch_errors(member.fetch_answer()) == {(deleted.topic_id, 0): UNKNOWN}
    assert member.connection.closed is False
    if len(topics) > 1:
        append(world, "u", 1)
        assert acquired_of(member.fetch(forgotten=[(deleted.topic_id, 0)])) == [(0, 0, 1)]


def test_errors_are_reported_though_no_records_are_asked_for(world: BrokerWorld) -> None:
    """Missing partitions are named even with MaxRecords 0, as in Apache Kafka 4.3.1."""
    member = idle_member(world, "t")
    topic = world.services.metadata.topic("t")
    assert topic is not None
    assert fetch_errors(member.fetch((topic.topic_id, 7), max_records=0)) == {(topic.topic_id, 7): UNKNOWN}
