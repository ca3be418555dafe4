"""ShareFetch: long polls, over frames on virtual time, and what ends them."""

from __future__ import annotations

import errno

import pytest

from devtools.in_memory.mock_transport import BrokerWorld
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.read_share_group_state import (
    PartitionData,
    ReadShareGroupStateRequest,
    ReadShareGroupStateResponse,
    ReadStateData,
)
from tests.support.clients.share_client import (
    ACCEPT,
    FetchOptions,
    ShareClient,
    acquired_of,
    append,
    configure,
    fetch_errors,
    from_the_start,
)

UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def idle_member(world: BrokerWorld, *topics: str) -> ShareClient:
    """A member with partition 0 of each topic in its session, with nothing there yet."""
    places = [(world.create_topic(topic).topic_id, 0) for topic in topics]
    from_the_start(world)
    member = ShareClient(world)
    member.join(*topics)
    member.fetch(*places)
    return member


def waiting_member(world: BrokerWorld, *topics: str) -> ShareClient:
    """An idle member that fetches, for as long as a second."""
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


@pytest.mark.parametrize("impatient", [{"max_wait_ms": 0}, {"max_wait_ms": 1_000, "min_bytes": 0}])
def test_a_fetch_that_may_not_wait_waits_for_the_start_offset_to_be_durable(
    impatient: FetchOptions, world: BrokerWorld
) -> None:
    """Apache Kafka 4.3.1 hands out the first records of a share partition at once, whatever MaxWaitMs and MinBytes."""
    member = idle_member(world, "t", "u")
    append(world, "t", 3)
    assert acquired_of(member.fetch(**impatient)) == [(0, 2, 1)]


def test_both_partitions_of_a_fetch_are_handed_out_though_one_start_offset_is_not_durable_yet(
    world: BrokerWorld,
) -> None:
    member = idle_member(world, "t", "u")
    append(world, "t", 1)
    assert acquired_of(member.fetch(max_wait_ms=1_000)) == [(0, 0, 1)]
    append(world, "t", 1)
    append(world, "u", 2)
    assert sorted(acquired_of(member.fetch(max_wait_ms=1_000))) == [(0, 1, 1), (1, 1, 1)]


@pytest.mark.parametrize("max_wait_ms", [0, 1_000])
def test_a_start_offset_that_cannot_be_written_is_waited_for_once(max_wait_ms: int, world: BrokerWorld) -> None:
    """The fetch ends in time, without records; a later one tries again."""
    member = idle_member(world, "t")
    append(world, "t", 3)
    failed: list[str] = []

    def fail(kind: str, path: str) -> OSError | None:
        if kind != "write" or "__share_group_state" not in path:
            return None
        failed.append(path)
        return OSError(errno.EIO, "no")

    world.fs.fail = fail
    member.send_fetch(max_wait_ms=max_wait_ms)
    world.clock.advance(max_wait_ms)
    assert acquired_of(member.fetch_answer()) == []
    assert 1 <= len(failed) <= 3
    world.fs.fail = None
    assert acquired_of(member.fetch(max_wait_ms=1_000)) == [(0, 2, 1)]


@pytest.mark.parametrize("topics", [("t",), ("t", "u")])
def test_a_deleted_topic_ends_the_wait_at_once(topics: tuple[str, ...], world: BrokerWorld) -> None:
    """The member learns it while its other topics have nothing for it; those stay in its session."""
    member = waiting_member(world, *topics)
    deleted = world.services.metadata.topic("t")
    assert deleted is not None
    world.folder.metadata.delete_topics(["t"])
    assert fetch_errors(member.fetch_answer()) == {(deleted.topic_id, 0): UNKNOWN}
    assert member.connection.closed is False
    if len(topics) > 1:
        append(world, "u", 1)
        assert acquired_of(member.fetch(forgotten=[(deleted.topic_id, 0)])) == [(0, 0, 1)]


def test_a_topic_deleted_and_created_again_ends_the_wait_too(world: BrokerWorld) -> None:
    member = waiting_member(world, "t")
    old = world.services.metadata.topic("t")
    assert old is not None
    world.folder.metadata.delete_topics(["t"])
    new = world.create_topic("t")
    append(world, "t", 1)
    assert fetch_errors(member.fetch_answer()) == {(old.topic_id, 0): UNKNOWN}
    assert fetch_errors(member.fetch()) == {(old.topic_id, 0): UNKNOWN}
    answer = member.heartbeat()
    assert member.assigned(answer) == {"t": [0]}
    assert acquired_of(member.fetch((new.topic_id, 0), forgotten=[(old.topic_id, 0)])) == [(0, 0, 1)]


def test_a_negative_max_records_loads_the_share_partition_and_brings_nothing(world: BrokerWorld) -> None:
    """Apache Kafka 4.3.1 does so, where only 0 leaves everything as it is: an acknowledgement then finds the leader."""
    place = (world.create_topic("t").topic_id, 0)
    append(world, "t", 1)
    from_the_start(world)
    member = ShareClient(world)
    member.join("t")
    member.fetch(place, max_records=0)
    assert member.acknowledge(place, (0, 0, ACCEPT)) == UNKNOWN
    assert acquired_of(member.fetch(max_records=-1, max_wait_ms=1_000)) == []
    assert member.acknowledge(place, (0, 0, ACCEPT)) == ErrorCode.INVALID_RECORD_STATE
    wanted = ReadStateData(place[0], [PartitionData(0, 0)])
    answer = world.connect().call(ReadShareGroupStateRequest("g", [wanted]), 0, ReadShareGroupStateResponse)
    assert answer.results[0].partitions[0].start_offset == -1  # nobody has acquired anything: it is not written down


def test_errors_are_reported_though_no_records_are_asked_for(world: BrokerWorld) -> None:
    """MaxRecords 0: Apache Kafka 4.3.1 still names the partitions that are not there."""
    member = idle_member(world, "t")
    topic = world.services.metadata.topic("t")
    assert topic is not None
    assert fetch_errors(member.fetch((topic.topic_id, 7), max_records=0)) == {(topic.topic_id, 7): UNKNOWN}
