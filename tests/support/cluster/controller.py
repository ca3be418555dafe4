"""The controller: topics, their partitions' leaders, and the live brokers. It keeps the replicas' common logs.

Every change publishes a new `Image`; each broker decides when to apply it. Leaders are elected from the brokers of the
ISR that are not fenced (KRaft's ReplicationControlManager); a test may elect others, and say how much of the log the
new leader has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from shareq.broker.foundation.environment import Environment
from tests.support.cluster.image import NO_LEADER, Image, PartitionState, TopicState
from tests.support.cluster.log import ClusterLog

LogKey = tuple[bytes, int]
"""Topic id and partition."""


class Deposed(NamedTuple):
    broker: int
    key: LogKey
    log: ClusterLog


class Controller:
    """The owner of image and logs. `publish` is called after every change, `on_deposed` before it."""

    def __init__(
        self, env: Environment, publish: Callable[[Image], None], on_deposed: Callable[[Deposed], None]
    ) -> None:
        self._env = env
        self._publish = publish
        self._on_deposed = on_deposed
        self.image = Image()
        self.logs: dict[LogKey, ClusterLog] = {}

    # -- topics

    def create_topic(
        self, name: str, assignment: list[tuple[int, ...]], configs: Mapping[str, str], topic_id: bytes | None = None
    ) -> TopicState:
        """Create a topic; the first live replica of each partition leads it, in epoch 0."""
        live = self.image.live
        partitions = tuple(
            PartitionState(next((r for r in replicas if r in live), NO_LEADER), 0, replicas, replicas)
            for replicas in assignment
        )
        topic = TopicState(name, topic_id or self._env.random_uuid(), partitions, dict(configs))
        for partition in range(len(partitions)):
            log = self.logs[topic.topic_id, partition] = ClusterLog()
            log.begin_epoch(0)
        self._change(self.image.with_topic(topic))
        return topic

    def assign(self, partitions: int, replication_factor: int) -> list[tuple[int, ...]]:
        """Return replicas for partitions: live brokers in turn, from a random one."""
        live = self.image.live
        first = self._env.rng.randrange(len(live))
        return [
            tuple(live[(first + partition + each) % len(live)] for each in range(replication_factor))
            for partition in range(partitions)
        ]

    def grow_topic(self, name: str, partitions: int) -> None:
        topic = self.image.topics[name]
        known = len(topic.partitions)
        assignment = self.assign(partitions - known, len(topic.partitions[0].replicas))
        added = tuple(PartitionState(replicas[0], 0, replicas, replicas) for replicas in assignment)
        for number in range(known, partitions):
            self.logs[topic.topic_id, number] = ClusterLog()
        self._change(self.image.with_topic(topic._replace(partitions=topic.partitions + added)))

    def delete_topic(self, name: str) -> None:
        topic = self.image.topics[name]
        self._change(self.image.without_topic(name))
        for partition in range(len(topic.partitions)):
            del self.logs[topic.topic_id, partition]

    def set_configs(self, name: str, configs: Mapping[str, str]) -> None:
        self._change(self.image.with_topic(self.image.topics[name]._replace(configs=dict(configs))))

    # -- partitions

    def state(self, key: LogKey) -> PartitionState | None:
        topic = self.image.by_id(key[0])
        return None if topic is None else topic.partitions[key[1]]

    def elect(self, key: LogKey, leader: int, keep_to: int | None = None) -> None:
        """Elect a leader in the next epoch. Its log ends at `keep_to` if given, otherwise where the old one's does.

        Below the high watermark that is an unclean election.
        """
        state = self.state(key)
        assert state is not None
        log = self.logs[key]
        if state.leader not in (NO_LEADER, leader):
            self._on_deposed(Deposed(state.leader, key, log.copy()))
        if keep_to is not None:
            log.truncate(keep_to)
        if leader != NO_LEADER:
            log.begin_epoch(state.epoch + 1)
        isr = (leader,) if leader not in (NO_LEADER, *state.isr) else state.isr
        self._put(key, state._replace(leader=leader, epoch=state.epoch + 1, isr=isr))

    def set_isr(self, key: LogKey, isr: tuple[int, ...]) -> None:
        state = self.state(key)
        assert state is not None
        self._put(key, state._replace(isr=isr))

    def _put(self, key: LogKey, state: PartitionState) -> None:
        topic = self.image.by_id(key[0])
        assert topic is not None
        partitions = (*topic.partitions[: key[1]], state, *topic.partitions[key[1] + 1 :])
        self._change(self.image.with_topic(topic._replace(partitions=partitions)))

    # -- brokers

    def fence(self, broker: int) -> None:
        """Fence a broker: its partitions go to another member of the ISR, or have no leader without one."""
        self._change(self.image._replace(live=tuple(each for each in self.image.live if each != broker)))
        for key, state in self._partitions():
            others = tuple(each for each in state.isr if each != broker)
            if broker in state.isr and others:
                self.set_isr(key, others)
            if state.leader == broker:
                self.elect(key, next((each for each in others if each in self.image.live), NO_LEADER))

    def unfence(self, broker: int) -> None:
        """Unfence a broker: it joins the ISR of its replicas, and leads those without a leader."""
        self._change(self.image._replace(live=tuple(sorted({*self.image.live, broker}))))
        for key, state in self._partitions():
            if broker not in state.replicas:
                continue
            if broker not in state.isr:
                self.set_isr(key, (*state.isr, broker))
            if state.leader == NO_LEADER:
                self.elect(key, broker)

    def _partitions(self) -> list[tuple[LogKey, PartitionState]]:
        return [
            ((topic.topic_id, number), state)
            for topic in self.image.topics.values()
            for number, state in enumerate(topic.partitions)
        ]

    def _change(self, image: Image) -> None:
        self.image = image
        self._publish(image)
