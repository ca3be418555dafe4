"""The cluster that keeps everything: three Apache Kafka brokers, or shareq itself where there is no Java."""

from __future__ import annotations

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, Protocol

from confluent_kafka.admin import AdminClient

from devtools.kafka import apache_kafka
from devtools.kafka.apache_kafka import ApacheKafka, new_cluster_id, small_jvm, without_share_groups
from devtools.ports import free_port
from examples.flights_demo.broker import Shareq

OURS: Final = "ours"
BROKERS: Final = (1, 2, 3)
STARTS_S: Final = 180.0
_JVM: Final = small_jvm(128, 384)
# Any broker may be missing. Short sessions: how soon a killed one is missed.
_SETTINGS: Final = {
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "offsets.topic.replication.factor": "3",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "transaction.state.log.num.partitions": "3",
    "broker.heartbeat.interval.ms": "500",
    "broker.session.timeout.ms": "3000",
    "controller.quorum.election.timeout.ms": "500",
    "controller.quorum.fetch.timeout.ms": "1000",
    "replica.lag.time.max.ms": "3000",
}


class Cluster(Protocol):
    """A cluster as the demo needs it."""

    @property
    def name(self) -> str: ...

    @property
    def bootstrap(self) -> str: ...

    @property
    def replicas(self) -> int: ...

    def start(self) -> None: ...

    def kill_broker(self, topic: str) -> str:
        """Kill the broker that leads most of the topic, and return a description of that."""

    def stop(self) -> None: ...


def why_unavailable(kind: str) -> str | None:
    """Return the reason why such a cluster cannot run here, None if it can."""
    return None if kind == OURS else apache_kafka.why_unavailable(kind)


def cluster_of(kind: str, folder: Path) -> Cluster:
    """Return a cluster of that kind, not started."""
    return OurCluster(folder) if kind == OURS else ApacheCluster(folder, kind)


class ApacheCluster:
    """Three brokers of a version, each a controller, too. None has share groups of its own."""

    def __init__(self, folder: Path, version: str) -> None:
        self.name = f"three brokers of Apache Kafka {version}"
        self.replicas = len(BROKERS)
        controllers = {number: free_port() for number in BROKERS}
        voters = ",".join(f"{number}@127.0.0.1:{port}" for number, port in controllers.items())
        cluster_id = new_cluster_id()
        without = without_share_groups(version)
        self._brokers: dict[int, ApacheKafka] = {}
        for number in BROKERS:
            port = free_port()
            settings = {
                **_SETTINGS,
                "node.id": str(number),
                "controller.quorum.voters": voters,
                "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controllers[number]}",
            }
            where = folder / f"broker-{number}"
            self._brokers[number] = ApacheKafka(where, settings, _JVM, port, without, cluster_id, version=version)

    @property
    def bootstrap(self) -> str:
        return ",".join(broker.address for broker in self._brokers.values())

    def start(self) -> None:
        with ThreadPoolExecutor(len(BROKERS)) as pool:
            list(pool.map(lambda broker: broker.start(STARTS_S), self._brokers.values()))
        self._wait_for_all()

    def kill_broker(self, topic: str) -> str:
        partitions = self._admin().list_topics(topic, timeout=10).topics[topic].partitions.values()
        leader, number = Counter(each.leader for each in partitions).most_common(1)[0]
        self._brokers[leader].kill()
        return f"broker {leader}, leader of {number} of {len(partitions)} partitions, killed with SIGKILL"

    def stop(self) -> None:
        for broker in self._brokers.values():
            broker.kill()

    def _admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})

    def _wait_for_all(self) -> None:
        """Wait until the controller knows every broker: replicas can be placed then."""
        admin, by = self._admin(), time.monotonic() + STARTS_S
        while len(admin.list_topics(timeout=10).brokers) < len(BROKERS):
            if time.monotonic() > by:
                raise RuntimeError("the brokers did not find each other")
            time.sleep(0.1)


class OurCluster:
    """A broker of shareq; its nodes use only requests that Apache Kafka has, too. It is restarted after a kill."""

    def __init__(self, folder: Path) -> None:
        self.name = "shareq as the cluster"
        self.replicas = 1
        where = folder / "broker"
        where.mkdir()
        self._broker = Shareq(where, {"group.initial.rebalance.delay.ms": "0"})

    @property
    def bootstrap(self) -> str:
        return self._broker.address

    def start(self) -> None:
        self._broker.start(STARTS_S)

    def kill_broker(self, topic: str) -> str:
        del topic
        self._broker.kill()
        took_s = self._broker.start(STARTS_S)
        return f"the cluster's broker killed with SIGKILL, and started again in {took_s * 1000:.0f} ms"

    def stop(self) -> None:
        self._broker.stop()
