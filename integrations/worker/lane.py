"""One handler at work: records are acquired while there is room, worked on side by side, and given back at the end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Coroutine, Sequence
from typing import Any, Final, NamedTuple, Protocol

from shareq.aio import AcknowledgeType, BrokerError, ClientError, LockLost, ShareRecord
from shareq.client.aio.again import Mover, Upkeep, is_for_another, may_move_s
from shareq.client.aio.consumer.records import State
from shareq.client.aio.early import NOT_BEFORE, TOO_FAR, EarlyRecords, not_before_s
from shareq.worker.counts import Counts
from shareq.worker.executors import Executor
from shareq.worker.job import Message, Retry, Ruling, Verdict, ruling
from shareq.worker.tracebacks import keep_users_frames
from shareq.worker.tracing import Span

logger = logging.getLogger(__name__)

POLL_S: Final = 60.0
MOST_WAITING: Final = 1000
"""Records that wait for their next try in the worker: with so many, nothing more is acquired. Those that were sent
with a delay are not counted: what can be acquired bounds them, the window of the share partition."""
MOST_SHOWN: Final = 500
"""Characters of an exception in a log line."""
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


class Buffered(Protocol):
    """The part of a consumer's metrics that counts records acquired and not handed out."""

    @property
    def buffered(self) -> int: ...


class Consumer(Protocol):
    """The part of `shareq.aio.ShareConsumer` that a lane needs."""

    async def poll(self, *, timeout_s: float = ..., max_records: int = ...) -> Sequence[ShareRecord]: ...

    async def settle(self, record: ShareRecord, kind: AcknowledgeType, reason: str = ...) -> None: ...

    async def close(self, *, drain_s: float = ...) -> None: ...

    @property
    def metrics(self) -> Buffered: ...

    @property
    def assignment(self) -> frozenset[tuple[str, int]]: ...


class Waits(NamedTuple):
    """Records that may not begin before a time: `max_delay_s` is how far ahead that may lie."""

    group: str
    max_delay_s: float
    early: EarlyRecords
    mover: Mover


class Lane:
    """`run` until `stop`; then `drain`, which waits for the handlers, and `close`.

    A record that waits for its next try, or for the time before which it may not begin, keeps its lock, and no place of
    `concurrency`.
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
    ) -> None:
        self.counts = counts
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
        self._closing = False
        self.failure: Exception | None = None

    @property
    def assigned(self) -> bool:
        """True if the group has given it partitions."""
        return bool(self._consumer.assignment)

    async def run(self) -> None:
        """Acquire and begin records until `stop`. Raises what the consumer is refused with."""
        await self._executor.start()
        try:
            while not self._stopping.is_set():
                self._room.clear()
                self._begin_due()
                if self._free > 0 and self._retrying < MOST_WAITING:
                    await self._acquire()
                else:
                    await self._wait_for_room()
        except ClientError as error:
            self.failure = error
            raise

    def stop(self) -> None:
        """Begin nothing more; records that wait, for their time or their next try, are released at once."""
        if not self._stopping.is_set():
            self._stopping.set()
            self._spawn(self._release_early())
        self._room.set()

    async def drain(self) -> None:
        """Wait for what was begun, and for what `stop` gives back."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def close(self) -> None:
        """Cancel what still runs, release all records, leave the group."""
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
        """Return the counts as of now."""
        self.counts.ahead = self._consumer.metrics.buffered
        self.counts.waiting = self._retrying + len(self._early)
        return self.counts

    @property
    def _free(self) -> int:
        return self.counts.concurrency - self.counts.working

    def _until_due_s(self) -> float:
        """Return how long to wait for other things."""
        due = self._early.next_due
        return POLL_S if due is None else max(0.0, min(POLL_S, due - time.time()))

    async def _wait_for_room(self) -> None:
        """Or, if there is room, for the next record that is due."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._until_due_s() if self._free > 0 else None):
                await self._room.wait()

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
        """Keep the record until `due`, in seconds since the epoch. Its lock is renewed as if it had come then."""
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
                await self._executor.run(message)
        except (
            BaseException
        ) as raised:  # sys.exit() and a cancelled task within the handler are failures of this record
            if self._closing or not _running():
                raise
            error = raised
        finally:
            self.counts.took(time.monotonic() - began)
            self.counts.working -= 1
            self._room.set()
        what = ruling(self._retry, error, message.attempt, group_delays=self._group_delays)
        if error is not None:
            _log(message, error, what)
        if what.delay_s:
            await self._wait(record, what.delay_s)
        await self._settle(record, what.verdict, reason_of(error) if error is not None else "")

    async def _wait(self, record: ShareRecord, seconds: float) -> None:
        """Wait for the next try, for as long as the record's lock is this member's."""
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
    """Return how log lines name a record."""
    return f"{what.topic}-{what.partition}@{what.offset}"


def shortened(error: BaseException) -> str:
    """Return an exception as log lines show it."""
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
    """Return whether the current task goes on: a coroutine that is thrown away gets GeneratorExit outside of it."""
    try:
        return asyncio.current_task() is not None
    except RuntimeError:
        return False


def _log(message: Message, error: BaseException, what: Ruling) -> None:
    fate = "rejected" if what.verdict is Verdict.REJECT else "released"
    after = f" after {what.delay_s:g} s" if what.delay_s else ""
    trace = error if fate == "rejected" and keep_users_frames(error) else None
    place, shown = place_of(message), shortened(error)
    logger.warning("%s, attempt %d: %s: %s%s", place, message.attempt, shown, fate, after, exc_info=trace)
