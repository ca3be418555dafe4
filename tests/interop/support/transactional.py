"""Transactional producers of each client behind one interface, and a reader of committed records."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError as AioKafkaError
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from kafka import KafkaProducer
from kafka.errors import KafkaError

from devtools.clients.admin import QUIET
from tests.interop.support.java_driver import JavaError, JavaProcess
from tests.support.waiting import until

JAVA_SOURCE = Path(__file__).resolve().parents[1] / "java" / "src" / "Transactions.java"


class Fenced(Exception):
    """An error: another producer has the transactional id, or this one must stop."""


class TransactionalProducer(Protocol):
    """One initialized producer. Each call returns when the broker has answered. Raises Fenced."""

    def begin(self) -> None: ...
    def send(self, topic: str, partition: int, values: Sequence[str]) -> None: ...
    def commit(self) -> None: ...
    def abort(self) -> None: ...
    def close(self) -> None: ...


class LibrdkafkaProducer:
    def __init__(self, bootstrap: str, transactional_id: str) -> None:
        settings = {"bootstrap.servers": bootstrap, "transactional.id": transactional_id, **QUIET}
        # Without a callback of its own a fatal error is raised wherever the client happens to be.
        settings |= {"transaction.timeout.ms": 30_000, "error_cb": lambda _error: None}
        self._producer = Producer(settings)
        self._producer.init_transactions(30)

    def begin(self) -> None:
        self._producer.begin_transaction()

    def send(self, topic: str, partition: int, values: Sequence[str]) -> None:
        # No delivery callbacks: a fatal error is raised in the middle of them. The end of the transaction shows all.
        with _as_fenced(KafkaException):
            for value in values:
                self._producer.produce(topic, value, partition=partition)
            self._producer.flush(30)

    def commit(self) -> None:
        with _as_fenced(KafkaException):
            self._producer.commit_transaction(30)

    def abort(self) -> None:
        with _as_fenced(KafkaException):
            self._producer.abort_transaction(30)

    def close(self) -> None:
        del self._producer


class KafkaPythonProducer:
    def __init__(self, bootstrap: str, transactional_id: str) -> None:
        self._producer = KafkaProducer(
            bootstrap_servers=bootstrap, transactional_id=transactional_id, transaction_timeout_ms=30_000
        )
        self._producer.init_transactions()

    def begin(self) -> None:
        self._producer.begin_transaction()

    def send(self, topic: str, partition: int, values: Sequence[str]) -> None:
        try:
            with _as_fenced(KafkaError):
                sent = [self._producer.send(topic, value.encode(), partition=partition) for value in values]
                for each in sent:
                    each.get(30)
        finally:  # a fenced one asks for a newer epoch by itself; if late, that aborts what its successor has begun
            until(lambda: not self._producer._transaction_manager.is_bumping_epoch(), "an answer about its epoch")

    def commit(self) -> None:
        with _as_fenced(KafkaError):
            self._producer.commit_transaction()

    def abort(self) -> None:
        with _as_fenced(KafkaError):
            self._producer.abort_transaction()

    def close(self) -> None:
        self._producer.close(timeout=0)


class AiokafkaProducer:
    def __init__(self, bootstrap: str, transactional_id: str) -> None:
        self._loop = asyncio.new_event_loop()

        async def start() -> AIOKafkaProducer:
            producer = AIOKafkaProducer(
                bootstrap_servers=bootstrap, transactional_id=transactional_id, transaction_timeout_ms=30_000
            )
            await producer.start()
            return producer

        self._producer = self._loop.run_until_complete(start())

    def begin(self) -> None:
        self._loop.run_until_complete(self._producer.begin_transaction())

    def send(self, topic: str, partition: int, values: Sequence[str]) -> None:
        async def send() -> None:
            sent = [await self._producer.send(topic, value.encode(), partition=partition) for value in values]
            await asyncio.gather(*sent)

        with _as_fenced(AioKafkaError):
            self._loop.run_until_complete(send())

    def commit(self) -> None:
        with _as_fenced(AioKafkaError):
            self._loop.run_until_complete(self._producer.commit_transaction())

    def abort(self) -> None:
        with _as_fenced(AioKafkaError):
            self._loop.run_until_complete(self._producer.abort_transaction())

    def close(self) -> None:
        with contextlib.suppress(AioKafkaError):
            self._loop.run_until_complete(self._producer.stop())
        self._loop.close()


class JavaProducer:
    def __init__(self, java: JavaProcess, bootstrap: str, transactional_id: str) -> None:
        self._java = java
        self._name = f"{transactional_id} {time.monotonic_ns()}"
        config = {"bootstrap.servers": bootstrap, "transactional.id": transactional_id}
        java.call("open", name=self._name, config=config | {"transaction.timeout.ms": "30000"})

    def begin(self) -> None:
        self._java.call("begin", name=self._name)

    def send(self, topic: str, partition: int, values: Sequence[str]) -> None:
        with _as_fenced(JavaError):
            self._java.call("send", name=self._name, topic=topic, partition=partition, values=list(values))

    def commit(self) -> None:
        with _as_fenced(JavaError):
            self._java.call("commit", name=self._name)

    def abort(self) -> None:
        with _as_fenced(JavaError):
            self._java.call("abort", name=self._name)

    def close(self) -> None:
        self._java.call("close", name=self._name)


@contextlib.contextmanager
def _as_fenced(error: type[Exception]) -> Iterator[None]:
    try:
        yield
    except error as caught:
        raise Fenced(str(caught)) from caught


def read_values(bootstrap: str, topic: str, partitions: int, level: str, timeout_s: float = 30) -> list[str]:
    settings = {"bootstrap.servers": bootstrap, "group.id": "reader", "isolation.level": level, **QUIET}
    consumer = Consumer({**settings, "enable.partition.eof": True, "enable.auto.commit": False})
    values: list[list[str]] = [[] for _ in range(partitions)]
    ended: set[int] = set()
    deadline = time.monotonic() + timeout_s
    try:
        consumer.assign([TopicPartition(topic, partition, 0) for partition in range(partitions)])
        while len(ended) < partitions:
            assert time.monotonic() < deadline, f"{topic} does not come to its ends"
            message = consumer.poll(0.5)
            if message is None:
                continue
            if message.error():
                ended.add(message.partition() or 0)
            else:
                values[message.partition() or 0].append((message.value() or b"").decode())
    finally:
        consumer.close()
    return [value for each in values for value in each]
