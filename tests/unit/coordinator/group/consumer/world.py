from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from shareq.coordinator.group.consumer.group import ConsumerGroup
from shareq.coordinator.group.consumer_groups import ConsumerGroupLimits
from shareq.coordinator.group.groups import Client
from shareq.coordinator.group.serde import GROUP_SERDE
from shareq.coordinator.group.shard import GroupCoordinatorSettings, GroupCoordinatorShard
from shareq.coordinator.shard import at_once
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatRequestTopicPartitions,
    ConsumerGroupHeartbeatResponse,
)
from tests.unit.coordinator.support import Log, Settings, Time, Topics

GROUP = "g"
CLIENT = Client("client", "/127.0.0.1")
REBALANCE_MS = 60_000
SESSION_MS = 45_000
INTERVAL_MS = 1_000

Parts = Mapping[str, set[int]]


class ConsumerWorld:
    """A shard with the group under test, its log, topics and clock."""

    def __init__(self, topics: Topics | None = None, limits: ConsumerGroupLimits | None = None) -> None:
        self.time = Time()
        self.topics = topics or Topics(foo=4)
        self.settings = Settings()
        coordinator = GroupCoordinatorSettings(consumer=limits or ConsumerGroupLimits())
        self.log = Log(
            lambda: GroupCoordinatorShard(self.topics, self.settings, self.time.wall_ms, coordinator),
            GROUP_SERDE,
            self.time,
        )
        self.visible: Callable[[str], bool] = lambda _topic: True

    @property
    def group(self) -> ConsumerGroup:
        group = self.log.shard.consumer.group(GROUP)
        assert group is not None
        return group

    def send(
        self, request: ConsumerGroupHeartbeatRequest, version: int = 1, client: Client = CLIENT
    ) -> ConsumerGroupHeartbeatResponse:
        shard = self.log.shard
        return self.log.run(at_once(shard.consumer.heartbeat(request, version, client, self.visible, self.time.now_ms)))

    def join(
        self,
        member_id: str,
        topics: Sequence[str] | None = ("foo",),
        *,
        regex: str | None = None,
        instance: str | None = None,
        assignor: str | None = None,
        rack: str | None = None,
        group_id: str = GROUP,
        client: Client = CLIENT,
    ) -> ConsumerGroupHeartbeatResponse:
        request = ConsumerGroupHeartbeatRequest(
            group_id=group_id,
            member_id=member_id,
            member_epoch=0,
            instance_id=instance,
            rack_id=rack,
            rebalance_timeout_ms=REBALANCE_MS,
            subscribed_topic_names=None if topics is None else list(topics),
            subscribed_topic_regex=regex,
            server_assignor=assignor,
            topic_partitions=[],
        )
        return self.send(request, client=client)

    def beat(
        self,
        member_id: str,
        epoch: int | None = None,
        owned: Parts | None = None,
        *,
        topics: Sequence[str] | None = None,
        regex: str | None = None,
        instance: str | None = None,
        rebalance_ms: int = -1,
        group_id: str = GROUP,
    ) -> ConsumerGroupHeartbeatResponse:
        request = ConsumerGroupHeartbeatRequest(
            group_id=group_id,
            member_id=member_id,
            member_epoch=self.group.current_of(member_id).member_epoch if epoch is None else epoch,
            instance_id=instance,
            rebalance_timeout_ms=rebalance_ms,
            subscribed_topic_names=None if topics is None else list(topics),
            subscribed_topic_regex=regex,
            topic_partitions=None if owned is None else self.wire(owned),
        )
        return self.send(request)

    def leave(self, member_id: str, epoch: int = -1, instance: str | None = None) -> ErrorCode:
        request = ConsumerGroupHeartbeatRequest(GROUP, member_id, epoch, instance)
        return ErrorCode(self.send(request).error_code)

    def wire(self, owned: Parts) -> list[ConsumerGroupHeartbeatRequestTopicPartitions]:
        return [
            ConsumerGroupHeartbeatRequestTopicPartitions(self.topic_id(name), sorted(partitions))
            for name, partitions in owned.items()
        ]

    def topic_id(self, name: str) -> bytes:
        topic = self.topics.topic(name)
        assert topic is not None
        return topic.topic_id

    def reported(self, response: ConsumerGroupHeartbeatResponse) -> dict[str, set[int]] | None:
        """Return the assignment of an answer by topic name, or None if it is unchanged."""
        assert response.error_code == ErrorCode.NONE, response.error_message
        if response.assignment is None:
            return None
        return {self.name(t.topic_id): set(t.partitions) for t in response.assignment.topic_partitions}

    def name(self, topic_id: bytes) -> str:
        topic = self.topics.topic_by_id(topic_id)
        return "?" if topic is None else topic.name

    def has(self, member_id: str) -> dict[str, set[int]]:
        return {self.name(t): set(partitions) for t, partitions in self.group.current_of(member_id).assigned.items()}

    def settle(self, *member_ids: str, rounds: int = 6) -> None:
        """Send heartbeats of members that follow their answers at once."""
        for _ in range(rounds):
            self.log.advance(INTERVAL_MS)
            for member_id in member_ids:
                self.beat(member_id, owned=self.has(member_id))
