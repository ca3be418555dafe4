"""Two nodes before a cluster, consumers and a producer at work: all of them processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from devtools.clients.admin import QUIET, create_topic, read_from_start
from devtools.ports import free_port
from tests.campaign.cluster_kills.judge import Place
from tests.interop.support.broker_under_test import APACHE_JVM
from tests.interop.support.node_under_test import cluster_of
from tests.interop.support.our_process import OurProcess

TOPIC: Final = "work"
PARTITIONS: Final = 4
CONSUMERS: Final = 4
FIRST_NODE: Final = 1_000_001
NODES: Final = 2
STARTS_S: Final = 60.0
_NODE: Final = {"shareq.cluster.slots": "8"}


class Scene:
    """Everything that runs. `kind` is the cluster's: a version of Apache Kafka, or `ours`."""

    def __init__(self, folder: Path, kind: str, group: str, rate: int) -> None:
        self.group = group
        self.hung = 0
        self._folder = folder
        self._rate = rate
        self.cluster = cluster_of(kind, folder / "cluster", {"auto.create.topics.enable": "false"}, APACHE_JVM)
        self.nodes: list[OurProcess] = []
        self._consumers: list[subprocess.Popen[bytes]] = []
        self._goes_on = True
        self._produces = True
        self._threads: list[threading.Thread] = []

    # -- life

    def start(self) -> None:
        """Start all of it, and wait until records are confirmed."""
        self.cluster.start()
        address = f"127.0.0.1:{self.cluster.port}"
        create_topic(address, TOPIC, PARTITIONS)
        for number in range(NODES):
            folder = self._folder / f"node-{number}"
            folder.mkdir()
            settings = {**_NODE, "node.id": str(FIRST_NODE + number)}
            node = OurProcess(folder, settings, free_port(), ["--cluster", address], has_data=False)
            self.nodes.append(node)
            node.start(STARTS_S)
        self.wait_for(lambda: self.owner is not None, "a node that owns the topic")
        read_from_start(f"127.0.0.1:{self.nodes[0].port}", self.group)
        for number in range(CONSUMERS):
            self._consumers.append(self._consumer(number))
        self._threads = [threading.Thread(target=work) for work in (self._revive, self._produce)]
        for thread in self._threads:
            thread.start()
        self.wait_for(lambda: self.confirmed > 0, "a first confirmation")

    def stop_producing(self) -> None:
        """Send no more records, and wait until all that were sent are in the cluster."""
        self._produces = False
        self._threads[1].join()

    def end(self) -> None:
        """End all processes."""
        self._goes_on = self._produces = False
        for thread in self._threads:
            thread.join()
        for consumer in self._consumers:
            consumer.kill()
            consumer.wait()
        for node in self.nodes:
            if node.process is not None:
                node.process.send_signal(signal.SIGCONT)
            node.kill()
        process = self.cluster.process
        if process is not None and process.poll() is None:
            process.send_signal(signal.SIGCONT)
        self.cluster.kill()

    # -- looking

    @property
    def owner(self) -> OurProcess | None:
        """The node that leads the topic, as another one that answers says, or it itself."""
        for node in self.nodes:
            leader = _leader(node.port)
            if leader is not None:
                return self.nodes[leader - FIRST_NODE]
        return None

    @property
    def confirmed(self) -> int:
        """The number of lines of confirmations by now."""
        return sum(journal.count("\nC ") for journal in self.journals())

    def journals(self) -> list[str]:
        """Return the journal of each consumer."""
        return [path.read_text() for path in sorted(self._folder.glob("journal-*.txt"))]

    def produced(self) -> set[Place]:
        """The records that the cluster has."""
        consumer = Consumer({"bootstrap.servers": f"127.0.0.1:{self.cluster.port}", "group.id": "judge"})
        try:
            found: set[Place] = set()
            for partition in range(PARTITIONS):
                first, end = consumer.get_watermark_offsets(TopicPartition(TOPIC, partition), 20)
                found.update((partition, offset) for offset in range(first, end))
            return found
        finally:
            consumer.close()

    def wait_for(self, condition: Callable[[], bool], what: str, within_s: float = STARTS_S) -> None:
        """Wait until something is so. RuntimeError when it is not in time."""
        by = time.monotonic() + within_s
        while not condition():
            if time.monotonic() > by:
                raise RuntimeError(f"{what} did not come within {within_s:.0f} s")
            time.sleep(0.1)

    # -- work

    def _consumer(self, number: int) -> subprocess.Popen[bytes]:
        addresses = ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)
        journal = self._folder / f"journal-{number}.txt"
        client = "consumer" if number % 2 == 0 else "aio_consumer"  # librdkafka's, and ours
        command = [sys.executable, "-m", f"tests.campaign.cluster_kills.{client}", addresses, self.group, TOPIC]
        with (self._folder / f"consumer-{number}.log").open("ab") as log:
            return subprocess.Popen([*command, str(journal)], stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def _revive(self) -> None:
        """Replace consumers that have ended: their client hung."""
        while self._goes_on:
            for number, consumer in enumerate(self._consumers):
                if consumer.poll() is not None:
                    self.hung += 1
                    self._consumers[number] = self._consumer(number)
            time.sleep(0.2)

    def _produce(self) -> None:
        """Send to the cluster itself: what a node forwards is not what is judged here."""
        producer = Producer({"bootstrap.servers": f"127.0.0.1:{self.cluster.port}", "linger.ms": 2, "log_level": 0})
        number = 0
        while self._produces:
            for _ in range(max(1, self._rate // 100)):
                try:
                    producer.produce(TOPIC, b"%d" % number)
                except BufferError:  # the cluster stands still
                    break
                number += 1
            producer.poll(0)
            time.sleep(0.01)
        producer.flush(60)


def _leader(port: int) -> int | None:
    """Return the node that leads the topic's partitions, as the node at a port says; None: it does not answer, or there
    is none.
    """
    client = AdminClient({"bootstrap.servers": f"127.0.0.1:{port}", **QUIET})
    try:
        found = client.list_topics(TOPIC, timeout=1.0).topics[TOPIC].partitions
    except (KafkaException, KeyError):
        return None
    leaders = {partition.leader for partition in found.values()}
    return leaders.pop() if len(leaders) == 1 and min(leaders) >= FIRST_NODE else None


def stop(process: subprocess.Popen[bytes] | None) -> None:
    """SIGSTOP, and wait until it stands still."""
    assert process is not None
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
