"""`Worker`: functions by topic, and the run of all of them until a signal."""

from __future__ import annotations

import asyncio
import inspect
import logging
import math
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeVar

from shareq.aio import ShareConsumer
from shareq.client.aio.again import Again
from shareq.client.aio.early import MAX_DELAY_S, EarlyRecords
from shareq.client.aio.signals import on_signal
from shareq.client.aio.threads import in_thread
from shareq.client.config import ClientConfig
from shareq.client.errors import ConfigError
from shareq.worker.ahead import Ahead
from shareq.worker.counts import Counts
from shareq.worker.executors import Executor, InProcesses, InThreads, OnLoop
from shareq.worker.group import GroupFacts, prepare
from shareq.worker.health import HealthServer
from shareq.worker.job import Call, Decode, Retry, call_of
from shareq.worker.lane import Lane, Middleware, Waits
from shareq.worker.pace import Pace, rate_of
from shareq.worker.sender import Sender
from shareq.worker.tracing import spans

logger = logging.getLogger(__name__)

ExecutorName = Literal["asyncio", "thread", "process"]
AcquireMode = Literal["batch_optimized", "record_limit"]
F = TypeVar("F", bound=Callable[..., Any])
M = TypeVar("M", bound=Middleware)

EXECUTORS: Final = ("asyncio", "thread", "process")
LONGEST_S: Final = 3600.0
"""The seconds for which a handler without a timeout keeps its record's lock."""
SLACK_S: Final = 60.0
STOP_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class Handler:
    """A function, and the way it works on a topic.

    `adapts`: acquire more than `prefetch` ahead if calls are short. `per_s`: how many calls may begin in a second; None
    for any number.
    """

    topics: tuple[str, ...]
    call: Call
    executor: ExecutorName
    concurrency: int
    prefetch: int
    adapts: bool
    retry: Retry
    timeout_s: float | None
    per_s: float | None

    @property
    def name(self) -> str:
        return ",".join(self.topics)

    @property
    def renew_s(self) -> float:
        """The time for which a record's lock is renewed: for the handler and the wait for the next try."""
        return (self.timeout_s or LONGEST_S) + self.retry.longest + SLACK_S

    def new_executor(self) -> Executor:
        if self.executor == "asyncio":
            return OnLoop(self.call, self.timeout_s)
        kind = InThreads if self.executor == "thread" else InProcesses
        return kind(self.call, self.timeout_s, self.concurrency)


class Worker:
    """Functions that work on the records of topics, as members of one share group:

        app = Worker("localhost:9092", group="packers")

        @app.handler("parcels", concurrency=4, retry=Retry(max=3, delay=1), decode="json")
        async def pack(parcel):
            ...

    `shareq worker run module:app` runs it, or `app.run()`. `group_config` are configs of the share group by Kafka's
    names, set at the start. `properties` are the client's, for TLS, SASL and timeouts. `health` is where to answer HTTP
    (HOST:PORT): /healthz, /metrics. `stop_s`: how long handlers may continue after SIGTERM. `max_delay`: how many
    seconds ahead the time of a record may lie (`delay=`, `eta=` of the sender); a record beyond that is rejected.
    Raises ConfigError.
    """

    def __init__(
        self,
        bootstrap_servers: str | Sequence[str] = "127.0.0.1:9092",
        *,
        group: str,
        group_config: Mapping[str, str] | None = None,
        properties: Mapping[str, str] | None = None,
        health: str | None = None,
        stop_s: float = STOP_S,
        acquire_mode: AcquireMode = "record_limit",
        max_delay: float = MAX_DELAY_S,
    ) -> None:
        servers = bootstrap_servers if isinstance(bootstrap_servers, str) else ",".join(bootstrap_servers)
        self.bootstrap_servers = servers
        self.group = group
        self.health = health
        self.stop_s = stop_s
        self.max_delay = max_delay
        self.handlers: list[Handler] = []
        self._middleware: list[Middleware] = []
        self._properties = dict(properties or {})
        self._group_config = dict(group_config or {})
        self._acquire_mode: AcquireMode = acquire_mode
        if not group:
            raise ConfigError("group: must not be empty")
        if not 0 <= max_delay < math.inf:
            raise ConfigError(f"max_delay is {max_delay!r}: must be a number of seconds, 0 or more")
        self.client_config()

    def handler(
        self,
        *topics: str,
        concurrency: int = 1,
        prefetch: int | None = None,
        retry: Retry | None = None,
        executor: ExecutorName | None = None,
        timeout: float | None = None,
        decode: Decode = "bytes",
        rate: str | None = None,
    ) -> Callable[[F], F]:
        """Register a function for the records of these topics.

        It is called with the value, or with value and `Message`.

        `concurrency` is how many records it works on at once, `prefetch` how many are acquired ahead: by default as
        many as `concurrency`, and more if calls are short. `executor` defaults to "asyncio" for coroutines, "thread"
        for other functions; "process" takes functions of modules. A call that takes longer than `timeout` seconds has
        failed. `rate`, "100/s", "30/m" or "5/h", is how many calls of this worker may begin; nothing is then acquired
        ahead unless `prefetch` is given. Raises ConfigError.
        """
        if not topics or not all(isinstance(each, str) and each for each in topics):
            raise ConfigError('handler: must have a topic: @app.handler("parcels")')
        if concurrency < 1 or (prefetch is not None and prefetch < 0) or (timeout is not None and not timeout > 0):
            raise ConfigError("handler: concurrency must be 1 or more, prefetch 0 or more, timeout above 0")

        def add(function: F) -> F:
            is_coroutine = inspect.iscoroutinefunction(function)
            where = executor or ("asyncio" if is_coroutine else "thread")
            if where not in EXECUTORS:
                raise ConfigError(f"executor is {where!r}: must be one of {', '.join(EXECUTORS)}")
            if where == "asyncio" and not is_coroutine:
                name = getattr(function, "__name__", repr(function))
                raise ConfigError(f"{name}: is no coroutine: its executor must be thread or process")
            try:
                call = call_of(function, decode)
            except ValueError as error:
                raise ConfigError(str(error)) from None
            per_s = None if rate is None else rate_of(rate)
            usual = concurrency if per_s is None else 0
            self.handlers.append(
                Handler(
                    topics=topics,
                    call=call,
                    executor=where,
                    concurrency=concurrency,
                    prefetch=usual if prefetch is None else prefetch,
                    adapts=prefetch is None and per_s is None,
                    retry=retry or Retry(),
                    timeout_s=timeout,
                    per_s=per_s,
                )
            )
            return function

        return add

    def middleware(self, function: M) -> M:
        """Run a coroutine function around every call, with its `Message` and a function that makes the call:

            @app.middleware
            async def timed(message, call):
                began = time.monotonic()
                try:
                    await call()
                finally:
                    print(message.topic, time.monotonic() - began)

        The first that is added is the outermost. It runs on the event loop, whatever the handler's executor. An
        exception from it is a failure of the record; if it does not make the call, the handler counts as having
        returned. Raises ConfigError.
        """
        is_coroutine: bool = inspect.iscoroutinefunction(function)
        if not is_coroutine:
            raise ConfigError(f"middleware: {getattr(function, '__name__', function)!r} must be a coroutine function")
        self._middleware.append(function)
        return function

    def sender(self) -> Sender:
        """Return a sender to topics of the same cluster, usable from any thread."""
        return Sender(self.client_config(), self.max_delay)

    def client_config(self) -> ClientConfig:
        """Return the config of the cluster's client. Raise ConfigError."""
        return ClientConfig.from_properties({**self._properties, "bootstrap.servers": self.bootstrap_servers})

    def run(self) -> None:
        """Work until SIGTERM or SIGINT; then finish running calls within `stop_s`, and release the other records.

        A second signal ends that wait. Raises the error with which the group or a topic is refused.
        """
        asyncio.run(self.serve(signals=True))

    async def serve(
        self, *, signals: bool = False, stop: asyncio.Event | None = None, look: Callable[[Run], None] | None = None
    ) -> None:
        """Run as `run` does, on the running loop, until `stop` is set.

        `look` is called once, when all handlers have begun.
        """
        if not self.handlers:
            raise ConfigError("the worker has no handlers")
        await Run(self, stop or asyncio.Event()).go(signals, look)

    def open_lane(self, handler: Handler, facts: GroupFacts) -> Lane:
        """Return a member of the group for a handler, on the running loop; its `run` joins the group."""
        consumer = ShareConsumer(
            self.bootstrap_servers,
            self.group,
            handler.topics,
            acknowledgement="explicit",
            acquire_mode=self._acquire_mode,
            prefetch=handler.prefetch,
            renew_s=handler.renew_s,
            properties=self._properties,
        )
        try:
            executor = handler.new_executor()
        except ValueError as error:
            raise ConfigError(str(error)) from None
        counts = Counts(handler.name, handler.concurrency)
        waits = Waits(
            self.group,
            self.max_delay,
            EarlyRecords(facts.window, facts.limit),
            Again(self.bootstrap_servers, self.group, self._properties),
            facts.keeps_ms,
        )
        span = spans(self.group)
        ahead = Ahead(handler.concurrency, handler.prefetch) if handler.adapts and facts.may_give_back else None
        return Lane(
            consumer,
            executor,
            counts,
            handler.retry,
            span,
            waits,
            group_delays=facts.delays,
            ahead=ahead,
            pace=None if handler.per_s is None else Pace(handler.per_s),
            around=self._middleware,
        )

    def prepare_group(self) -> GroupFacts:
        """Set the group's configs, and ask for the values in effect. Blocks. Raises BrokerError, Unreachable."""
        facts = prepare(self.client_config(), self.group, self._group_config)
        for handler in self.handlers:
            most = handler.retry.max
            if most is not None and facts.limit is not None and most + 1 > facts.limit:
                logger.warning(
                    "%s: %d retries are more than share.delivery.count.limit (%d) of group %s allows",
                    handler.name,
                    most,
                    facts.limit,
                    self.group,
                )
        return facts


class Run:
    """One run of a worker."""

    def __init__(self, worker: Worker, stop: asyncio.Event) -> None:
        self.lanes: list[Lane] = []
        self.began = False
        self.group = worker.group
        self._worker = worker
        self._stop = stop
        self._hurry = asyncio.Event()

    @property
    def healthy(self) -> bool:
        """True if all handlers are working, or waiting for records."""
        return self.began and not self._stop.is_set() and all(lane.failure is None for lane in self.lanes)

    async def go(self, signals: bool, look: Callable[[Run], None] | None) -> None:
        """Run the worker from beginning to end."""
        if signals:
            for number in (signal.SIGTERM, signal.SIGINT):
                on_signal(number, self._signalled)
        server = HealthServer(self._worker.health, self) if self._worker.health is not None else None
        if server is not None:
            await server.start()
        try:
            facts = await self._prepare()
            if facts is not None:
                await self._work(facts, look)
        finally:
            if server is not None:
                await server.stop()

    async def _prepare(self) -> GroupFacts | None:
        """Prepare the group. Return None if the run must stop before the cluster has answered."""
        preparing = asyncio.create_task(in_thread(self._worker.prepare_group))
        stopping = asyncio.create_task(self._stop.wait())
        try:
            await asyncio.wait((preparing, stopping), return_when=asyncio.FIRST_COMPLETED)
            return None if self._stop.is_set() else preparing.result()
        finally:
            preparing.cancel()
            stopping.cancel()
            await asyncio.gather(preparing, stopping, return_exceptions=True)

    async def _work(self, facts: GroupFacts, look: Callable[[Run], None] | None) -> None:
        self.lanes = [self._worker.open_lane(handler, facts) for handler in self._worker.handlers]
        tasks = [asyncio.create_task(lane.run(), name=lane.counts.name) for lane in self.lanes]
        self.began = True
        if look is not None:
            look(self)
        stopping = asyncio.create_task(self._stop.wait())
        try:
            await asyncio.wait((*tasks, stopping), return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._stop.set()
            await self._finish(tasks)
            await stopping
        for task in tasks:
            if not task.cancelled():
                task.result()

    async def _finish(self, tasks: Sequence[asyncio.Task[None]]) -> None:
        for lane in self.lanes:
            lane.stop()
        draining = asyncio.gather(*(lane.drain() for lane in self.lanes))
        hurry = asyncio.create_task(self._hurry.wait())
        await asyncio.wait((draining, hurry), timeout=self._worker.stop_s, return_when=asyncio.FIRST_COMPLETED)
        if not draining.done():
            left = sum(lane.counts.working for lane in self.lanes)
            logger.warning(
                "%d handlers have not finished within %g s: their records are released", left, self._worker.stop_s
            )
        hurry.cancel()
        draining.cancel()
        for task in tasks:
            if not task.done():
                task.cancel()
        await asyncio.gather(*tasks, draining, hurry, return_exceptions=True)
        await asyncio.gather(*(lane.close() for lane in self.lanes))

    def _signalled(self) -> None:
        if self._stop.is_set():
            self._hurry.set()
        self._stop.set()
