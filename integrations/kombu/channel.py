"""Channels: kombu's operations on a broker, over topics and share groups.

A queue is a topic and a share group of its name. A *transient* queue (one deleted with its consumer: replies, remote
control, events) that is bound to an exchange has no topic: its connection reads the exchange's topic, which has
broadcast messages, and messages for which no known queue is bound.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator
from itertools import count
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeVar

from amqp.protocol import queue_declare_ok_t
from kombu.exceptions import ChannelError, DecodeError
from kombu.serialization import loads
from kombu.transport import virtual
from kombu.utils.uuid import uuid

from shareq.aio import AcknowledgeType, ClientError, ShareRecord
from shareq.client.aio.again import is_for_another
from shareq.kombu.envelope import NotAMessage, expired, packed, unpacked
from shareq.kombu.names import GROUP_CONFIG, ROUTING_KEY
from shareq.kombu.queue_consumer import CLOSE_S, QueueConsumer
from shareq.kombu.tasks import due_s, fault, fields_of, not_before, time_of
from shareq.protocol.records.record_codec import Record

if TYPE_CHECKING:
    from shareq.kombu.engine import Engine
    from shareq.kombu.names import Options
    from shareq.kombu.tail import Tail

logger = logging.getLogger(__name__)

T = TypeVar("T")
MOST_AT_ONCE: Final = 100
"""The most records acquired ahead for a channel whose prefetch count is not bounded."""
MOST_HEARD: Final = 10_000
"""The most messages that a transient queue holds; newer ones replace the oldest."""
GET_S: Final = 0.3
CALL_S: Final = 20.0
PURGE_S: Final = 600.0
_BEHIND: Final = "kafka-share: a log has no priorities: use a queue, and workers, for each"


class Arrival(NamedTuple):
    """A message to be delivered. `record` and `consumer` are None for a message to a transient queue."""

    queue: str
    message: dict[str, Any]
    record: ShareRecord | None = None
    consumer: QueueConsumer | None = None


class Owner(Protocol):
    """The transport, as its channels see it."""

    options: Options
    connection_errors: tuple[type[BaseException], ...]
    heard: dict[str, deque[dict[str, Any]]]
    listening: dict[str, list[Ear]]

    @property
    def engine(self) -> Engine: ...

    @property
    def in_event_loop(self) -> bool: ...

    def news(self) -> None: ...

    def withdraw(self, tags: Collection[str]) -> set[str]: ...

    def failed(self, error: Exception) -> None: ...

    def exchange_topic(self, exchange: str) -> str: ...

    def listen(self, queue: str, exchange: str, routing_key: str, pattern: str, kind: str) -> None: ...

    def forget(self, queue: str) -> None: ...


class JsonMessage(virtual.Message):
    """A message whose JSON is decoded once, by the check of tasks or by the consumer."""

    _read: Any = None

    def read(self) -> Any:
        """Return the decoded body if it is JSON, else None. Raises DecodeError."""
        if self.errors or self.content_type != "application/json":
            return None
        self._read = loads(self.body, self.content_type, self.content_encoding)
        return self._read

    def _decode(self) -> Any:
        if self._read is not None and (self.accept is None or self.content_type in self.accept):
            return self._read
        return super()._decode()


class QoS(virtual.QoS):
    """The delivered but unacknowledged messages, by delivery tag, with their records."""

    channel: Channel

    def __init__(self, channel: Channel, prefetch_count: int = 0) -> None:
        super().__init__(channel, prefetch_count)
        self._on_collect.cancel()  # the end of the session releases everything
        self._records: dict[str, tuple[QueueConsumer, ShareRecord]] = {}

    @property
    def unacknowledged(self) -> int:
        return max(0, len(self._delivered) - len(self._dirty))

    def holds(self, tag: str, arrival: Arrival) -> None:
        """Remember the record and the consumer of a message."""
        if arrival.consumer is not None and arrival.record is not None:
            self._records[tag] = arrival.consumer, arrival.record

    def records(self) -> list[tuple[str, ShareRecord]]:
        """Return the records that were delivered but not settled, with their delivery tags."""
        return [(tag, record) for tag, (_, record) in list(self._records.items())]

    def forget(self, tag: str) -> None:
        """Forget a message without settling its record."""
        self._quick_ack(tag)
        self._records.pop(tag, None)
        self.channel.has_room()

    def ack(self, delivery_tag: str) -> None:
        self._settle(delivery_tag, AcknowledgeType.ACCEPT)

    def reject(self, delivery_tag: str, requeue: bool = False) -> None:
        if requeue and delivery_tag not in self._records and delivery_tag in self._delivered:
            self.channel.hear_again(self._delivered[delivery_tag])
        self._settle(delivery_tag, AcknowledgeType.RELEASE if requeue else AcknowledgeType.REJECT)

    def restore_unacked(self) -> None:
        for tag in list(self._delivered):
            if tag not in self._dirty:
                self.reject(tag, requeue=True)
        self._flush()

    def restore_unacked_once(self, stderr: Any = None) -> None:
        """Do nothing: closing the consumers releases the remaining messages."""

    def _settle(self, tag: str, kind: AcknowledgeType) -> None:
        self._quick_ack(tag)
        held = self._records.pop(tag, None)
        if held is not None:
            consumer, record = held
            self.channel.settle(consumer, record, kind)
        self.channel.has_room()


class Channel(virtual.Channel):
    """One channel: its consumers are members of their queues' share groups."""

    connection: Owner
    Message = JsonMessage
    QoS = QoS
    supports_fanout = True
    _tags = count(1)

    def __init__(self, connection: Owner, **kwargs: Any) -> None:
        super().__init__(connection, **kwargs)
        self._arrivals: deque[Arrival] = deque()
        self._consuming: dict[str, QueueConsumer] = {}
        self._getting: dict[str, QueueConsumer] = {}
        self._leaving: list[QueueConsumer] = []
        self._wanted_back: deque[tuple[ShareRecord, Callable[[bool], None]]] = deque()
        self._callbacks: dict[str, Callable[[Arrival], Any]] = {}
        self._without_ack: set[str] = set()

    # -- exchanges and queues

    def queue_declare(self, queue: str | None = None, passive: bool = False, **kwargs: Any) -> Any:
        queue = queue or f"amq.gen-{uuid()}"
        if passive and not self._has_queue(queue):
            raise ChannelError(f"NOT_FOUND - no queue {queue!r}", (50, 10), "Channel.queue_declare", "404")
        if not passive:
            self._new_queue(queue, **kwargs)
        size = 0 if queue in self.connection.heard else self._size(queue)
        return queue_declare_ok_t(queue, size, 0)

    def queue_delete(self, queue: str, if_unused: bool = False, if_empty: bool = False, **kwargs: Any) -> None:
        if queue in self.connection.heard:
            self.connection.forget(queue)
        elif not (if_empty and self._size(queue)):
            self.connection.engine.delete(self._topic(queue))
        for exchange in self.state.exchanges.values():
            exchange["table"][:] = [row for row in exchange.get("table", ()) if row[2] != queue]
        self.state.queue_bindings_delete(queue)

    def prepare_queue_arguments(self, arguments: dict[str, Any] | None, **kwargs: Any) -> dict[str, Any]:
        if kwargs.get("max_priority") is not None:
            raise NotImplementedError(_BEHIND)
        return arguments or {}

    def _new_queue(self, queue: str, **kwargs: Any) -> None:
        if (kwargs.get("arguments") or {}).get("x-max-priority") is not None:
            raise NotImplementedError(_BEHIND)
        transient = kwargs.get("auto_delete") or kwargs.get("exclusive") or kwargs.get("durable") is False
        if transient:
            self.connection.heard.setdefault(queue, deque(maxlen=MOST_HEARD))
        elif queue not in self.connection.heard:
            self._ensure(queue)

    def _queue_bind(self, exchange: str, routing_key: str, pattern: str, queue: str) -> None:
        if queue in self.connection.heard:
            self.connection.listen(queue, exchange, routing_key, pattern, self.typeof(exchange).type)

    def get_table(self, exchange: str) -> Any:
        return self.state.exchanges.get(exchange, {}).get("table", [])

    def _has_queue(self, queue: str, **kwargs: Any) -> bool:
        return queue in self.connection.heard or self.connection.engine.has_topic(self._topic(queue))

    def _size(self, queue: str) -> int:
        if queue in self.connection.listening:
            return len(self.connection.heard[queue])
        topic = self._topic(queue)
        return self.connection.engine.size(topic, topic)

    def _purge(self, queue: str) -> int:
        if queue in self.connection.listening:
            heard = self.connection.heard[queue]
            size = len(heard)
            heard.clear()
            return size
        consumer = self._open(queue)
        try:
            return consumer.engine.run(consumer.purge(GET_S), PURGE_S)
        finally:
            consumer.engine.run(consumer.close(), CLOSE_S + CALL_S)

    def _topic(self, queue: str) -> str:
        return self.connection.options.topic_of(queue)

    def _ensure(self, queue: str) -> None:
        options = self.connection.options
        self.connection.engine.ensure_topic(
            self._topic(queue), options.partitions, options.replication_factor, options.topic_config
        )

    # -- out

    def basic_publish(self, message: dict[str, Any], exchange: str, routing_key: str, **kwargs: Any) -> None:
        if message["properties"].get("priority"):
            raise NotImplementedError(_BEHIND)
        self._check_eta(message.get("headers") or {})
        self._inplace_augment_message(message, exchange, routing_key)
        if not exchange:
            self._put(routing_key, message)
            return
        kind = self.typeof(exchange)
        found = kind.lookup(self.get_table(exchange), exchange, routing_key, None)
        queues = [queue for queue in found if queue not in self.connection.listening]
        for queue in queues:
            self._put(queue, message)
        if kind.type == "fanout" or not queues or len(queues) < len(found):
            self._put_fanout(exchange, message, routing_key)

    def _check_eta(self, headers: dict[str, Any]) -> None:
        """Refuse a task that its worker would reject: Celery's `retry` and `apply_async` raise it."""
        with contextlib.suppress(ValueError):
            most = self.connection.options.max_delay
            if "task" in headers and (eta := time_of(headers.get("eta"))) and eta.timestamp() - time.time() > most:
                raise TooFar(f"eta is {eta}: max_delay of transport_options allows {most:g} s from now")

    def _put(self, queue: str, message: dict[str, Any], **kwargs: Any) -> None:
        self._ensure(queue)
        self.connection.engine.send(self._topic(queue), packed(message), not_before(message.get("headers") or {}))

    def _put_fanout(self, exchange: str, message: dict[str, Any], routing_key: str, **kwargs: Any) -> None:
        topic = self.connection.exchange_topic(exchange)
        self.connection.engine.send_soon(topic, packed(message), routing_key or "")

    # -- in

    def basic_consume(
        self, queue: str, no_ack: bool, callback: Callable[[Any], Any], consumer_tag: str, **kwargs: Any
    ) -> None:
        self._tag_to_queue[consumer_tag] = queue
        self._active_queues.append(queue)
        self._consumers.add(consumer_tag)
        if no_ack:
            self._without_ack.add(queue)
        self._callbacks[queue] = lambda arrival: self._call(callback, arrival, no_ack)
        if queue in self.connection.listening:
            self.connection.news()
            return
        consumer = self._open(queue)
        self._consuming[queue] = consumer
        self.connection.engine.run(consumer.consume(), CALL_S)

    def basic_cancel(self, consumer_tag: str) -> None:
        if consumer_tag not in self._consumers:
            return
        self._consumers.remove(consumer_tag)
        queue = self._tag_to_queue.pop(consumer_tag, "")
        with contextlib.suppress(ValueError):
            self._active_queues.remove(queue)
        self._callbacks.pop(queue, None)
        self._without_ack.discard(queue)
        consumer = self._consuming.pop(queue, None)
        if consumer is not None and consumer.engine.alive:
            self._cancel(consumer)

    def basic_get(self, queue: str, no_ack: bool = False, **kwargs: Any) -> Any:
        if queue in self.connection.listening:
            heard = self.connection.heard[queue]
            while heard:
                if not self._expired(arrival := Arrival(queue, heard.popleft())):
                    return self._handed_on(arrival, no_ack)
            return None
        consumer = self._getting.get(queue)
        if consumer is None:
            consumer = self._getting[queue] = self._open(queue)
        while (record := consumer.engine.run(consumer.get(GET_S), CALL_S)) is not None:
            found = self._arrival(queue, consumer, record)
            if found is not None and not self._expired(found):
                return self._handed_on(found, no_ack)
        return None

    def basic_qos(self, prefetch_size: int = 0, prefetch_count: int = 0, apply_global: bool = False) -> None:
        self.qos.prefetch_count = prefetch_count
        self.has_room()

    @property
    def hears(self) -> bool:
        """True if a transient queue has a message to deliver."""
        return any(self.connection.heard.get(queue) for queue in self._callbacks)

    @property
    def ready(self) -> bool:
        """True if `deliver` would deliver a message."""
        return self.hears or any(
            arrival.queue in self._callbacks and (arrival.queue in self._without_ack or self.qos.can_consume())
            for arrival in list(self._arrivals)
        )

    def deliver(self) -> bool:
        """Deliver one message. Return False if there is none, or no room for it."""
        while (arrival := self._next()) is not None:
            if not self._expired(arrival):
                self._callbacks[arrival.queue](arrival)
                return True
        return False

    def _next(self) -> Arrival | None:
        for queue in self._callbacks:
            if queue in self.connection.listening and (heard := self.connection.heard[queue]):
                return Arrival(queue, heard.popleft())
        for at, arrival in enumerate(self._arrivals):
            if arrival.queue in self._callbacks and (arrival.queue in self._without_ack or self.qos.can_consume()):
                del self._arrivals[at]
                return arrival
        return None

    def _expired(self, arrival: Arrival) -> bool:
        if not expired(arrival.message, time.time_ns() // 1_000_000):
            return False
        if arrival.consumer is not None and arrival.record is not None:
            self.settle(arrival.consumer, arrival.record, AcknowledgeType.ACCEPT)
        return True

    def hear_again(self, message: Any) -> None:
        """Deliver again a message of a transient queue that was released."""
        heard = self.connection.heard.get(message._raw.get("queue", ""))
        if heard is not None:
            heard.appendleft(message._raw)
            self.connection.news()

    def settle(self, consumer: QueueConsumer, record: ShareRecord, kind: AcknowledgeType) -> None:
        """Queue an acknowledgement of a record."""
        consumer.engine.soon(consumer.settle, record, kind)

    def has_room(self) -> None:
        """Note that there is room for more records."""
        if self._arrivals:
            self.connection.news()
        if self.closed or not self.connection:
            return
        for consumer in self._consuming.values():
            consumer.engine.soon(consumer.wake)

    def close(self) -> None:
        if self.closed:
            return
        for tag in list(self._consumers):
            self.basic_cancel(tag)
        for consumer in (*self._getting.values(), *self._leaving):
            if consumer.engine.alive:
                with contextlib.suppress(ClientError):
                    consumer.engine.run(consumer.close(), CLOSE_S + CALL_S)
        super().close()

    def _open(self, queue: str) -> QueueConsumer:
        self._ensure(queue)
        connection = self.connection
        topic = self._topic(queue)
        connection.engine.ensure_group(topic, {**GROUP_CONFIG, **connection.options.group_config})

        def arrived(consumer: QueueConsumer, record: ShareRecord) -> None:
            arrival = self._arrival(queue, consumer, record)
            if arrival is not None:
                self._arrivals.append(arrival)
                connection.news()

        consumer = QueueConsumer(
            engine=connection.engine,
            topic=topic,
            renew_s=connection.options.renew_s,
            room=self._room,
            arrived=arrived,
            failed=connection.failed,
            withdraw=self._withdraw,
            window=connection.engine.window(topic),
        )
        connection.engine.run(consumer.open(), CALL_S)
        return consumer

    def _room(self) -> int:
        """Return how many records a consumer may take now. With several queues, each may take at least one."""
        waiting = len(self._arrivals)
        if not self.qos.prefetch_count:
            return max(0, MOST_AT_ONCE - waiting)
        room: int = self.qos.prefetch_count - self.qos.unacknowledged - waiting
        return 0 if room < 1 else max(1, room // max(1, len(self._consuming)))

    def _withdraw(self, record: ShareRecord, answer: Callable[[bool], None]) -> None:
        """Take a record's task back from Celery, in the thread of Celery's event loop."""
        self._wanted_back.append((record, answer))
        self.connection.news()

    def give_back(self) -> None:
        """Take the requested tasks back from Celery's timer; a task that has begun stays."""
        wanted = dict(_taken_out(self._wanted_back))
        if not wanted:
            return
        tags = {tag: record for tag, record in self.qos.records() if record in wanted}
        withdrawn = {tags[tag] for tag in self.connection.withdraw(tags)}
        for tag, record in tags.items():
            if record in withdrawn:
                self.qos.forget(tag)
        for record, answer in wanted.items():
            answer(record in withdrawn)

    def _arrival(self, queue: str, consumer: QueueConsumer, record: ShareRecord) -> Arrival | None:
        if is_for_another(record.headers, self._topic(queue)):
            self.settle(consumer, record, AcknowledgeType.ACCEPT)
            return None
        try:
            message = unpacked(record.value, record.timestamp)
        except NotAMessage as error:
            logger.error("%s: %s: rejected", _place(record), error)
            self.settle(consumer, record, AcknowledgeType.REJECT)
            return None
        message["properties"]["delivery_info"]["redelivered"] = record.delivery_count > 1
        return Arrival(queue, message, record, consumer)

    def _call(self, callback: Callable[[Any], Any], arrival: Arrival, no_ack: bool) -> None:
        """Deliver a message. In the event loop of Celery's worker, no error in a message ends the process."""
        message = self._handed_on(arrival, no_ack)
        if not self.connection.in_event_loop:
            callback(message)
            return
        try:
            reason = None if arrival.record is None else self._fault(message, arrival)
            if reason is None:
                callback(message)
                return
            logger.error("%s: %s: rejected", _of(arrival), reason)
        except Exception as error:
            if isinstance(error, (MemoryError, *self.connection.connection_errors)):
                raise
            logger.exception("%s: its consumer failed: rejected", _of(arrival))
        if arrival.record is not None and not message.acknowledged and not no_ack:
            message.reject()

    def _fault(self, message: JsonMessage, arrival: Arrival) -> str | None:
        """Return why Celery must not get a message, or None; also note how long to renew its lock."""
        try:
            payload = message.read()
        except DecodeError as error:
            kind = type(error.__cause__ or error.__context__ or error).__name__
            return f"its body cannot be decoded ({kind})" if "task" in message.headers else None
        now = time.time()
        reason = fault(message.headers, payload, now, self.connection.options.max_delay)
        fields = fields_of(message.headers, payload)
        if reason is None and fields is not None and (due := due_s(fields)) is not None and due > now:
            assert arrival.consumer is not None
            assert arrival.record is not None
            arrival.consumer.engine.soon(arrival.consumer.waits, arrival.record, due - now)
        return reason

    def _handed_on(self, arrival: Arrival, no_ack: bool) -> Any:
        tag = f"{self.channel_id}.{next(self._tags)}"
        arrival.message["properties"]["delivery_tag"] = tag
        arrival.message["queue"] = arrival.queue
        message = self.Message(arrival.message, channel=self)
        if not no_ack:
            self.qos.append(message, tag)
            self.qos.holds(tag, arrival)
        elif arrival.consumer is not None and arrival.record is not None:
            self.settle(arrival.consumer, arrival.record, AcknowledgeType.ACCEPT)
        return message

    def _cancel(self, consumer: QueueConsumer) -> None:
        """Cancel a consumer and release its undelivered messages.

        A member that holds no records leaves the group at once; other members leave when the channel closes.
        """
        engine = consumer.engine
        engine.run(consumer.cancel(), CALL_S)
        mine = [arrival for arrival in self._arrivals if arrival.consumer is consumer]
        for arrival in mine:
            self._arrivals.remove(arrival)
            assert arrival.record is not None
            self.settle(consumer, arrival.record, AcknowledgeType.RELEASE)
        if consumer.in_hand == len(mine):
            engine.run(consumer.close(), CLOSE_S + CALL_S)
        else:
            self._leaving.append(consumer)


class Ear(NamedTuple):
    """The subscription of a transient queue to an exchange; `hear` is called on the engine's loop."""

    engine: Engine
    tail: Tail
    hear: Callable[[Record], None]


def matches(kind: str, routing_key: str, pattern: str, found: str, match: Callable[[str, str], Any]) -> bool:
    """Return True if a message with the routing key `found` is for a queue that is bound with `routing_key`."""
    if kind == "fanout":
        return True
    return bool(match(pattern, found)) if kind == "topic" else routing_key == found


def heard_from(record: Record, topic: str) -> tuple[str, dict[str, Any]] | None:
    """Return routing key and message of a record of an exchange's topic; None (logged) for an invalid record."""
    try:
        routing_key = (dict(record.headers).get(ROUTING_KEY) or b"").decode()
        return routing_key, unpacked(record.value, record.timestamp)
    except NotAMessage as error:
        logger.warning("%s-0@%d: %s: skipped", topic, record.offset, error)
    except UnicodeDecodeError:
        logger.warning("%s-0@%d: its routing key is no UTF-8: skipped", topic, record.offset)
    return None


class TooFar(Exception):
    """A task's ETA that is further ahead than a worker would wait."""


def _taken_out(found: deque[T]) -> Iterator[T]:
    """Return an iterator that removes the items it returns."""
    while found:
        yield found.popleft()


def _place(record: ShareRecord) -> str:
    return f"{record.topic}-{record.partition}@{record.offset}"


def _of(arrival: Arrival) -> str:
    return f"queue {arrival.queue}" if arrival.record is None else _place(arrival.record)
