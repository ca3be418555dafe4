"""The broker process that serves as a test's cluster, or a node in front of a cluster."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from confluent_kafka.admin import AdminClient

from devtools.clients.admin import QUIET
from devtools.kafka.apache_kafka import ApacheKafka
from devtools.ports import free_port
from shareq.cluster.node.state_topics import STATES
from tests.interop.support.broker_under_test import APACHE_JVM, Kind
from tests.interop.support.node_under_test import NODE_CLUSTER, Cluster, NodeProcess, cluster_of, of_clusters
from tests.interop.support.our_process import OurProcess
from tests.support.waiting import until

_NODE_ID = "0"  # as the tests have it
# A broker that stopped may register again after a shorter time than nine seconds; everything else is the broker's own.
_APACHE = {"broker.heartbeat.interval.ms": "500", "broker.session.timeout.ms": "2000"}
_STATE_PARTITIONS: Final = "share.coordinator.state.topic.num.partitions"
_BY_DESIGN: Final = {
    "Could not find a coordinator with type TRANSACTION": (
        "needs transactions: a node refuses these, and names the cluster's addresses"
    ),
    "Expected GroupIdNotFoundException, but got PolicyViolationException": (
        "describes a share group as a consumer group at last: a node refuses that, where a broker does not find it"
    ),
    "=DYNAMIC_DEFAULT_BROKER_CONFIG": (
        "sets a property of all brokers: a node has that set in its cluster, and does not count it for itself"
    ),
}
"""The differences by design between a node and a broker, by a part of the failure text of the tests that meet them."""
_OF_THE_CLUSTER: Final = "__consumer_offsets"
"""The topic that a cluster keeps from one test to the next."""


class OneBroker:
    """A broker of node id 0 with its own port and data folder, which `remove` deletes."""

    def __init__(self, folder: Path, process: OurProcess | ApacheKafka | NodeProcess) -> None:
        self._folder = folder
        self._process = process
        self.start()

    @property
    def port(self) -> int:
        return self._process.port

    @property
    def state(self) -> dict[str, str] | None:
        """Return where a node keeps the content of `__share_group_state`; None for a broker."""
        if isinstance(self._process, NodeProcess):
            return {"cluster": f"127.0.0.1:{self._process.cluster.port}", "topic": STATES}
        return None

    def start(self) -> None:
        """Start the process, also after `stop`, and wait for the first answer. Raise RuntimeError if none comes."""
        try:
            self._process.start()
        except RuntimeError:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise

    def stop(self) -> None:
        self._process.stop()

    def remove(self) -> None:
        self._process.kill()
        shutil.rmtree(self._folder, ignore_errors=True)


class Brokers:
    """Successive brokers of one kind.

    Nodes share one cluster, emptied of the previous node's topics, until a test asks for other properties of it.
    """

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self._cluster: Cluster | None = None
        self._folder: Path | None = None
        self._settings: Mapping[str, str] = {}
        self._numbers = itertools.count()

    def new(self, settings: Mapping[str, str], features: Mapping[str, int]) -> OneBroker:
        """Return a running broker. The test's `settings` override; `features` are levels by name."""
        folder = _folder(self._kind)
        levels = [word for name, level in features.items() for word in ("--feature", f"{name}={level}")]
        match self._kind:
            case "ours":
                return OneBroker(folder, OurProcess(folder, {"node.id": _NODE_ID, **settings}, options=levels))
            case "apache":
                return OneBroker(folder, _apache(folder, settings, levels))
            case "node":
                own = {
                    "node.id": _NODE_ID,
                    "shareq.cluster.slots": settings.get(_STATE_PARTITIONS, "3"),
                    "shareq.cluster.group": f"__shareq-{next(self._numbers)}",  # the node before was killed
                }
                cluster = self._empty_cluster(of_clusters(settings))
                node = NodeProcess(folder, {**own, **settings}, free_port(), APACHE_JVM, cluster=cluster)
                return OneBroker(folder, node)

    def why_not(self, features: Mapping[str, int]) -> str | None:
        """Return why this kind of broker cannot have these feature levels; None if it can."""
        if self._kind != "node" or not features:
            return None
        asked = ", ".join(f"{name}={level}" for name, level in sorted(features.items()))
        return f"asks for {asked}: a node has no levels to choose, and always share groups"

    def why_otherwise(self, failure: str) -> str | None:
        """Return the node's difference by design that made a test fail; None if there is none."""
        if self._kind != "node":
            return None
        return next((why for part, why in _BY_DESIGN.items() if part in failure), None)

    def close(self) -> None:
        if self._cluster is not None and self._folder is not None:
            self._cluster.kill()
            shutil.rmtree(self._folder, ignore_errors=True)
        self._cluster = None

    def _empty_cluster(self, settings: Mapping[str, str]) -> Cluster:
        if self._cluster is not None and settings == self._settings:
            _delete_topics(f"127.0.0.1:{self._cluster.port}")
            return self._cluster
        self.close()
        self._settings, self._folder = settings, _folder("cluster")
        cluster = cluster_of(NODE_CLUSTER, self._folder / "cluster", settings, APACHE_JVM)
        self._cluster = cluster
        cluster.start()
        return cluster


def _folder(name: str) -> Path:
    return Path(tempfile.mkdtemp(prefix=f"shareq-kafka-tests-{name}-"))


def _delete_topics(bootstrap: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap, **QUIET})

    def left() -> list[str]:
        return [name for name in admin.list_topics(timeout=20).topics if name != _OF_THE_CLUSTER]

    if names := left():
        for deleted in admin.delete_topics(names).values():
            deleted.result(20)
        until(lambda: not left())


def _apache(folder: Path, settings: Mapping[str, str], levels: list[str]) -> ApacheKafka:
    port, controller = free_port(), free_port()
    address = f"PLAINTEXT://127.0.0.1:{port}"
    own = {
        "node.id": _NODE_ID,
        "listeners": f"{address},CONTROLLER://127.0.0.1:{controller}",
        "advertised.listeners": address,
        "controller.quorum.voters": f"{_NODE_ID}@127.0.0.1:{controller}",
    }
    return ApacheKafka(folder, {**_APACHE, **own, **settings}, APACHE_JVM, port, levels)
