"""The two ends of a move: one machine, two nodes before Apache Kafka 3.9.1, Apache Kafka 4.3.1; all are processes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Protocol

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from devtools.clients.admin import QUIET
from devtools.kafka.apache_kafka import ApacheKafka, small_jvm
from devtools.ports import free_port
from tests.interop.support.broker_under_test import APACHE_SETTINGS
from tests.interop.support.node_under_test import cluster_of
from tests.interop.support.our_process import OurProcess

MACHINE, NODES, APACHE = "one machine", "two nodes before 3.9.1", "Apache Kafka 4.3.1"
NODES_BEFORE_OURS: Final = "two nodes before one machine"
"""The side of nodes before a shareq broker, with which the campaign can be tried without Java."""
STARTS_S: Final = 180.0
FIRST_NODE: Final = 1_000_001
OWNER_S: Final = 1.0
"""The seconds after which a topic without an owner counts as missing."""
_JVM: Final = small_jvm(128, 384)
_GROUPS: Final = {"group.share.delivery.count.limit": "10"}
"""The properties of groups: a high delivery limit, since each kill may cost an attempt, and given-up records are not
moved.
"""
_NODE: Final = {**_GROUPS, "shareq.cluster.slots": "8"}


class Side(Protocol):
    """One side of a move. `bootstrap` is for share groups, `cluster` for consumer groups and transactions."""

    @property
    def bootstrap(self) -> str: ...

    @property
    def cluster(self) -> str: ...

    @property
    def victims(self) -> Mapping[str, Callable[[str], None]]:
        """The functions that kill a process and start it again, by name. Each takes the topic that moves."""

    def start(self) -> None: ...

    def end(self) -> None: ...


class _OneBroker:
    def __init__(self, process: OurProcess | ApacheKafka) -> None:
        self._process = process

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self._process.port}"

    @property
    def cluster(self) -> str:
        return self.bootstrap

    @property
    def victims(self) -> Mapping[str, Callable[[str], None]]:
        return {"broker": lambda _: _killed(self._process)}

    def start(self) -> None:
        self._process.start(STARTS_S)

    def end(self) -> None:
        self._process.kill()


class _Nodes:
    def __init__(self, folder: Path, kind: str) -> None:
        self._broker = cluster_of(kind, folder / "cluster", _of_broker(kind), _JVM)
        self._nodes: list[OurProcess] = []
        for number in range(2):
            where = folder / f"node-{number}"
            where.mkdir()
            settings = {**_NODE, "node.id": str(FIRST_NODE + number)}
            self._nodes.append(OurProcess(where, settings, free_port(), ["--cluster", self.cluster], has_data=False))

    @property
    def bootstrap(self) -> str:
        return ",".join(f"127.0.0.1:{node.port}" for node in self._nodes)

    @property
    def cluster(self) -> str:
        return f"127.0.0.1:{self._broker.port}"

    @property
    def victims(self) -> Mapping[str, Callable[[str], None]]:
        return {"node": lambda topic: _killed(self._owner(topic)), "broker": lambda _: _killed(self._broker)}

    def start(self) -> None:
        self._broker.start(STARTS_S)
        for node in self._nodes:
            node.start(STARTS_S)

    def end(self) -> None:
        for node in self._nodes:
            node.kill()
        self._broker.kill()

    def _owner(self, topic: str) -> OurProcess:
        """Return the node that leads the topic according to the nodes; any node if none is named."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap, **QUIET})
        by = time.monotonic() + OWNER_S
        while time.monotonic() < by:
            try:
                found = admin.list_topics(topic, timeout=OWNER_S).topics[topic].partitions
            except (KafkaException, KeyError):
                found = {}
            leaders = {each.leader - FIRST_NODE for each in found.values()}
            if len(leaders) == 1 and min(leaders) >= 0:
                return self._nodes[leaders.pop()]
            time.sleep(0.05)
        return self._nodes[0]


def side_of(kind: str, folder: Path) -> Side:
    folder.mkdir(parents=True)
    match kind:
        case "one machine":
            return _OneBroker(OurProcess(folder, {**_GROUPS, "group.initial.rebalance.delay.ms": "0"}))
        case "Apache Kafka 4.3.1":
            return _OneBroker(ApacheKafka(folder, {**APACHE_SETTINGS, **_GROUPS}, _JVM, version="4.3.1"))
        case _:
            return _Nodes(folder, "ours" if kind == NODES_BEFORE_OURS else "3.9.1")


def _of_broker(kind: str) -> dict[str, str]:
    settings = {key: value for key, value in APACHE_SETTINGS.items() if not key.startswith(("group.", "share."))}
    return {} if kind == "ours" else settings


def _killed(process: OurProcess | ApacheKafka) -> None:
    process.kill()
    process.start(STARTS_S)
