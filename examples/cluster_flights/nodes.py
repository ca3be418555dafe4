"""Two nodes in front of a cluster, one of which is active while the other one waits."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from examples.cluster_flights.cluster import STARTS_S, Cluster
from examples.flights_demo.broker import Shareq

FIRST: Final = 1_000_001
COUNT: Final = 2
OWNER_WITHIN_S: Final = 60.0
# What a killed broker leaves in the hands of consumers, because its answer was lost, comes again after this time.
_SETTINGS: Final = {
    "group.share.min.record.lock.duration.ms": "1000",
    "group.share.record.lock.duration.ms": "5000",
}


class Nodes:
    """The nodes by their numbers. `start` when the cluster runs."""

    def __init__(self, folder: Path, cluster: Cluster) -> None:
        self._cluster = cluster
        self._nodes: dict[int, Shareq] = {}
        for number in range(FIRST, FIRST + COUNT):
            where = folder / f"node-{number}"
            where.mkdir()
            self._nodes[number] = Shareq(where, {**_SETTINGS, "node.id": str(number)})

    @property
    def bootstrap(self) -> str:
        return ",".join(node.address for node in self._nodes.values())

    def start(self) -> None:
        """Start the nodes in front of the cluster. RuntimeError has the output of a node that does not start."""
        for node in self._nodes.values():
            node.cluster = self._cluster.bootstrap
            node.start(STARTS_S)

    def wait_for_owner(self, topic: str) -> int:
        """Return the number of the node that has the topic's share groups, as soon as there is one."""
        by = time.monotonic() + OWNER_WITHIN_S
        while (owner := self._owner(topic)) is None:
            if time.monotonic() > by:
                raise RuntimeError(f"no node has topic {topic} after {OWNER_WITHIN_S:.0f} s")
            time.sleep(0.1)
        return owner

    def kill_owner(self, topic: str) -> str:
        """Kill the active node, and return a description of that."""
        owner = self.wait_for_owner(topic)
        self._nodes[owner].kill()
        return f"node {owner} killed with SIGKILL"

    def stop(self) -> None:
        for node in self._nodes.values():
            node.stop()

    def _owner(self, topic: str) -> int | None:
        """Return the leader that a node shows of all partitions; None while it shows none, or several."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        try:
            partitions = admin.list_topics(topic, timeout=5).topics[topic].partitions.values()
        except (KafkaException, KeyError):
            return None
        leaders = {each.leader for each in partitions}
        return leaders.pop() if len(leaders) == 1 and leaders <= self._nodes.keys() else None
