"""The two stages of initialising share state, over frames: failures and crashes at every point (KIP-932)."""

from __future__ import annotations

import errno
from collections import Counter
from collections.abc import Callable, Iterator

from devtools.in_memory.mem_fs import SimulatedCrash
from devtools.in_memory.mock_transport import BrokerWorld
from shareq.coordinator.routing import group_partition_for
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from shareq.protocol.generated.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
    DeleteShareGroupOffsetsResponse,
)
from tests.support.clients.share_client import ACCEPT, ShareClient, append, from_the_start

NONE = ErrorCode.NONE


def a_world(partitions: int = 2) -> BrokerWorld:
    """Return a world with ten records in each partition of topic t, and group g, which begins at the first."""
    world = BrokerWorld()
    world.create_topic("t", partitions)
    from_the_start(world)
    for partition in range(partitions):
        append(world, "t", 10, partition=partition)
    return world


def place(world: BrokerWorld, partition: int = 0, topic: str = "t") -> tuple[bytes, int]:
    image = world.services.metadata.topic(topic)
    assert image is not None
    return image.topic_id, partition


def failing_from(number: int, topic: str) -> Callable[[str, str], OSError | None]:
    """Return a fault that fails the appends to the topic from the `number`th on, counted from 1."""
    appends = 0

    def fail(kind: str, path: str) -> OSError | None:
        nonlocal appends
        concerned = kind == "write" and topic in path and path.endswith(".log")
        appends += concerned
        return OSError(errno.EIO, "broken") if concerned and appends >= number else None

    return fail


def state_epochs(world: BrokerWorld) -> set[int]:
    states = [
        partition.shard.state_of(key)
        for partition in world.services.share_states.partitions
        for key in partition.shard.share_partitions()
    ]
    return {state.state_epoch for state in states if state is not None}


# -- failures


def test_a_group_whose_initialisation_failed_halfway_is_deleted_with_what_there_is() -> None:
    """State that stayed would fence the next group of the name, whose epochs start over."""
    world = a_world()
    member = ShareClient(world)
    for _ in range(3):  # epochs rise
        member.join("u")
        member.leave()
    world.fs.fail = failing_from(2, "__share_group_state")
    assert member.join("t") == {}
    world.fs.fail = None
    assert len(state_epochs(world)) == 1
    member.leave()
    deleted = member.connection.call(DeleteGroupsRequest(["g"]), 2, DeleteGroupsResponse)
    assert [row.error_code for row in deleted.results] == [NONE]
    assert state_epochs(world) == set()
    assert member.join("t") == {"t": [0, 1]}
    assert state_epochs(world) == {2}


def test_what_was_done_before_an_initialisation_was_recorded_stays() -> None:
    """Any client may fetch: the state exists although the group does not know it yet."""
    world = a_world(partitions=1)
    member, outsider = ShareClient(world), ShareClient(world, "outsider")
    world.fs.fail = failing_from(2, "__consumer_offsets")
    assert member.heartbeat("t", epoch=0).error_code == ErrorCode.NOT_COORDINATOR
    world.fs.fail = None
    assert outsider.acquire(place(world)) == [(0, 9, 1)]
    assert outsider.acknowledge(place(world), (0, 4, ACCEPT)) is NONE
    assert member.join("t") == {"t": [0]}
    assert member.acquire(place(world)) == []
    assert outsider.acknowledge(place(world), (5, 7, ACCEPT)) is NONE
    world.restart()
    member.reconnect()
    assert member.acquire(place(world)) == [(8, 9, 1)]


def test_what_was_done_before_an_initialisation_was_recorded_outlives_a_new_epoch() -> None:
    """Another member joins, which initialises again, at an epoch that the state does not have."""
    world = a_world(partitions=1)
    member, outsider, newcomer = ShareClient(world), ShareClient(world, "outsider"), ShareClient(world, "newcomer")
    world.fs.fail = failing_from(2, "__consumer_offsets")
    assert member.heartbeat("t", epoch=0).error_code == ErrorCode.NOT_COORDINATOR
    world.fs.fail = None
    assert outsider.acquire(place(world)) == [(0, 9, 1)]
    assert outsider.acknowledge(place(world), (0, 4, ACCEPT)) is NONE
    assert newcomer.join("t") == {"t": [0]}
    assert newcomer.describe().group_epoch == 3
    assert newcomer.acquire(place(world)) == []
    world.restart()
    newcomer.reconnect()
    assert newcomer.acquire(place(world)) == [(5, 9, 1)]


def test_deleting_offsets_deletes_what_an_unrecorded_initialisation_left() -> None:
    """Offsets that stayed would be where the next join continues."""
    world = a_world(partitions=1)
    member, outsider = ShareClient(world), ShareClient(world, "outsider")
    member.join("t")
    world.folder.metadata.create_partitions({"t": 2})
    append(world, "t", 10, partition=1)
    world.fs.fail = failing_from(2, "__consumer_offsets")
    assert member.heartbeat().error_code == ErrorCode.NOT_COORDINATOR
    world.fs.fail = None
    assert outsider.acquire(place(world, 1)) == [(0, 9, 1)]
    assert outsider.acknowledge(place(world, 1), (0, 4, ACCEPT)) is NONE
    member.leave()
    request = DeleteShareGroupOffsetsRequest("g", [DeleteShareGroupOffsetsRequestTopic("t")])
    deleted = member.connection.call(request, 0, DeleteShareGroupOffsetsResponse)
    assert [row.error_code for row in deleted.responses] == [NONE]
    assert state_epochs(world) == set()
    assert member.join("t") == {"t": [0, 1]}
    assert member.acquire(place(world, 1)) == [(0, 9, 1)]


def test_what_is_written_to_a_new_partition_before_its_group_notices_is_not_missed(world: BrokerWorld) -> None:
    """`latest` applies only to topics new to the group, as in Apache Kafka 4.4."""
    world.create_topic("t", 1)
    append(world, "t", 5)
    member = ShareClient(world)
    member.join("t")
    assert member.acquire(place(world)) == [], "latest"
    world.folder.metadata.create_partitions({"t": 2})
    append(world, "t", 3, partition=1)
    assert member.heartbeat().error_code == NONE
    assert member.acquire(place(world, 1)) == [(0, 2, 1)]


# -- crashes

Prepare = Callable[[], tuple[BrokerWorld, ShareClient]]


def after_crashes(
    prepare: Prepare, act: Callable[[BrokerWorld, ShareClient], object]
) -> Iterator[tuple[BrokerWorld, ShareClient]]:
    for step in range(1, 100):
        world, member = prepare()
        world.fs.crash_at = world.fs.steps + step
        try:
            act(world, member)
        except SimulatedCrash:
            world.crash()
            member.reconnect()
            yield world, member
        else:
            assert step > 1, "nothing was written"
            return
    raise AssertionError("it never ends")


def stage_of(world: BrokerWorld, group_id: str = "g") -> str:
    if not world.services.groups.coordinator.partitions.count:
        return "no group"
    partition = world.services.groups.coordinator.partitions.get(group_partition_for(group_id, 50))
    group = partition.shard.share_group(group_id)
    if group is None or group.state_partitions is None:
        return "no group"
    return "initializing" if group.initializing else "initialized"


def test_a_crash_at_any_point_of_the_first_heartbeat() -> None:
    """One of the points is between the records of the planned and the finished initialisation."""
    seen: Counter[str] = Counter()
    for world, member in after_crashes(lambda: joining(a_world()), lambda _world, member: member.join("t")):
        seen[stage_of(world)] += 1
        assert member.join("t") == {"t": [0, 1]}
        assert stage_of(world) == "initialized"
        assert member.acquire(place(world)) == [(0, 9, 1)]
        assert member.acknowledge(place(world), (0, 9, ACCEPT)) is NONE
        world.crash()
        member.reconnect()
        assert member.heartbeat().error_code == NONE
        assert member.acquire(place(world)) == []
    assert seen.keys() == {"no group", "initializing"}


def joining(world: BrokerWorld) -> tuple[BrokerWorld, ShareClient]:
    return world, ShareClient(world)


def half_done(world: BrokerWorld) -> tuple[BrokerWorld, ShareClient]:
    """Let a member finish the first five records of partition 0."""
    member = ShareClient(world)
    member.join("t")
    assert member.acquire(place(world)) == [(0, 9, 1)]
    assert member.acknowledge(place(world), (0, 4, ACCEPT)) is NONE
    return world, member


def test_a_crash_at_any_point_of_the_heartbeat_that_finds_new_partitions() -> None:
    def grow() -> tuple[BrokerWorld, ShareClient]:
        world, member = half_done(a_world())
        world.folder.metadata.create_partitions({"t": 3})
        return world, member

    seen: Counter[str] = Counter()
    for world, member in after_crashes(grow, lambda _world, member: member.heartbeat()):
        seen[stage_of(world)] += 1
        assert member.heartbeat().error_code == NONE
        (row,) = member.describe().members
        assert row.assignment.topic_partitions[0].partitions == [0, 1, 2]
        assert member.acquire(place(world)) == [(5, 9, 1)]
    assert seen.keys() == {"initializing", "initialized"}


def test_a_crash_at_any_point_of_a_topics_deletion() -> None:
    """No trace is left in the group or share coordinator; a new topic of the name starts over."""

    def delete(world: BrokerWorld, _member: ShareClient) -> None:
        world.folder.metadata.delete_topics(["t"])
        world.clock.run_until_idle()

    for world, member in after_crashes(lambda: half_done(a_world()), delete):
        world.clock.run_until_idle()
        assert state_epochs(world) == set()
        group = world.services.groups.coordinator.partitions.get(group_partition_for("g", 50)).shard.share_group("g")
        assert group is not None
        assert not group.initialized
        assert member.heartbeat().error_code == NONE
        assert member.describe().members[0].assignment.topic_partitions == []
        world.create_topic("t", 1)
        append(world, "t", 3)
        assert member.assigned(member.heartbeat()) == {"t": [0]}
        assert member.acquire(place(world)) == [(0, 2, 1)]
