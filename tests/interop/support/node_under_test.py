"""A node in front of a cluster of one broker, in the place of the broker that interop tests use.

The cluster is Apache Kafka of the version in NODE_CLUSTER, without share groups of its own, or `ours`: shareq, where
there is no Java.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from devtools.kafka.apache_kafka import ApacheKafka, why_unavailable, without_share_groups
from devtools.ports import free_port
from tests.interop.support.our_process import OurProcess

NODE_CLUSTER: Final = os.environ.get("NODE_CLUSTER") or "4.3.1"
OURS: Final = "ours"

_OF_CLUSTERS: Final = (
    "auto.create.",
    "broker.heartbeat.",
    "broker.session.",
    "compression.type",
    "delete.topic.",
    "group.consumer.",
    "group.initial.",
    "group.max.",
    "group.min.",
    "log.",
    "message.",
    "min.insync.",
    "num.partitions",
    "offsets.",
    "replica.",
    "transaction",
)
"""The beginnings of properties about data or other groups, which go to the cluster; the node gets all others."""
_NODE: Final = {
    "shareq.cluster.slots": "4",
    "shareq.cluster.heartbeat.interval.ms": "200",
    "shareq.dlq.topics": "dlq.*",
    "errors.deadletterqueue.auto.create.topics.enable": "true",
}
_APACHE: Final = {"auto.create.topics.enable": "true"}

Cluster = OurProcess | ApacheKafka


class NodeProcess:
    """A node as a child process, and its cluster, which keeps running across `stop`, `kill` and `start`.

    `settings` are a broker's; each goes to the process that it concerns. `cluster` is a running cluster to use.
    """

    def __init__(
        self,
        folder: Path,
        settings: Mapping[str, str],
        port: int,
        jvm: Sequence[str],
        *,
        options: Sequence[str] = (),
        cluster: Cluster | None = None,
    ) -> None:
        of_node = {key: value for key, value in settings.items() if not key.startswith(_OF_CLUSTERS)}
        self.port = port
        self.cluster: Final = cluster or cluster_of(NODE_CLUSTER, folder / "cluster", of_clusters(settings), jvm)
        self._cluster_runs = cluster is not None
        where = ["--cluster", f"127.0.0.1:{self.cluster.port}"]
        self._node = OurProcess(folder, {**_NODE, **of_node}, port, [*where, *options], has_data=False)

    @property
    def process(self) -> subprocess.Popen[bytes] | None:
        return self._node.process

    def start(self, timeout_s: float = 60) -> float:
        """Start the cluster unless it runs, then the node; return the seconds until the node's first answer."""
        if not self._cluster_runs:
            self.cluster.start()
            self._cluster_runs = True
        return self._node.start(timeout_s)

    def stop(self) -> None:
        self._node.stop()

    def kill(self) -> None:
        self._node.kill()

    def stop_cluster(self) -> None:
        self.cluster.stop()
        self._cluster_runs = False

    def log_tail(self, size: int = 4000) -> str:
        return self._node.log_tail(size)


def of_clusters(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the broker's settings that go to the cluster when a node replaces the broker."""
    return {key: value for key, value in settings.items() if key.startswith(_OF_CLUSTERS)}


def why_no_node() -> str | None:
    """Return the reason why a cluster of that kind cannot run, or None."""
    return None if NODE_CLUSTER == OURS else why_unavailable(NODE_CLUSTER)


def cluster_of(kind: str, folder: Path, settings: Mapping[str, str], jvm: Sequence[str]) -> Cluster:
    folder.mkdir(parents=True)
    if kind == OURS:
        return OurProcess(folder, {"group.initial.rebalance.delay.ms": "0", **settings})
    without = without_share_groups(kind)
    return ApacheKafka(folder, {**_APACHE, **settings}, tuple(jvm), free_port(), without, version=kind)
