"""The coordinators of groups and transactional ids: the leaders of their partitions of an internal topic.

The first request for a coordinator creates the topic. State is kept per partition, not per broker: a new leader loads
what was persisted, and state that was in memory only is lost.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from shareq.protocol.errors import ErrorCode
from tests.support.cluster.broker import Led, SimulatedBroker
from tests.support.cluster.image import NO_LEADER
from tests.support.cluster.topic_names import OFFSETS, TRANSACTIONS

if TYPE_CHECKING:
    from tests.support.cluster.cluster import SimulatedCluster

PARTITIONS = 5
"""The number of partitions of each of the two topics; Kafka has 50."""


class CoordinatorKind(Enum):
    """The kind of a key; the value is FindCoordinator's key type."""

    GROUP = 0
    TRANSACTION = 1


_TOPICS = {CoordinatorKind.GROUP: OFFSETS, CoordinatorKind.TRANSACTION: TRANSACTIONS}


class Coordinators:
    def __init__(self, cluster: SimulatedCluster) -> None:
        self._cluster = cluster
        self._being_made: set[str] = set()

    def owner(self, broker: SimulatedBroker, kind: CoordinatorKind, key: str) -> int:
        """Return the coordinating broker in the view of `broker`, or NO_LEADER."""
        topic = broker.topic(_TOPICS[kind])
        if topic is None:
            self._make(_TOPICS[kind])
            return NO_LEADER
        return topic.partitions[slot_of(key)].leader

    def led(self, broker: SimulatedBroker, kind: CoordinatorKind, key: str) -> Led | ErrorCode:
        """Return the partition that holds the key's state, or NOT_COORDINATOR."""
        led = broker.led(broker.topic(_TOPICS[kind]), slot_of(key))
        return ErrorCode.NOT_COORDINATOR if isinstance(led, ErrorCode) else led

    def _make(self, name: str) -> None:
        cluster = self._cluster
        if name in self._being_made or name in cluster.controller.image.topics:
            return
        self._being_made.add(name)

        def make() -> None:
            self._being_made.discard(name)
            if name not in cluster.controller.image.topics:
                factor = min(3, len(cluster.controller.image.live))
                configs = {"cleanup.policy": "compact", "compression.type": "producer", "segment.bytes": "104857600"}
                cluster.create_topic(name, PARTITIONS, factor, configs)

        clock = cluster.env.clock
        clock.call_at(clock.now_ms() + cluster.settings.coordinator_topic_ms, make)


def slot_of(key: str) -> int:
    """Return the partition of a group id or transactional id: Java's hash of it."""
    value = 0
    for unit in key.encode("utf-16-be").hex(" ", 2).split():
        value = (31 * value + int(unit, 16)) & 0xFFFFFFFF
    return (value & 0x7FFFFFFF) % PARTITIONS
