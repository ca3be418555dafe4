"""The client of one process: an event loop in a thread, for kombu's blocking calls. A fork makes a new one.

Asynchronous parts (consumers, tails, the producer) are used on the loop only; `run` and `soon` are for other threads.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import logging
import os
import threading
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterator, Mapping
from concurrent.futures import CancelledError
from typing import Any, ClassVar, Final, TypeVar

from shareq.aio import Producer
from shareq.client.admin import Admin
from shareq.client.admin.calls import only
from shareq.client.admin.topics import NewTopic
from shareq.client.aio.network import Network
from shareq.client.config import ClientConfig
from shareq.client.core.list_offsets import EARLIEST, LATEST
from shareq.client.errors import BrokerError, ClientError, Unreachable, understood
from shareq.client.network import Network as BlockingNetwork
from shareq.client.share.provision import configure_group, ensure_topic
from shareq.client.share.widest_window import reach
from shareq.kombu.tail import Tail
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.metadata import MetadataRequest
from shareq.protocol.records.record_codec import Headers

logger = logging.getLogger(__name__)

T = TypeVar("T")
SEND_S: Final = 30.0
BLOCK_S: Final = 10.0
END_S: Final = 5.0
SPARE_S: Final = 5.0
ENDED: Final = "the client's thread has ended"


class Engine:
    """The client of one process for a cluster, as `Engine.of` returns it.

    Any thread may call methods that are not for the loop only.
    """

    _known: ClassVar[dict[tuple[int, tuple[tuple[str, str], ...]], Engine]] = {}
    _lock = threading.Lock()

    def __init__(self, properties: Mapping[str, str]) -> None:
        self.properties = {name: value for name, value in properties.items() if name != "bootstrap.servers"}
        self.config = ClientConfig.from_properties(properties)
        self.servers = properties["bootstrap.servers"]
        self.pid = os.getpid()
        self.loop = asyncio.new_event_loop()
        self._tails: dict[str, Tail] = {}
        self._topics: set[str] = set()
        self._groups: set[str] = set()
        self._background: set[asyncio.Task[Any]] = set()
        self._ended = False
        self._watching: dict[Callable[[Exception], None], Callable[[], Awaitable[None]]] = {}
        self._thread = threading.Thread(target=self._live, name="shareq", daemon=True)
        self._thread.start()
        self.run(self._open(), END_S)

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> Engine:
        """Return the engine of these properties. Raises ConfigError for invalid properties."""
        key = os.getpid(), tuple(sorted(properties.items()))
        with cls._lock:
            found = cls._known.get(key)
            if found is None or not found.alive:
                found = cls._known[key] = cls(properties)
            return found

    @property
    def alive(self) -> bool:
        """True if the engine's thread runs in this process: a fork does not have the thread."""
        return self.pid == os.getpid() and not self._ended

    def watch(self, ended: Callable[[Exception], None], close: Callable[[], Awaitable[None]]) -> None:
        """If the loop ends before the process does, call `ended` in the loop's thread, and `close` on the loop."""
        self._watching[ended] = close

    def unwatch(self, ended: Callable[[Exception], None]) -> None:
        """Undo `watch`."""
        self._watching.pop(ended, None)

    def run(self, work: Coroutine[Any, Any, T], timeout_s: float) -> T:
        """Run a coroutine on the loop, and wait for it. Raises its error, or Unreachable if it takes too long."""
        if not self.alive:
            work.close()
            raise Unreachable(
                ENDED if self._ended else "the client belongs to the process that this one was forked from"
            )
        try:
            future = asyncio.run_coroutine_threadsafe(work, self.loop)
        except RuntimeError:  # the loop was closed a moment ago
            work.close()
            raise Unreachable(ENDED) from None
        try:
            return future.result(timeout_s)
        except CancelledError:
            raise Unreachable(ENDED) from None
        except TimeoutError:
            if future.done():
                raise
            future.cancel()
            raise Unreachable(f"not done within {timeout_s:g} s") from None

    def _wait_for(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a request of administration on the loop, and wait for it, within the client's own timeouts."""
        return self.run(work, self.config.default_api_timeout_ms / 1000 + SPARE_S)

    def soon(self, call: Callable[..., object], *arguments: Any) -> None:
        """Call a function on the loop, without waiting for it. Do nothing in a fork."""
        if self.alive:
            with contextlib.suppress(RuntimeError):  # the loop was closed a moment ago
                self.loop.call_soon_threadsafe(call, *arguments)

    def background(self, work: Coroutine[Any, Any, None]) -> None:
        """Start a task that `close` waits for; it logs its own errors. Must be called on the loop."""
        task = self.loop.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    # -- records

    def check(self, timeout_s: float) -> None:
        """Return if the cluster answers. Raises Unreachable, AuthenticationFailed."""
        self.run(self.network.request(None, MetadataRequest([]), timeout_ms=round(timeout_s * 1000)), timeout_s + 1)

    def send(self, topic: str, value: bytes, headers: Headers = ()) -> None:
        """Write a message, and return when it is stored.

        Raises BrokerError, Unreachable: the message may have been stored then.
        """
        self.run(self._send(topic, value, headers), SEND_S + BLOCK_S)

    def send_soon(self, topic: str, value: bytes, routing_key: str) -> None:
        """Write a message without waiting for the answer; errors are logged."""
        self.soon(lambda: self.background(self._send_soon(topic, value, routing_key)))

    def tail(self, topic: str) -> Tail:
        """Return the follower of a topic with one partition. Must be called on the loop."""
        found = self._tails.get(topic)
        if found is None:
            found = self._tails[topic] = Tail(self.network, topic)
        return found

    # -- topics and groups

    def ensure_topic(self, name: str, partitions: int, replication_factor: int, configs: Mapping[str, str]) -> None:
        """Create a topic, unless it is known to exist. Raises BrokerError, Unreachable."""
        if name in self._topics:
            return
        with self._admin() as admin:
            ensure_topic(admin, NewTopic(name, partitions, replication_factor, configs))
        self._topics.add(name)

    def ensure_group(self, group: str, configs: Mapping[str, str]) -> None:
        """Set configs of a share group, once; see `configure_group`. A refusal is logged. Raises Unreachable."""
        if group in self._groups:
            return
        with self._admin() as admin:
            configure_group(admin, group, configs, required=False)
        self._groups.add(group)

    def window(self, group: str) -> int:
        """Return how far past its oldest unfinished record a group goes; see `reach`. Raise Unreachable."""
        with self._admin() as admin:
            return reach(admin, group)

    def has_topic(self, name: str) -> bool:
        with self._admin() as admin:
            return not any(isinstance(found, ClientError) for _, found in admin.topics.describe([name]))

    def size(self, topic: str, group: str) -> int:
        """Return the number of unfinished records; 0 for a topic that does not exist."""
        with self._admin() as admin:
            partitions = self._partitions(admin, topic)
            if not partitions:
                return 0
            outcome = only(dict(admin.share_groups.offsets([group], {topic: partitions})), group)
            total, unknown = 0, []
            for number in partitions:
                row = outcome.get((topic, number))
                if row is None or isinstance(row, ClientError) or row.lag is None:
                    unknown.append((topic, number))
                else:
                    total += row.lag
            return total + self._count(admin, unknown)

    def delete(self, topic: str) -> None:
        """Delete a topic; a missing one is no error."""
        self._topics.discard(topic)
        with self._admin() as admin:
            outcome = admin.topics.delete([topic])[topic]
        if isinstance(outcome, ClientError) and not _is(outcome, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION):
            raise outcome

    @contextlib.contextmanager
    def _admin(self) -> Iterator[Admin]:
        with understood():
            yield Admin(BlockingNetwork.over(self.network, self._wait_for))

    def _partitions(self, admin: Admin, topic: str) -> list[int]:
        for _, found in admin.topics.describe([topic]):
            if not isinstance(found, ClientError):
                return [row.partition for row in found.partitions]
            if not _is(found, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION):
                raise found
        return []

    def _count(self, admin: Admin, partitions: list[tuple[str, int]]) -> int:
        if not partitions:
            return 0
        starts = admin.topics.offsets(dict.fromkeys(partitions, EARLIEST))
        ends = admin.topics.offsets(dict.fromkeys(partitions, LATEST))
        total = 0
        for each in partitions:
            start, end = starts[each], ends[each]
            if not isinstance(start, ClientError) and not isinstance(end, ClientError):
                total += (end.offset or 0) - (start.offset or 0)
        return total

    # -- life

    def close(self) -> None:
        """Send the pending messages, and close the client, at the end of the process."""
        with contextlib.suppress(Exception):
            self.run(self._close(), END_S)

    def _live(self) -> None:
        asyncio.set_event_loop(self.loop)
        reason = "stopped"
        try:
            self.loop.run_forever()
        except BaseException as error:  # SystemExit of a callback ends a loop, too
            reason = type(error).__name__
            logger.critical("the client's thread ended", exc_info=error)
        self._ended = True
        watching, self._watching = self._watching, {}
        for ended in watching:
            ended(EngineEnded(f"the client's thread ended: {reason}"))
        try:
            self._finish(self._hang_up(watching.values()))
        finally:
            self._finish(self._cancel_all())
            self.loop.close()

    async def _open(self) -> None:
        self.network = Network(self.config)
        self.network.driver.now()  # other threads ask for the time, too
        self._producer = Producer(
            self.servers,
            properties=self.properties,
            delivery_timeout_ms=round(SEND_S * 1000),
            max_block_ms=round(BLOCK_S * 1000),
        )

    def _finish(self, work: Coroutine[Any, Any, None]) -> None:
        """Run the loop again after its end, for this coroutine. The exception that ended the loop may end it again."""
        with contextlib.suppress(Exception, SystemExit, KeyboardInterrupt):
            self.loop.run_until_complete(work)

    async def _hang_up(self, consumers: Collection[Callable[[], Awaitable[None]]]) -> None:
        """Close all connections of a loop that has ended: the client's own, and those of its consumers."""
        closing = {asyncio.ensure_future(close()) for close in (self._producer.close, *consumers)}
        _, late = await asyncio.wait(closing, timeout=END_S)
        for each in late:  # they have begun: what is cancelled then closes its sockets, and does not wait for brokers
            each.cancel()
        await asyncio.gather(*closing, return_exceptions=True)
        self.network.close()
        await self.network.wait_closed()

    async def _cancel_all(self) -> None:
        """Cancel all tasks on the loop, so that waiting callers get an error."""
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        for each in rest:
            each.cancel()
        if rest:
            await asyncio.wait(rest, timeout=END_S)

    async def _close(self) -> None:
        while self._background:
            await asyncio.wait(self._background)
        await self._producer.flush()

    async def _send(self, topic: str, value: bytes, headers: Headers) -> None:
        await self._producer.send_and_wait(topic, value, headers=headers)

    async def _send_soon(self, topic: str, value: bytes, routing_key: str) -> None:
        try:
            await self._producer.send_and_wait(topic, value, headers=[("routing_key", routing_key.encode())])
        except ClientError as error:
            logger.warning("topic %s: a message was not written: %s", topic, error)
        except Exception:
            logger.exception("topic %s: a message was not written", topic)


class EngineEnded(ConnectionError):
    """An error: a client's event loop ended. New connections get a new loop."""


def _is(error: ClientError, code: ErrorCode) -> bool:
    return isinstance(error, BrokerError) and error.code == code


def _after_fork() -> None:
    Engine._lock = threading.Lock()  # it may have been held


def _at_exit() -> None:
    for engine in list(Engine._known.values()):
        if engine.alive:
            engine.close()


if hasattr(os, "register_at_fork"):  # Windows forks nothing
    os.register_at_fork(after_in_child=_after_fork)
atexit.register(_at_exit)
