"""A consumer-group member that subscribes to thousands of topics without delaying others (KIP-848)."""

from __future__ import annotations

from collections.abc import Callable, Sized
from typing import Any

import pytest

from devtools.in_memory.mock_transport import BrokerWorld, MockConnection
from shareq.coordinator.group.consumer import heartbeat
from shareq.coordinator.group.consumer.target import assignors, draft
from shareq.coordinator.group.migration import conversions, joining, upgrade
from shareq.coordinator.record_serde import TypedRecordSerde
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from shareq.protocol.generated.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from shareq.protocol.generated.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from shareq.protocol.generated.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse
from tests.support.kafka.group_requests import consumer_heartbeat
from tests.support.worlds.counted_work import Work
from tests.unit.coordinator.group.migration.world import assignment, parts_of, subscription

TOPICS = 900
NAMES = [f"topic-{at:03}" for at in range(TOPICS)]


def world_of_topics() -> BrokerWorld:
    world = BrokerWorld()
    topics = [CreatableTopic(name, 1, 1) for name in NAMES]
    assert world.connect().call(CreateTopicsRequest(topics), 7, CreateTopicsResponse).topics
    beat(world.connect(), "other", ["topic-001"])  # makes the internal topic
    return world


def beat(
    client: MockConnection, group: str, names: list[str] | None, regex: str | None = None, member: str = "m"
) -> ConsumerGroupHeartbeatResponse:
    return client.call(request_of(group, names, regex, member), 1, ConsumerGroupHeartbeatResponse)


def request_of(
    group: str, names: list[str] | None, regex: str | None = None, member: str = "m"
) -> ConsumerGroupHeartbeatRequest:
    return consumer_heartbeat(group, member, topics=names, regex=regex, rebalance_ms=1_000)


def count_stages(monkeypatch: pytest.MonkeyPatch, work: Work) -> None:
    """Count a loop over a member's topics as that many steps, and written topics as 18 bytes each."""

    def stage(module: Any, name: str) -> None:
        monkeypatch.setattr(module, name, work.count(getattr(module, name), lambda *_: TOPICS))

    for name in ("metadata_hash", "target_record", "current_record", "reconciled"):
        stage(draft, name)
    stage(heartbeat, "_wire")
    monkeypatch.setattr(draft, "ASSIGNORS", {"uniform": work.count(assignors.assign_uniform, lambda *_: TOPICS)})
    encode: Callable[..., tuple[Sized, Sized | None]] = TypedRecordSerde.encode

    def encoded(*args: Any) -> Any:
        key, value = encode(*args)
        work.now += TOPICS if value is not None and len(value) > 10 * TOPICS else 0
        return key, value

    monkeypatch.setattr(TypedRecordSerde, "encode", encoded)


@pytest.mark.parametrize(("names", "regex"), [(NAMES, None), (None, "topic-.*")])
def test_the_first_member_of_a_group_is_decided_in_steps(
    names: list[str] | None, regex: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """9,000 topics once took 120 ms in one turn, half of it for encoding records twice."""
    world, work = world_of_topics(), Work()
    client, neighbour = world.connect(), world.connect()
    count_stages(monkeypatch, work)
    client.send(request_of("g", names, regex), 1)
    work.run(world, neighbour)
    answer = client.receive(ConsumerGroupHeartbeatResponse)
    assert answer.error_code == ErrorCode.NONE
    assert answer.assignment is not None
    assert len(answer.assignment.topic_partitions) == TOPICS
    assert max(work.ticks) <= 2 * TOPICS
    assert sum(work.ticks) in (8 * TOPICS, 9 * TOPICS), "six stages, and two or three records written once"


def test_others_of_the_same_partition_wait_and_are_answered() -> None:
    world = world_of_topics()
    first, second, other = world.connect(), world.connect(), world.connect()
    first.send(request_of("g", NAMES), 1)
    second.send(request_of("g", NAMES, member="n"), 1)
    other.send(request_of("g", ["topic-001"], member="o"), 1)
    answers = [client.receive(ConsumerGroupHeartbeatResponse) for client in (first, second, other)]
    assert [answer.error_code for answer in answers] == [ErrorCode.NONE] * 3
    assigned = [[] if answer.assignment is None else answer.assignment.topic_partitions for answer in answers]
    assert list(map(len, assigned)) == [TOPICS, 0, 0]
    group = world.services.groups.coordinator.partition("g").shard.consumer.group("g")
    assert group is not None
    assert sorted(group.members) == ["m", "n", "o"]


def test_topics_that_go_and_come_meanwhile_are_news_for_the_next_heartbeat() -> None:
    world = world_of_topics()
    client = world.connect()
    names = [*NAMES, "late"]
    client.send(request_of("g", names), 1)
    for _ in range(3):
        world.clock.run_tick()
    assert not client.frames
    world.folder.metadata.delete_topics(["topic-007"])
    world.create_topic("late")
    answer = client.receive(ConsumerGroupHeartbeatResponse)
    assert answer.error_code == ErrorCode.NONE
    world.clock.advance(10_000)
    again = beat(client, "g", names)
    assert again.member_epoch == answer.member_epoch + 1
    assert again.assignment is not None
    ids = {each.topic_id for each in again.assignment.topic_partitions}
    metadata = world.services.metadata
    existing = [topic for name in names if (topic := metadata.topic(name)) is not None]
    assert ids == {topic.topic_id for topic in existing}
    assert len(existing) == TOPICS


def join_of(
    group: str, member: str, names: list[str], *, owns: bool = False, instance: str | None = None
) -> JoinGroupRequest:
    data = subscription(names, {name: {0} for name in names} if owns else None)
    protocols = [JoinGroupRequestProtocol("range", data)]
    return JoinGroupRequest(group, 45_000, 60_000, member, instance, "consumer", protocols)


def count_join_stages(monkeypatch: pytest.MonkeyPatch, work: Work) -> None:
    """Count the stages of `count_stages`, and those of a JoinGroup alone."""
    count_stages(monkeypatch, work)
    for name in ("subscription_of", "owned_partitions"):
        counted = work.count(getattr(joining, name), lambda *_: TOPICS)
        monkeypatch.setattr(joining, name, counted)


@pytest.mark.parametrize("owns", [False, True])
def test_a_member_of_the_classic_protocol_is_decided_in_steps(owns: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """9,000 topics once took 100 ms in one turn."""
    world, work = world_of_topics(), Work()
    client, neighbour = world.connect(), world.connect()
    beat(world.connect(), "g", ["topic-001"])
    world.clock.advance(10_000)
    count_join_stages(monkeypatch, work)
    client.send(join_of("g", "classic", NAMES, owns=owns), 9)
    work.run(world, neighbour)
    answer = client.receive(JoinGroupResponse)
    assert answer.error_code == ErrorCode.NONE
    assert max(work.ticks) <= 2 * TOPICS
    assert sum(work.ticks) in (9 * TOPICS, 10 * TOPICS), "seven stages, and two or three records written once"
    synced = client.call(
        SyncGroupRequest("g", answer.generation_id, "classic", None, "consumer", "range"), 5, SyncGroupResponse
    )
    assert len(parts_of(synced.assignment)) >= TOPICS - 1


def test_others_wait_while_a_member_of_the_classic_protocol_is_decided() -> None:
    world = world_of_topics()
    client, other, neighbour = world.connect(), world.connect(), world.connect()
    beat(other, "g", ["topic-001"])
    client.send(join_of("g", "classic", NAMES), 9)
    other.send(request_of("g", ["topic-001"], member="o"), 1)
    neighbour.send(join_of("g", "third", ["topic-001"]), 9)
    joined = [each.receive(JoinGroupResponse) for each in (client, neighbour)]
    assert [answer.error_code for answer in joined] == [ErrorCode.NONE] * 2
    assert other.receive(ConsumerGroupHeartbeatResponse).error_code == ErrorCode.NONE
    group = world.services.groups.coordinator.partition("g").shard.consumer.group("g")
    assert group is not None
    assert sorted(group.members) == ["classic", "m", "o", "third"]


def test_topics_that_come_while_a_classic_member_is_decided_are_news_for_the_group() -> None:
    world = world_of_topics()
    client, other = world.connect(), world.connect()
    epoch = beat(other, "g", ["topic-001"]).member_epoch
    world.clock.advance(10_000)
    client.send(join_of("g", "classic", [*NAMES, "late"]), 9)
    for _ in range(3):
        world.clock.run_tick()
    assert not client.frames
    world.create_topic("late")
    generation = client.receive(JoinGroupResponse).generation_id
    assert generation == epoch + 1
    world.clock.advance(10_000)
    request = ConsumerGroupHeartbeatRequest("g", "m", epoch)
    assert other.call(request, 1, ConsumerGroupHeartbeatResponse).member_epoch == generation + 1


def test_a_lost_log_refuses_a_member_of_the_classic_protocol_once() -> None:
    world = world_of_topics()
    client = world.connect()
    beat(world.connect(), "g", ["topic-001"])
    client.send(join_of("g", "classic", NAMES), 9)
    world.clock.run_tick()
    assert not client.frames
    world.services.groups.coordinator.partition("g").resign()
    assert client.receive(JoinGroupResponse).error_code == ErrorCode.NOT_COORDINATOR
    world.clock.run_until_idle()
    assert not client.frames


def test_a_small_member_of_a_large_group_is_decided_in_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """All members get a new target, which once took as long as for a member with all the topics."""
    world, work = world_of_topics(), Work()
    client, neighbour = world.connect(), world.connect()
    beat(world.connect(), "g", NAMES)
    world.clock.advance(10_000)
    count_stages(monkeypatch, work)
    client.send(request_of("g", ["topic-001"], member="small"), 1)
    work.run(world, neighbour)
    assert client.receive(ConsumerGroupHeartbeatResponse).error_code == ErrorCode.NONE
    assert max(work.ticks) <= 2 * TOPICS
    assert sum(work.ticks) >= 4 * TOPICS


def world_of_a_static_member() -> BrokerWorld:
    """Return a world whose last KIP-848 member is static, so that a classic member may replace it."""
    world = world_of_topics()
    request = request_of("g", NAMES)
    request.instance_id = "i"
    assert world.connect().call(request, 1, ConsumerGroupHeartbeatResponse).error_code == ErrorCode.NONE
    world.clock.advance(10_000)
    leaves = ConsumerGroupHeartbeatRequest("g", "m", -2, instance_id="i")
    assert world.connect().call(leaves, 1, ConsumerGroupHeartbeatResponse).error_code == ErrorCode.NONE
    return world


def test_a_group_becomes_a_classic_one_in_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """9,000 topics once took 37 ms in one turn."""
    world, work = world_of_a_static_member(), Work()
    client, neighbour = world.connect(), world.connect()
    count_join_stages(monkeypatch, work)
    for module, name in ((conversions, "downgraded"), (draft.Draft, "topic_ids_of")):
        monkeypatch.setattr(module, name, work.count(getattr(module, name), lambda *_: TOPICS))
    client.send(join_of("g", "", NAMES, instance="i"), 9)
    work.run(world, neighbour)
    world.clock.advance(10_000)
    assert client.receive(JoinGroupResponse).error_code == ErrorCode.NONE
    assert max(work.ticks) <= 3 * TOPICS
    assert sum(work.ticks) >= 5 * TOPICS
    assert world.services.groups.coordinator.partition("g").shard.consumer.group("g") is None


def test_a_classic_group_becomes_another_one_in_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """9,000 topics once took 43 ms in the heartbeat's first turn."""
    world, work = world_of_a_static_member(), Work()
    client, neighbour = world.connect(), world.connect()
    client.send(join_of("g", "", NAMES, instance="i"), 9)
    world.clock.advance(10_000)
    joined = client.receive(JoinGroupResponse)
    given = [SyncGroupRequestAssignment(joined.member_id, assignment({name: {0} for name in NAMES}))]
    synced = client.call(
        SyncGroupRequest("g", joined.generation_id, joined.member_id, "i", "consumer", "range", given),
        5,
        SyncGroupResponse,
    )
    assert synced.error_code == ErrorCode.NONE
    count_stages(monkeypatch, work)
    for name in ("_member", "_assigned", "_partitions", "metadata_hash", "target_record", "current_record"):
        monkeypatch.setattr(upgrade, name, work.count(getattr(upgrade, name), lambda *_: TOPICS))
    client.send(request_of("g", NAMES, member="n"), 1)
    work.run(world, neighbour)
    assert client.receive(ConsumerGroupHeartbeatResponse).error_code == ErrorCode.NONE
    assert max(work.ticks) <= 3 * TOPICS
    assert sum(work.ticks) >= 10 * TOPICS
    group = world.services.groups.coordinator.partition("g").shard.consumer.group("g")
    assert group is not None
    assert sorted(group.members) == sorted(["n", joined.member_id])
