"""A broker for Dramatiq over share groups. See docs/dramatiq.md.

dramatiq.set_broker(ShareqBroker("localhost:9092"))
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Collection, Coroutine, Iterable, Iterator, Mapping
from typing import Any, Final, TypeVar

from dramatiq import Broker, Consumer, Message, MessageProxy, Middleware
from dramatiq.common import current_millis
from dramatiq.errors import ConnectionClosed, QueueJoinTimeout, QueueNotFound

from shareq.aio import AcknowledgeType, Producer, ShareConsumer, ShareRecord
from shareq.client.admin import Admin
from shareq.client.admin.calls import only
from shareq.client.admin.topics import NewTopic
from shareq.client.aio.consumer.records import MOST_DELAY_S, State
from shareq.client.aio.early import ms_of
from shareq.client.config import ClientConfig
from shareq.client.core.list_offsets import EARLIEST, LATEST
from shareq.client.errors import ClientError, Unreachable, understood
from shareq.client.network import Network
from shareq.client.share.provision import configure_group, ensure_topic
from shareq.protocol.names import AUTO_OFFSET_RESET, DELAY_ENABLE, DELAY_MAX_MS, NOT_BEFORE

logger = logging.getLogger(__name__)

T = TypeVar("T")
GROUP_CONFIG: Final[dict[str, str]] = {AUTO_OFFSET_RESET: "earliest"}
MOST_DELAY_MS: Final = round(MOST_DELAY_S * 1000)
DELAYS: Final[dict[str, str]] = {DELAY_ENABLE: "true", DELAY_MAX_MS: str(MOST_DELAY_MS)}
ETA: Final = "eta"
"""Dramatiq's option with the time until which a worker keeps a message, in milliseconds since the epoch."""
KEPT_HERE: Final = 1_000
"""The most messages that wait for their time in a worker, if the broker keeps none."""
SEND_MS: Final = 30_000
BLOCK_MS: Final = 10_000
LEAST_POLL_S: Final = 0.1
LOOK_S: Final = 0.1
END_S: Final = 30.0


class ShareqBroker(Broker):
    """A broker: messages of a queue are records of a topic, processed by the members of a share group of the same name.

    The name is `prefix` and the queue's name. `properties` are the client's by Kafka's names, for TLS, SASL and
    timeouts. `partitions`, `replication_factor` (-1: the broker's default) and `topic_config` are of topics that are
    made, `group_config` are configs of the groups; `renew_s` is how long the lock of a message is renewed. Raises
    ConfigError for invalid arguments.
    """

    def __init__(
        self,
        bootstrap_servers: str,
        *,
        middleware: list[Middleware] | None = None,
        prefix: str = "dramatiq.",
        properties: Mapping[str, str] | None = None,
        partitions: int = -1,
        replication_factor: int = -1,
        topic_config: Mapping[str, str] | None = None,
        group_config: Mapping[str, str] | None = None,
        renew_s: float = 86_400.0,
    ) -> None:
        super().__init__(middleware=middleware)
        self.queues: set[str] = set()
        self._prefix = prefix
        self._servers = bootstrap_servers
        self._properties = {"client.id": "shareq-dramatiq", **(properties or {})}
        self._config = ClientConfig.from_properties({**self._properties, "bootstrap.servers": bootstrap_servers})
        self._partitions = partitions, replication_factor
        self._topic_config = dict(topic_config or {})
        self._group_config = dict(group_config or {})
        self._renew_s = renew_s
        self._lock = threading.Lock()
        self._made: set[str] = set()
        self._client: _Client | None = None

    def declare_queue(self, queue_name: str) -> None:
        """Declare a queue. Its topic is created when a message is sent or asked for."""
        if queue_name not in self.queues:
            self.emit_before("declare_queue", queue_name)
            self.queues.add(queue_name)
            self.emit_after("declare_queue", queue_name)

    def get_declared_queues(self) -> set[str]:
        """Return the names of the queues."""
        return self.queues.copy()

    def enqueue(self, message: Message[Any], *, delay: int | None = None) -> Message[Any]:
        """Send a message, and return it when it is written. `delay` is in milliseconds, a week at most.

        Raises ConnectionClosed if the message may or may not be written, ValueError for an invalid delay.
        """
        if delay is not None and not 0 <= delay <= MOST_DELAY_MS:
            raise ValueError(f"delay is {delay!r}: must be 0 to {MOST_DELAY_MS} ms")
        self._check_declared(message.queue_name)
        headers = [("actor", message.actor_name.encode()), ("message_id", message.message_id.encode())]
        if delay:
            headers.append((NOT_BEFORE, b"%d" % (current_millis() + delay)))
        self.emit_before("enqueue", message, delay)
        with _closed():
            self._ensure_topic(message.queue_name)
            client = self._open()
            client.run(
                client.producer.send_and_wait(self._prefix + message.queue_name, message.encode(), headers=headers)
            )
        self.emit_after("enqueue", message, delay)
        return message

    def consume(self, queue_name: str, prefetch: int = 1, timeout: int = 30_000) -> Consumer:
        """Return a consumer: a member of the queue's share group that has up to `prefetch` messages in hand."""
        self._check_declared(queue_name)
        name = self._prefix + queue_name
        with _closed():
            self._ensure_topic(queue_name)
            self._configure_group(name)
            client = self._open()
            member = client.run(client.member(name, self._renew_s))
        return _Consumer(client, member, prefetch, max(LEAST_POLL_S, timeout / 1000))

    def flush(self, queue_name: str) -> None:
        """Delete the messages of a queue, including those in hand."""
        self._check_declared(queue_name)
        with _closed(), self._admin() as admin:
            ends = admin.topics.offsets(dict.fromkeys(_partitions(admin, self._prefix + queue_name), LATEST))
            admin.topics.trim({each: end.offset or 0 for each, end in ends.items() if not isinstance(end, ClientError)})

    def flush_all(self) -> None:
        """Delete the messages of all declared queues."""
        for queue_name in self.get_declared_queues():
            self.flush(queue_name)

    def join(self, queue_name: str, *, timeout: int | None = None) -> None:
        """Wait until the group has finished every message of a queue, for tests. Raises QueueJoinTimeout."""
        self._check_declared(queue_name)
        deadline = None if timeout is None else time.monotonic() + timeout / 1000
        with _closed(), self._admin() as admin:
            while _undone(admin, self._prefix + queue_name):
                if deadline is not None and time.monotonic() >= deadline:
                    raise QueueJoinTimeout(queue_name)
                time.sleep(LOOK_S)

    def close(self) -> None:
        """Close the connections. A later send opens new ones."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _open(self) -> _Client:
        with self._lock:
            if self._client is None or self._client.pid != os.getpid():
                self._client = _Client(self._servers, self._properties)
            return self._client

    def _check_declared(self, queue_name: str) -> None:
        if queue_name not in self.queues:
            raise QueueNotFound(queue_name)

    def _ensure_topic(self, queue_name: str) -> None:
        if queue_name not in self._made:
            with self._admin() as admin:
                ensure_topic(admin, NewTopic(self._prefix + queue_name, *self._partitions, self._topic_config))
            self._made.add(queue_name)

    def _configure_group(self, group: str) -> None:
        with self._admin() as admin:
            configure_group(admin, group, GROUP_CONFIG | self._group_config, required=False)
            try:
                configure_group(admin, group, DELAYS | self._group_config, required=True)
            except Unreachable:
                raise
            except ClientError as error:
                logger.info("share group %s: workers keep its delayed messages: %s", group, error)

    @contextlib.contextmanager
    def _admin(self) -> Iterator[Admin]:
        with contextlib.closing(Network(self._config)) as network, understood():
            yield Admin(network)


class _Client:
    """The asynchronous client of one process: an event loop in a thread, for callers in any thread."""

    def __init__(self, servers: str, properties: Mapping[str, str]) -> None:
        self.pid = os.getpid()
        self._servers = servers
        self._properties = properties
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="shareq", daemon=True)
        self._thread.start()
        self.producer = self.run(self._produce())

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop, and wait for it. Raises its error, or Unreachable after `close`."""
        if self._loop.is_closed():
            work.close()
            raise Unreachable("the broker was closed")
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def member(self, name: str, renew_s: float) -> ShareConsumer:
        """Return a consumer that has begun to join its group."""
        made = ShareConsumer(
            self._servers,
            name,
            [name],
            acknowledgement="explicit",
            acquire_mode="record_limit",
            prefetch=0,
            renew_s=renew_s,
            properties=self._properties,
        )
        await made.start()
        return made

    def close(self) -> None:
        """Write the pending messages, and end the thread."""
        if self.pid != os.getpid() or self._loop.is_closed():
            return
        self.run(self.producer.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(END_S)
        self._loop.close()

    async def _produce(self) -> Producer:
        return Producer(self._servers, properties=self._properties, delivery_timeout_ms=SEND_MS, max_block_ms=BLOCK_MS)


class _Delivery(MessageProxy):
    """A message, and the record from which it was made."""

    def __init__(self, message: Message[Any], record: ShareRecord) -> None:
        super().__init__(message)
        self.record = record


class _Consumer(Consumer):
    """One member of a group. Its consumer thread asks for messages; any thread acknowledges them."""

    def __init__(self, client: _Client, member: ShareConsumer, prefetch: int, timeout_s: float) -> None:
        self._client = client
        self._member = member
        self._prefetch = prefetch
        self._timeout_s = timeout_s
        self._ready: deque[ShareRecord] = deque()
        self._out: set[ShareRecord] = set()  # handed out, to be worked on at once
        self._early: set[ShareRecord] = set()  # handed out, with a time
        self._fewer = threading.Event()

    def __next__(self) -> MessageProxy | None:
        with _closed():
            if not self._ready:
                self._fewer.clear()
                room = self._prefetch - len(self._out)
                if room < 1 or len(self._early) >= KEPT_HERE:
                    self._fewer.wait(self._timeout_s)
                    return None
                self._ready += self._client.run(self._member.poll(timeout_s=self._timeout_s, max_records=room))
            while self._ready:
                record = self._ready.popleft()
                if record.state is State.IN_HAND and (delivery := self._delivery(record)) is not None:
                    return delivery
        return None

    def ack(self, message: MessageProxy) -> None:
        """Accept the record."""
        self._settle(message, AcknowledgeType.ACCEPT)

    def nack(self, message: MessageProxy) -> None:
        """Reject the record, which becomes a dead letter if the group has a queue for them."""
        error = message._exception
        self._settle(message, AcknowledgeType.REJECT, "" if error is None else f"{type(error).__name__}: {error}")

    def requeue(self, messages: Iterable[MessageProxy]) -> None:
        """Release the records to any member of the group, at once."""
        for message in list(messages):
            self._settle(message, AcknowledgeType.RELEASE)

    def close(self) -> None:
        """Release the records in hand, and leave the group."""
        with _closed():
            self._client.run(self._member.close())

    def _delivery(self, record: ShareRecord) -> _Delivery | None:
        try:
            message: Message[Any] = Message.decode(record.value or b"")
        except Exception as error:  # whatever a record has that is no message of Dramatiq's
            logger.error("%s: no message: rejected: %s", _place(record), error)
            self._answer(record, AcknowledgeType.REJECT, "no message of Dramatiq's")
            return None
        due = ms_of(record.headers, NOT_BEFORE)
        if due > current_millis():  # its broker keeps none
            message = message.copy(options={ETA: due})
            self._early.add(record)
        else:
            self._out.add(record)
        return _Delivery(message, record)

    def _settle(self, message: MessageProxy, kind: AcknowledgeType, reason: str = "") -> None:
        assert isinstance(message, _Delivery)
        try:
            self._answer(message.record, kind, reason)
        finally:
            self._out.discard(message.record)
            self._early.discard(message.record)
            self._fewer.set()

    def _answer(self, record: ShareRecord, kind: AcknowledgeType, reason: str) -> None:
        """Acknowledge a record. A failure is logged, and the record is delivered again."""
        if record.state is State.DONE:
            return
        try:
            self._client.run(self._member.settle(record, kind, reason))
        except ClientError as error:
            logger.warning("%s, attempt %d: %s", _place(record), record.delivery_count, error)


def _place(record: ShareRecord) -> str:
    return f"{record.topic}-{record.partition}@{record.offset}"


def _partitions(admin: Admin, topic: str) -> list[tuple[str, int]]:
    """Return the partitions of a topic; none for one that does not exist."""
    ((_, found),) = admin.topics.describe([topic])
    return [] if isinstance(found, ClientError) else [(topic, row.partition) for row in found.partitions]


def _undone(admin: Admin, name: str) -> int:
    """Return the number of records that the group of this name has not finished."""
    partitions = _partitions(admin, name)
    if not partitions:
        return 0
    rows = only(dict(admin.share_groups.offsets([name], {name: [number for _, number in partitions]})), name)
    total, unknown = 0, []
    for each in partitions:
        row = rows.get(each)
        if row is None or isinstance(row, ClientError) or row.lag is None:
            unknown.append(each)
        else:
            total += row.lag
    return total + (_records(admin, unknown) if unknown else 0)


def _records(admin: Admin, partitions: Collection[tuple[str, int]]) -> int:
    starts = admin.topics.offsets(dict.fromkeys(partitions, EARLIEST))
    ends = admin.topics.offsets(dict.fromkeys(partitions, LATEST))
    total = 0
    for each in partitions:
        start, end = starts[each], ends[each]
        if not isinstance(start, ClientError) and not isinstance(end, ClientError):
            total += (end.offset or 0) - (start.offset or 0)
    return total


@contextlib.contextmanager
def _closed() -> Iterator[None]:
    """Raise Dramatiq's ConnectionClosed instead of Unreachable: Dramatiq's workers try again after it."""
    try:
        yield
    except Unreachable as error:
        raise ConnectionClosed(str(error)) from error
