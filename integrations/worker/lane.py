"""One handler at work: it acquires records while there is room, works on many at once, and releases them at the end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, Protocol

from shareq.aio import AcknowledgeType, BrokerError, ClientError, LockLost, ShareRecord
from shareq.client.aio.again import Mover, Upkeep, is_for_another, may_move_s
from shareq.client.aio.consumer.records import State
from shareq.client.aio.early import TOO_FAR, EarlyRecords, not_before_s
from shareq.protocol.names import NOT_BEFORE
from shareq.worker.ahead import Ahead
from shareq.worker.counts import Counts
from shareq.worker.executors import Executor
from shareq.worker.job import Message, Retry, Ruling, Verdict, ruling
from shareq.worker.pace import Pace
from shareq.worker.tracebacks import keep_users_frames
from shareq.worker.tracing import Span

logger = logging.getLogger(__name__)

POLL_S: Final = 60.0
MOST_WAITING: Final = 1000
"""The most records that wait for their next try in the worker: with so many, no more are acquired.

Records sent with a delay do not count: the window of the share partition bounds them.
"""
LINGER_S: Final = 0.005
"""The seconds that a finished record may wait for others, to be accepted together, while there is work."""
MOST_SHOWN: Final = 500
"""The most characters of an exception in a log line."""
_KINDS: Final = {
    Verdict.ACCEPT: AcknowledgeType.ACCEPT,
    Verdict.RELEASE: AcknowledgeType.RELEASE,
    Verdict.REJECT: AcknowledgeType.REJECT,
}
_DONE: Final = {
    AcknowledgeType.ACCEPT: "accepted",
    AcknowledgeType.RELEASE: "released",
    AcknowledgeType.REJECT: "rejected",
}


Middleware = Callable[[Message, Callable[[], Awaitable[None]]], Awaitable[None]]
"""A coroutine function around calls; it gets the message and a function that makes the call."""


class Buffered(Protocol):
    """The metric of a consumer that counts the records acquired but not handed out."""

    @property
    def buffered(self) -> int: ...


class Consumer(Protocol):
    """The part of `shareq.aio.ShareConsumer` that a lane needs."""

    async def poll(self, *, timeout_s: float = ..., max_records: int = ...) -> Sequence[ShareRecord]: ...

    def take_ready(self, most: int) -> Sequence[ShareRecord]: ...

    def acquire_ahead(self, records: int) -> None: ...

    def give_back(self, keep: int) -> int: ...

    async def settle(self, record: ShareRecord, kind: AcknowledgeType, reason: str = ...) -> None: ...

    async def settle_all(self, records: Sequence[ShareRecord], kind: AcknowledgeType, reason: str = ...) -> None: ...

    async def close(self, *, drain_s: float = ...) -> None: ...

    @property
    def metrics(self) -> Buffered: ...

    @property
    def lock_s(self) -> float: ...

    @property
    def assignment(self) -> frozenset[tuple[str, int]]: ...


class Waits(NamedTuple):
    """Limits for records that may not begin before a time, at most `max_delay_s` ahead.

    `keeps_ms`: how long the broker can delay a released record, 0 if it cannot.
    """

    group: str
    max_delay_s: float
    early: EarlyRecords
    mover: Mover
    keeps_ms: int = 0


class Lane:
    """One handler at work. Call `run`, which ends with `stop`; then `drain`, which waits for the handlers, and `close`.

    A record that waits for its next try, or for the time before which it may not begin, keeps its lock, and takes no
    place of `concurrency`.
    """

    def __init__(
        self,
        consumer: Consumer,
        executor: Executor,
        counts: Counts,
        retry: Retry,
        span: Span,
        waits: Waits,
        *,
        group_delays: bool,
        ahead: Ahead | None = None,
        pace: Pace | None = None,
        around: Sequence[Middleware] = (),
    ) -> None:
        """Set up a lane. `ahead` decides how many records are acquired ahead; by default the consumer's own setting
        does.

        `around`: the first is the outermost.
        """
        self.counts = counts
        self._ahead = ahead
        self._pace = pace
        self._around = tuple(reversed(around))
        self._consumer = consumer
        self._executor = executor
        self._retry = retry
        self._span = span
        self._group_delays = group_delays
        self._room = asyncio.Event()
        self._stopping = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._waits = waits
        self._early = waits.early
        self._upkeep = Upkeep(waits.early, waits.mover)
        self._retrying = 0
        self._done: list[ShareRecord] = []  # finished, and not accepted yet
        self._closing = False
        self.failure: Exception | None = None

    @property
    def assigned(self) -> bool:
        """True if the group has assigned partitions."""
        return bool(self._consumer.assignment)

    async def run(self) -> None:
        """Acquire and begin records until `stop`. Raises the error with which the consumer is refused."""
        await self._executor.start()
        try:
            while not self._stopping.is_set():
                self._room.clear()
                self._begin_due()
                if self._free > 0 and self._retrying < MOST_WAITING:
                    for record in self._consumer.take_ready(self._free):
                        self._take(record)
                    if self._free > 0:
                        await self._acquire()
                else:
                    await self._wait_for_room()
        except ClientError as error:
            self.failure = error
            raise

    def stop(self) -> None:
        """Begin no more calls; records that wait for their time or their next try are released at once."""
        if not self._stopping.is_set():
            self._stopping.set()
            self._spawn(self._release_early())
        self._room.set()

    async def drain(self) -> None:
        """Wait for running calls, and for the releases of `stop`."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def close(self) -> None:
        """Cancel running calls, release all records, leave the group."""
        self._closing = True
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        self._executor.stop()
        await self._upkeep.stop()
        await self._consumer.close()

    def look(self) -> Counts:
        """Return the current counts."""
        self.counts.ahead = self._consumer.metrics.buffered
        self.counts.waiting = self._retrying + len(self._early)
        return self.counts

    @property
    def _free(self) -> int:
        """The number of calls that may begin now."""
        free = self.counts.concurrency - self.counts.working
        return free if self._pace is None else min(free, self._pace.ready(time.monotonic()))

    def _until_due_s(self) -> float:
        """Return the seconds until a record is due, `POLL_S` at most: so long to wait for anything else."""
        due = self._early.next_due
        return POLL_S if due is None else max(0.0, min(POLL_S, due - time.time()))

    async def _wait_for_room(self) -> None:
        """Wait for room; if there is room, for the next record that is due."""
        patience_s = self._ahead.patience_s(self._consumer.lock_s) if self._ahead is not None else None
        if self._pace is not None and self.counts.working < self.counts.concurrency:
            patience_s = self._pace.wait_s(time.monotonic())
        try:
            async with asyncio.timeout(self._until_due_s() if self._free > 0 else patience_s):
                await self._room.wait()
        except TimeoutError:
            if self._ahead is not None and patience_s is not None and self._free <= 0:
                self._give_back(self._ahead, patience_s)

    def _give_back(self, ahead: Ahead, waited_s: float) -> None:
        """Release the records acquired ahead, none of which could begin for too long."""
        ahead.took(waited_s)
        least = ahead.count(self._consumer.lock_s)
        self._consumer.acquire_ahead(least)
        if given := self._consumer.give_back(least):
            logger.info("%s: no call has ended for %.1f s: %d records go back", self.counts.name, waited_s, given)

    async def _acquire(self) -> None:
        polling = asyncio.ensure_future(self._consumer.poll(timeout_s=self._until_due_s(), max_records=self._free))
        stopping = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait((polling, stopping), return_when=asyncio.FIRST_COMPLETED)
            if not polling.done():  # else its records are begun: they were handed out
                polling.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await polling
                return
            for record in polling.result():
                self._take(record)
        finally:
            polling.cancel()
            stopping.cancel()

    def _take(self, record: ShareRecord) -> None:
        due = not_before_s(record.headers)
        ahead_s = due - time.time()
        if is_for_another(record.headers, self._waits.group):
            self._spawn(self._settle(record, Verdict.ACCEPT))
        elif ahead_s <= 0:
            self._begin(record)
        elif ahead_s <= self._waits.max_delay_s:
            self._keep(record, due)
        else:
            why = TOO_FAR % (NOT_BEFORE, round(due * 1000), self._waits.max_delay_s)
            logger.warning("%s: %s: rejected", place_of(record), why)
            self._spawn(self._settle(record, Verdict.REJECT, why))

    def _keep(self, record: ShareRecord, due: float) -> None:
        """Keep the record until `due`, in seconds since the epoch. Its lock is renewed as if it had been delivered at
        that time.
        """
        record.held_since = asyncio.get_running_loop().time() + due - time.time()
        self._early.keep(record, due, may_move_s(record))
        self._upkeep.start()

    def _begin_due(self) -> None:
        while self._free > 0 and (record := self._early.pop_due(time.time())) is not None:
            self._begin(record)

    async def _release_early(self) -> None:
        releases = (self._consumer.settle(each, AcknowledgeType.RELEASE) for each in self._early.take_all())
        for outcome in await asyncio.gather(*releases, return_exceptions=True):
            if isinstance(outcome, BaseException) and not isinstance(outcome, ClientError):  # those come again
                raise outcome

    def _begin(self, record: ShareRecord) -> None:
        self.counts.working += 1
        if self._pace is not None:
            self._pace.began(time.monotonic())
        self._spawn(self._work(record))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _work(self, record: ShareRecord) -> None:
        message = message_of(record)
        began = time.monotonic()
        error: BaseException | None = None
        try:
            with self._span(message):
                await self._call(message)
        except (
            BaseException
        ) as raised:  # sys.exit() and a cancelled task within the handler are failures of this record
            if self._closing or not _running():
                raise
            error = raised
            _forget_cancellation()
        finally:
            took_s = time.monotonic() - began
            self.counts.took(took_s)
            self.counts.working -= 1
            self._room.set()
        if self._ahead is not None:
            self._ahead.took(took_s)
            self._consumer.acquire_ahead(self._ahead.count(self._consumer.lock_s))
        what = ruling(self._retry, error, message.attempt, group_delays=self._group_delays)
        if error is not None:
            _log(message, error, what)
        if what.verdict is Verdict.ACCEPT:
            self._accept_soon(record)
            return
        if what.delay_s and (later_ms := math.ceil(what.delay_s * 1000)) <= self._waits.keeps_ms:
            record.later_ms = later_ms
        elif what.delay_s:
            await self._wait(record, what.delay_s)
        await self._settle(record, what.verdict, reason_of(error) if error is not None else "")

    def _call(self, message: Message) -> Awaitable[None]:
        call: Callable[[], Awaitable[None]] = partial(self._executor.run, message)
        for each in self._around:
            call = partial(each, message, call)
        return call()

    async def _wait(self, record: ShareRecord, seconds: float) -> None:
        """Wait for the next try, as long as the record's lock is this member's."""
        until = time.monotonic() + seconds
        self._retrying += 1
        try:
            while (
                not self._stopping.is_set()
                and record.state is not State.LOST
                and (left := until - time.monotonic()) > 0
            ):
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(min(left, POLL_S)):
                        await self._stopping.wait()
        finally:
            self._retrying -= 1
            self._room.set()

    def _accept_soon(self, record: ShareRecord) -> None:
        """Accept a record together with others that end within `LINGER_S`. It counts as done once that is confirmed."""
        self._done.append(record)
        if len(self._done) == 1:
            self._spawn(self._accept_done())

    async def _accept_done(self) -> None:
        await asyncio.sleep(0)  # by then the next one has begun, if there is one
        if self.counts.working and not self._stopping.is_set():
            await asyncio.sleep(LINGER_S)
        done, self._done = self._done, []
        try:
            await self._consumer.settle_all(done, AcknowledgeType.ACCEPT)
        except ClientError:  # of some: each says what became of it
            left = [record for record in done if record.state is not State.DONE]
            self.counts.done += len(done) - len(left)
            for record in left:
                await self._settle(record, Verdict.ACCEPT)
        else:
            self.counts.done += len(done)

    async def _settle(self, record: ShareRecord, verdict: Verdict, reason: str = "") -> None:
        kind = _KINDS[verdict]
        try:
            await self._consumer.settle(record, kind, reason)
        except LockLost as error:
            self.counts.lost += 1
            logger.warning("%s; it comes again", error)
        except ClientError as error:
            self.counts.lost += 1
            what = str(error) if isinstance(error, BrokerError) else f"{place_of(record)}: {error}"  # those name it
            logger.error("%s: not %s", what, _DONE[kind])
            with contextlib.suppress(ClientError):
                await self._consumer.settle(record, AcknowledgeType.RELEASE)
        else:
            name = {Verdict.ACCEPT: "done", Verdict.RELEASE: "retried", Verdict.REJECT: "rejected"}[verdict]
            setattr(self.counts, name, getattr(self.counts, name) + 1)


def message_of(record: ShareRecord) -> Message:
    """Return the record as its handler sees it."""
    headers = tuple(record.headers)
    return Message(
        topic=record.topic,
        partition=record.partition,
        offset=record.offset,
        key=record.key,
        value=record.value,
        headers=headers,
        timestamp=record.timestamp,
        attempt=record.delivery_count,
    )


def place_of(what: ShareRecord | Message) -> str:
    """Return the name of a record in log lines."""
    return f"{what.topic}-{what.partition}@{what.offset}"


def shortened(error: BaseException) -> str:
    """Return the text of an exception for log lines."""
    try:
        text = repr(error)
    except Exception:  # of its own __repr__
        text = type(error).__name__
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"


def reason_of(error: BaseException) -> str:
    """Return the reason in the dead letter for an exception: its class and its text."""
    try:
        text = str(error)
    except Exception:  # of its own __str__
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _running() -> bool:
    """Return True inside a running task: a dropped coroutine gets GeneratorExit outside of its task."""
    try:
        return asyncio.current_task() is not None
    except RuntimeError:
        return False


def _forget_cancellation() -> None:
    """Take back requests to cancel this task that ended its handler alone.

    Otherwise no `asyncio.timeout` in this task raises TimeoutError before Python 3.11.4: CancelledError comes instead.
    """
    task = asyncio.current_task()
    while task is not None and task.cancelling():
        task.uncancel()


def _log(message: Message, error: BaseException, what: Ruling) -> None:
    fate = "rejected" if what.verdict is Verdict.REJECT else "released"
    after = f" after {what.delay_s:g} s" if what.delay_s else ""
    trace = error if fate == "rejected" and keep_users_frames(error) else None
    place, shown = place_of(message), shortened(error)
    logger.warning("%s, attempt %d: %s: %s%s", place, message.attempt, shown, fate, after, exc_info=trace)
