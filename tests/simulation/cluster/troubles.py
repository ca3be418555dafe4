"""Faults between nodes and the brokers of a simulated cluster, caused at random by seed."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Final

from shareq.protocol.primitives import Message
from tests.support.cluster.cluster import SimulatedCluster


def heal(cluster: SimulatedCluster, *nodes: str) -> None:
    for node in nodes:
        cluster.heal(node)
    cluster.faults.delays.clear()
    for broker in cluster.brokers:
        if cluster.is_running(broker):
            cluster.release_news(broker)


def resume(cluster: SimulatedCluster) -> None:
    for broker in cluster.brokers:
        if cluster.is_dead(broker):
            cluster.start(broker)
        elif not cluster.is_running(broker):
            cluster.resume(broker)


class Troubles:
    """The faults of one node. `lost` are the kinds of requests that may be lost, or their answers."""

    def __init__(self, cluster: SimulatedCluster, rng: Random, node: str, lost: Sequence[type[Message]]) -> None:
        self._cluster: Final = cluster
        self._rng: Final = rng
        self._node: Final = node
        self._lost: Final = lost
        self._brokers: Final = tuple(cluster.brokers)

    def lose(self) -> None:
        lose = self._rng.choice([self._cluster.lose_answer, self._cluster.lose_request])
        lose(self._node, self._rng.choice(self._brokers), self._rng.choice(self._lost))

    def cut(self) -> None:
        self._cluster.cut(self._node, self._rng.choice(self._brokers))

    def delay(self) -> None:
        self._cluster.delay(self._node, self._rng.choice(self._brokers), self._rng.choice([20, 400, 2_000]))

    def hold_news(self) -> None:
        self._cluster.hold_news(self._rng.choice(self._brokers))

    def pause(self) -> None:
        broker = self._rng.choice(self._brokers)
        if all(map(self._cluster.is_running, self._brokers)):
            self._rng.choice([self._cluster.pause, self._cluster.kill])(broker)

    def heal(self) -> None:
        heal(self._cluster, self._node)

    def resume(self) -> None:
        resume(self._cluster)
