from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Final, NamedTuple

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from devtools.clients.admin import QUIET, configure_group, create_replicated_topic
from devtools.ports import free_port
from shareq.cluster.membership.nodes import SlotId
from shareq.cluster.membership.slots import weight
from shareq.cluster.node.routes import slot_of
from shareq.cluster.node.state_topics import STATES
from tests.campaign.cluster_kills.brokers import Brokers
from tests.campaign.cluster_kills.journal import Journals
from tests.campaign.cluster_kills.judge import Place
from tests.campaign.cluster_kills.proxy import Cuts, Proxy
from tests.interop.support.our_process import OurProcess

TOPIC: Final = "work"
GROUP: Final = "campaign"
MEMBERSHIP: Final = "__shareq"
PARTITIONS: Final = 4
CONSUMERS: Final = 4
FIRST_NODE: Final = 1_000_001
SLOTS: Final = 8
RATE: Final = 300
STARTS_S: Final = 180.0
_GROUP_CONFIGS: Final = {"share.auto.offset.reset": "earliest", "share.record.lock.duration.ms": "15000"}
_MAP: Final = re.compile(r"membership \S+: generation (\d+), (\d+) nodes, (\d+) slots here")


class Map(NamedTuple):
    generation: int
    nodes: int
    slots: int


class Scene:
    """All processes. `kind` is the cluster's: a version of Apache Kafka, or `ours`.

    With `by_proxies` both sides of a node can be cut: `cuts[node]` to the cluster, `client_cuts[node]` to its clients.
    `divided`: each node serves a part of the topics.
    """

    def __init__(
        self,
        folder: Path,
        kind: str,
        nodes: int,
        *,
        by_proxies: bool = False,
        guarded: bool = False,
        divided: bool = False,
    ) -> None:
        self.hung = 0
        self.replaced = 0
        self.topic_id = b""
        self._first_node = FIRST_NODE
        self.cuts = [Cuts() for _ in range(nodes)]
        self.client_cuts = [Cuts() for _ in range(nodes)]
        self.cluster = Brokers(folder / "cluster", kind, self.cuts, by_proxies=by_proxies, guarded=guarded)
        self.nodes: list[OurProcess] = []
        self._folder = folder
        self._by_proxies = by_proxies
        self._divided = divided
        self._proxies: list[Proxy] = []
        self._for_clients: list[int] = []
        self._journals = Journals(folder)
        self._consumers: list[subprocess.Popen[bytes]] = []
        self._lives = 0
        self._reviving = threading.Lock()
        self._goes_on = True
        self._produces = True
        self._is_flushed = False
        self._threads: list[threading.Thread] = []

    # -- life

    def start(self) -> None:
        self.cluster.start()
        create_replicated_topic(self.cluster.bootstrap, TOPIC, PARTITIONS, len(self.cluster.processes))
        self.topic_id = self.cluster.topic_id(TOPIC)
        if self._divided:
            self._first_node = first_node_for(self.state_partition, len(self.cuts))
        for number in range(len(self.cuts)):
            self.nodes.append(self._node(number))
            self.nodes[-1].start(STARTS_S)
        self.wait_for(lambda: self.owner is not None, "a node that owns the topic")
        configure_group(f"127.0.0.1:{self.nodes[0].port}", GROUP, _GROUP_CONFIGS)
        self._consumers = [self._consumer(number) for number in range(CONSUMERS)]
        self._threads = [threading.Thread(target=work) for work in (self._revive, self._produce)]
        for thread in self._threads:
            thread.start()
        self.wait_for(self._all_confirm, "first confirmations of all consumers")

    def _all_confirm(self) -> bool:
        journals = [path.read_text() for path in self._folder.glob("journal-*.txt")]
        return sum("\nC " in journal for journal in journals) == CONSUMERS

    def _node(self, number: int) -> OurProcess:
        folder = self._folder / f"node-{number}"
        folder.mkdir()
        port, for_clients = free_port(), free_port()
        shown = for_clients
        if self._by_proxies:
            self._proxies.append(Proxy(for_clients, self.client_cuts[number]))
            shown = self._proxies[-1].port
        self._for_clients.append(shown)
        settings = {
            "shareq.cluster.slots": str(SLOTS),
            "node.id": str(self._first_node + number),
            "listeners": f"PEERS://127.0.0.1:{port},CLIENTS://127.0.0.1:{for_clients}",
            "advertised.listeners": f"PEERS://127.0.0.1:{port},CLIENTS://127.0.0.1:{shown}",
            "listener.security.protocol.map": "PEERS:PLAINTEXT,CLIENTS:PLAINTEXT",
            "shareq.cluster.placement": "topic" if self._divided else "one",
        }
        where = ["--cluster", self.cluster.bootstrap_of(number)]
        return OurProcess(folder, settings, port, where, has_data=False)

    def produce_again(self) -> None:
        self._produces = True

    def replace_consumers(self) -> None:
        self.replaced += 1
        with (self._folder / f"stood-still-{self.replaced}.txt").open("ab") as file:
            for _ in range(2):
                file.write(subprocess.run(["ss", "-tinp"], check=False, capture_output=True).stdout)
                time.sleep(2)
        with self._reviving:
            for number, consumer in enumerate(self._consumers):
                consumer.kill()
                consumer.wait()
                self._consumers[number] = self._consumer(number)

    def stop_producing(self) -> None:
        self._is_flushed = self._produces = False
        self.wait_for(lambda: self._is_flushed, "the end of what was sent", 90)

    def end(self) -> None:
        self._goes_on = self._produces = False
        for thread in self._threads:
            thread.join()
        for consumer in self._consumers:
            consumer.kill()
            consumer.wait()
        for node in self.nodes:
            if node.process is not None and node.process.poll() is None:
                node.process.send_signal(signal.SIGCONT)
            node.kill()
        for proxy in self._proxies:
            proxy.close()
        self.cluster.end()

    # -- looking

    @property
    def owner(self) -> OurProcess | None:
        """The node that leads the topic, according to any node."""
        for node in self.nodes:
            leader = self._leader(node.port)
            if leader is not None:
                return self.nodes[leader - self._first_node]
        return None

    def _leader(self, port: int) -> int | None:
        """Return the node that leads the topic's partitions, as the node at a port answers; None without one."""
        client = AdminClient({"bootstrap.servers": f"127.0.0.1:{port}", **QUIET})
        try:
            found = client.list_topics(TOPIC, timeout=1.0).topics[TOPIC].partitions
        except (KafkaException, KeyError):
            return None
        leaders = {partition.leader for partition in found.values()}
        return leaders.pop() if len(leaders) == 1 and min(leaders) >= self._first_node else None

    def last_map(self, node: OurProcess) -> Map:
        found = _MAP.findall((node.folder / "broker.log").read_text(errors="replace"))
        return Map(*map(int, found[-1])) if found else Map(-1, 0, 0)

    def has_all(self, node: OurProcess) -> bool:
        return self.last_map(node).nodes == len(self.nodes)

    def are_together(self) -> bool:
        maps = {self.last_map(node)[:2] for node in self.nodes}
        return len(maps) == 1 and maps.pop()[1] == len(self.nodes)

    @property
    def journals(self) -> Journals:
        return self._journals

    @property
    def state_partition(self) -> int:
        """The partition of `__shareq_state` that holds the topic's states."""
        return slot_of(self.topic_id, SLOTS)

    def produced(self) -> set[Place]:
        consumer = Consumer({"bootstrap.servers": self.cluster.bootstrap, "group.id": "judge", **QUIET})
        try:
            found: set[Place] = set()
            for partition in range(PARTITIONS):
                first, end = consumer.get_watermark_offsets(TopicPartition(TOPIC, partition), 20)
                found.update((partition, offset) for offset in range(first, end))
            return found
        finally:
            consumer.close()

    def wait_for(
        self, condition: Callable[[], bool], what: str, within_s: float = STARTS_S, each_s: float = 0.1
    ) -> None:
        by = time.monotonic() + within_s
        while not condition():
            if time.monotonic() > by:
                raise RuntimeError(f"{what} did not come within {within_s:.0f} s")
            time.sleep(each_s)

    # -- work

    def _consumer(self, number: int) -> subprocess.Popen[bytes]:
        addresses = ",".join(f"127.0.0.1:{port}" for port in self._for_clients)
        self._lives += 1
        client = "consumer" if number % 2 == 0 else "aio_consumer"  # librdkafka's, and ours
        journal = self._folder / f"journal-{number}-{self._lives}-{client}.txt"
        command = [sys.executable, "-m", f"tests.campaign.cluster_kills.{client}", addresses, GROUP, TOPIC]
        with (self._folder / f"consumer-{number}.log").open("ab") as log:
            return subprocess.Popen([*command, str(journal)], stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def _revive(self) -> None:
        while self._goes_on:
            with self._reviving:
                for number, consumer in enumerate(self._consumers):
                    if consumer.poll() is not None:
                        self.hung += 1
                        self._consumers[number] = self._consumer(number)
            time.sleep(0.2)

    def _produce(self) -> None:
        """Send directly to the cluster, because a node's forwarding is not judged here."""
        producer = Producer({"bootstrap.servers": self.cluster.bootstrap, "linger.ms": 2, "log_level": 0})
        number = 0
        while self._goes_on:
            for _ in range(RATE // 50 if self._produces else 0):
                try:
                    producer.produce(TOPIC, b"%d" % number)
                except BufferError:  # the cluster stands still
                    break
                number += 1
            if not self._produces:
                producer.flush(1)
            producer.poll(0)
            time.sleep(0.02)
            self._is_flushed = not self._produces and len(producer) == 0


def first_node_for(slot: int, nodes: int) -> int:
    """Return the first of consecutive node ids for which the slot moves to each node that comes back.

    With these ids, a node that holds this slot of the states and others gives up this one first.
    """

    def likes_it_least(node_id: int) -> bool:
        weights = [weight(SlotId(STATES, other), node_id) for other in range(SLOTS)]
        return weights[slot] == min(weights)

    return next(first for first in count(FIRST_NODE) if all(likes_it_least(first + each) for each in range(nodes)))
