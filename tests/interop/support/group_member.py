"""Members of a consumer group, classic or KIP-848: the same loop with each client, in a thread of its own."""

from __future__ import annotations

import asyncio
import json
import subprocess
import threading
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Final

from aiokafka import AIOKafkaConsumer
from aiokafka.errors import KafkaError as AioKafkaError
from confluent_kafka import Consumer, KafkaException
from kafka import KafkaConsumer
from kafka.errors import KafkaError as PythonKafkaError

from devtools.kafka.apache_kafka import class_path, quick_java
from tests.interop.support.protocol import tool_arguments

SESSION_MS: Final = 6_000
HEARTBEAT_MS: Final = 500
Place = tuple[int, int]
"""Partition and offset."""


class Ledger:
    """The records that the members of one group received. `places`: how often each one."""

    def __init__(self) -> None:
        self.places: Counter[Place] = Counter()
        self.failures: list[BaseException] = []

    def check(self) -> None:
        assert not self.failures, self.failures


class GroupMember(ABC):
    """A member that polls, records and commits until it is closed, and then leaves its group."""

    def __init__(self, bootstrap: str, group: str, topic: str, ledger: Ledger, instance: str | None = None) -> None:
        self.bootstrap, self.group, self.topic, self.ledger, self.instance = bootstrap, group, topic, ledger, instance
        self.assigned: frozenset[int] = frozenset()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._guarded, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        self._thread.join(30)
        assert not self._thread.is_alive(), "the client does not end"

    def note(self, records: Sequence[Place]) -> None:
        self.ledger.places.update(records)

    def _guarded(self) -> None:
        try:
            self.run(self._stop.is_set)
        except BaseException as failure:
            self.ledger.failures.append(failure)
        finally:
            self.assigned = frozenset()

    @abstractmethod
    def run(self, stopped: Callable[[], bool]) -> None:
        """Run the client's loop."""


class Librdkafka(GroupMember):
    protocol: ClassVar[dict[str, str | int]] = {"session.timeout.ms": SESSION_MS, "heartbeat.interval.ms": HEARTBEAT_MS}

    def run(self, stopped: Callable[[], bool]) -> None:
        settings: dict[str, str | int | bool] = {
            "bootstrap.servers": self.bootstrap,
            "group.id": self.group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "log_level": 0,
            **self.protocol,
        }
        if self.instance is not None:
            settings["group.instance.id"] = self.instance
        consumer = Consumer(settings)
        consumer.subscribe([self.topic])
        try:
            while not stopped():
                messages = [m for m in consumer.consume(500, 0.1) if m.error() is None]
                self.note([(m.partition() or 0, m.offset() or 0) for m in messages])
                if messages:
                    try:
                        consumer.commit(asynchronous=False)
                    except KafkaException:
                        continue  # the records come again
                self.assigned = frozenset(place.partition for place in consumer.assignment())
        finally:
            consumer.close()


class LibrdkafkaOfKip848(Librdkafka):
    """A member that uses confluent-kafka with the consumer protocol; the broker sets the timeouts."""

    protocol: ClassVar[dict[str, str | int]] = {"group.protocol": "consumer"}


class KafkaPython(GroupMember):
    def run(self, stopped: Callable[[], bool]) -> None:
        consumer = KafkaConsumer(
            self.topic,
            bootstrap_servers=self.bootstrap,
            group_id=self.group,
            group_instance_id=self.instance,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            session_timeout_ms=SESSION_MS,
            heartbeat_interval_ms=HEARTBEAT_MS,
            reconnect_backoff_max_ms=250,
        )
        try:
            while not stopped():
                polled = consumer.poll(timeout_ms=100)
                records = [(each.partition, each.offset) for batch in polled.values() for each in batch]
                self.note(records)
                if records:
                    try:
                        consumer.commit()
                    except PythonKafkaError:
                        continue
                self.assigned = frozenset(place.partition for place in consumer.assignment())
        finally:
            consumer.close()


class AioKafka(GroupMember):
    def run(self, stopped: Callable[[], bool]) -> None:
        asyncio.run(self._run(stopped))

    async def _run(self, stopped: Callable[[], bool]) -> None:
        consumer = AIOKafkaConsumer(
            self.topic,
            bootstrap_servers=self.bootstrap,
            group_id=self.group,
            group_instance_id=self.instance,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            session_timeout_ms=SESSION_MS,
            heartbeat_interval_ms=HEARTBEAT_MS,
        )
        await consumer.start()
        try:
            while not stopped():
                polled = await consumer.getmany(timeout_ms=100)
                records = [(each.partition, each.offset) for batch in polled.values() for each in batch]
                self.note(records)
                if records:
                    try:
                        await consumer.commit()
                    except AioKafkaError:
                        continue
                self.assigned = frozenset(place.partition for place in consumer.assignment())
        finally:
            await consumer.stop()


class Java(GroupMember):
    """Apache Kafka's own consumer in its tool for such tests, which prints events as lines of JSON."""

    protocol: ClassVar[tuple[str, ...]] = ("--session-timeout", str(SESSION_MS))

    def run(self, stopped: Callable[[], bool]) -> None:
        command = [*quick_java(), "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"]
        command += ["-cp", class_path(), "org.apache.kafka.tools.VerifiableConsumer", "--topic", self.topic]
        command += tool_arguments(["--bootstrap-server", self.bootstrap])
        command += ["--group-id", self.group, "--reset-policy", "earliest"]
        command += self.protocol
        if self.instance is not None:
            command += ["--group-instance-id", self.instance]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            assert process.stdout is not None
            stopper = threading.Thread(target=self._stop_process, args=(process,))
            stopper.start()
            for line in process.stdout:
                self._event(json.loads(line))
            self._stop.set()
            stopper.join()

    def _stop_process(self, process: subprocess.Popen[str]) -> None:
        self._stop.wait()
        process.terminate()

    def _event(self, event: dict[str, Any]) -> None:  # Any: JSON
        partitions = event.get("partitions", ())
        if event["name"] == "partitions_assigned":
            self.assigned |= {each["partition"] for each in partitions}
        elif event["name"] == "partitions_revoked":
            self.assigned -= {each["partition"] for each in partitions}
        elif event["name"] == "records_consumed":
            for each in partitions:
                self.note([(each["partition"], offset) for offset in range(each["minOffset"], each["maxOffset"] + 1)])


class JavaOfKip848(Java):
    """Apache Kafka's own consumer with the consumer protocol; the broker sets the timeouts."""

    protocol: ClassVar[tuple[str, ...]] = ("--group-protocol", "consumer")


CLIENTS_OF_KIP_848: Final[dict[str, type[GroupMember]]] = {"librdkafka": LibrdkafkaOfKip848, "java": JavaOfKip848}
CLIENTS: Final[dict[str, type[GroupMember]]] = {
    "librdkafka": Librdkafka,
    "kafka-python": KafkaPython,
    "aiokafka": AioKafka,
    "java": Java,
}


@contextmanager
def started(*members: GroupMember) -> Iterator[None]:
    """Collect running members; close those still open in the end."""
    for member in members:
        member.start()
    try:
        yield
    finally:
        for member in members:
            member.close()


def wait_until(condition: Callable[[], bool], ledger: Ledger, what: str, timeout_s: float = 45) -> None:
    end = time.monotonic() + timeout_s
    while not condition():
        ledger.check()
        assert time.monotonic() < end, f"{what}: not within {timeout_s} s"
        time.sleep(0.05)
