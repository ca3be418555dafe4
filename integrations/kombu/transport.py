"""The transport: one connection of kombu, which waits for messages by itself or in kombu's event loop."""

from __future__ import annotations

import contextlib
import heapq
import os
import threading
import time
from collections import deque
from collections.abc import Collection
from typing import Any, Final

from kombu.transport import virtual
from kombu.transport.virtual.exchange import TopicExchange

from shareq import __version__
from shareq.client.errors import BrokerError, ConfigError, Unreachable
from shareq.kombu.channel import Channel, Ear, heard_from, matches
from shareq.kombu.engine import Engine
from shareq.kombu.names import EXCHANGE_CONFIG, SCHEME, Options
from shareq.kombu.tail import OPEN_S
from shareq.protocol.records.record_codec import Record

DEFAULT_PORT: Final = 9092
CONNECT_S: Final = 5.0


class Transport(virtual.Transport):
    """A connection of kombu. Any thread may call `news`; only the thread that uses the connection may call other
    methods.
    """

    Channel = Channel
    default_port = DEFAULT_PORT
    driver_type = SCHEME
    driver_name = "shareq"
    connection_errors = (*virtual.Transport.connection_errors, Unreachable, OSError)
    channel_errors = (*virtual.Transport.channel_errors, BrokerError)
    implements = virtual.Transport.implements.extend(
        asynchronous=True, exchange_type=frozenset(["direct", "topic", "fanout"])
    )

    def __init__(self, client: Any, **kwargs: Any) -> None:
        super().__init__(client, **kwargs)
        self.options = Options.of(client.transport_options or {})
        self.heard: dict[str, deque[dict[str, Any]]] = {}
        """The messages that transient queues have heard."""
        self.listening: dict[str, list[Ear]] = {}
        """Transient queues that are bound to exchanges."""
        self._engine: Engine | None = None
        self._failure: Exception | None = None
        self._arrived = threading.Condition()
        self._pipe: tuple[int, int] | None = None
        self._hub: Any = None

    @property
    def engine(self) -> Engine:
        """The client of this process."""
        if self._engine is None or not self._engine.alive:
            self._engine = Engine.of(self._properties())
        return self._engine

    def driver_version(self) -> str:
        return __version__

    # -- connections

    def establish_connection(self) -> Any:
        self._failure = None
        self.engine.check(self.client.connect_timeout or CONNECT_S)
        return super().establish_connection()

    def close_connection(self, connection: Any) -> None:
        super().close_connection(connection)
        for queue in list(self.heard):
            self.forget(queue)
        self._close_pipe()

    def verify_connection(self, connection: Any) -> bool:
        return self._engine is None or self._engine.alive

    def _properties(self) -> dict[str, str]:
        client = self.client
        host = client.hostname or "localhost"
        found = {"bootstrap.servers": f"[{host}]:{client.port}" if ":" in host else f"{host}:{client.port}"}
        found |= {"client.id": "shareq-kombu"}
        if client.userid:
            found |= {"sasl.username": client.userid, "sasl.password": client.password or ""}
        if client.ssl:
            raise ConfigError("kafka-share: TLS is transport_options['properties'], by Kafka's names")
        return found | dict(self.options.properties)

    # -- messages

    @property
    def in_event_loop(self) -> bool:
        """True if kombu's event loop calls `on_readable`, as in Celery's worker."""
        return self._pipe is not None

    def news(self) -> None:
        """Wake the transport: there may be a message to deliver."""
        with self._arrived:
            self._arrived.notify_all()
            if self._pipe is not None:
                with contextlib.suppress(BlockingIOError, OSError):
                    os.write(self._pipe[1], b"\0")

    def failed(self, error: Exception) -> None:
        """Note the error of a consumer that has ended, or lost its locks: the next call raises it, as for a lost
        connection.
        """
        self._failure = error
        self.news()

    def drain_events(self, connection: Any, timeout: float | None = None) -> None:
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self._deliver_one():
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                raise TimeoutError()
            with self._arrived:
                if not self._anything():
                    self._arrived.wait(left)

    def _deliver_one(self) -> bool:
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        channels = sorted(self.channels, key=lambda channel: not channel.hears)  # what is said to all goes first
        return any(channel.deliver() for channel in channels)

    def _anything(self) -> bool:
        return self._failure is not None or any(channel.ready for channel in list(self.channels))

    # -- kombu's event loop

    def register_with_event_loop(self, connection: Any, loop: Any) -> None:
        with self._arrived:
            if self._pipe is None:
                reading, writing = os.pipe()
                os.set_blocking(reading, False)
                os.set_blocking(writing, False)
                self._pipe = reading, writing
        self._hub = loop
        loop.add_reader(self._pipe[0], self.on_readable, self._pipe[0])
        self.news()

    def unregister_from_event_loop(self, connection: Any, loop: Any) -> None:
        if self._pipe is not None:
            loop.remove(self._pipe[0])
        self._close_pipe()

    def on_readable(self, fileno: int) -> None:
        with contextlib.suppress(BlockingIOError, OSError):
            os.read(fileno, 4096)
        for channel in list(self.channels):
            channel.give_back()
        while self._deliver_one():
            pass

    def withdraw(self, tags: Collection[str]) -> set[str]:
        """Remove waiting tasks from Celery's timer, by delivery tag; return those found.

        Celery has added each to its prefetch count, and would subtract it when the task is due.
        """
        queue = self._hub.timer._queue
        waiting = {at: tag for at, each in enumerate(queue) if (tag := _task_of(each[2])) in tags}
        for at in waiting:
            queue[at][2].fun.__self__.qos.decrement_eventually()
        queue[:] = [each for at, each in enumerate(queue) if at not in waiting]
        heapq.heapify(queue)
        return set(waiting.values())

    def _close_pipe(self) -> None:
        with self._arrived:
            pipe, self._pipe = self._pipe, None
        for each in pipe or ():
            os.close(each)

    # -- exchanges

    def exchange_topic(self, exchange: str) -> str:
        """Return the topic of an exchange, created if need be."""
        topic = self.options.exchange_topic(exchange)
        self.engine.ensure_topic(topic, 1, self.options.replication_factor, EXCHANGE_CONFIG)
        return topic

    def listen(self, queue: str, exchange: str, routing_key: str, pattern: str, kind: str) -> None:
        """Let a transient queue receive the messages of an exchange from now on."""
        topic = self.exchange_topic(exchange)
        heard = self.heard[queue]
        match = TopicExchange(None)._match

        def hear(record: Record) -> None:
            found = heard_from(record, topic)
            if found is not None and matches(kind, routing_key, pattern, found[0], match):
                heard.append(found[1])
                self.news()

        async def begin() -> Ear:
            tail = engine.tail(topic)
            await tail.listen(hear)
            return Ear(engine, tail, hear)

        engine = self.engine
        self.listening.setdefault(queue, []).append(engine.run(begin(), OPEN_S))

    def forget(self, queue: str) -> None:
        """Forget a transient queue that has ended."""
        self.heard.pop(queue, None)
        for ear in self.listening.pop(queue, []):
            ear.engine.soon(ear.tail.forget, ear.hear)


def _task_of(entry: Any) -> Any:
    """Return the delivery tag of the task that a timer's entry starts; None for other entries."""
    request = entry.args[0] if entry.args and hasattr(getattr(entry.fun, "__self__", None), "qos") else None
    return getattr(getattr(request, "message", None), "delivery_tag", None)
