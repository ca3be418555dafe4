"""One handler over a fake consumer: acquisition, outcomes, and the end."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from shareq.aio import AcknowledgeType, BrokerError, ClientError, LockLost, ShareRecord
from shareq.client.aio import again
from shareq.client.aio.consumer.records import State
from shareq.client.aio.early import EarlyRecords
from shareq.protocol.names import NOT_BEFORE
from shareq.worker import Later, Reject, Retry
from shareq.worker import lane as lanes
from shareq.worker.ahead import PATIENCE_SHARE, Ahead
from shareq.worker.counts import Counts
from shareq.worker.executors import OnLoop
from shareq.worker.job import Call, Message
from shareq.worker.lane import Lane, Waits
from shareq.worker.pace import Pace
from shareq.worker.tracing import spans
from tests.support.waiting import comes_true

PATIENCE_S = 20
ACCEPT, RELEASE, REJECT = AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT


@dataclass
class Metrics:
    buffered: int = 0


class MadeUpConsumer:
    """A consumer that delivers the records in `ready` and remembers acknowledgements and requested counts."""

    def __init__(self, *values: bytes) -> None:
        self.ready = [self._record(offset, value) for offset, value in enumerate(values)]
        self.offsets = itertools.count(len(values))
        self.asked: list[int] = []
        self.ahead: list[int] = []
        self.kept: list[int] = []
        self.lock_s = 30.0
        self.settled: list[tuple[int, AcknowledgeType]] = []
        self.reasons: list[str] = []
        self.refuse: dict[int, ClientError] = {}
        self.failure: ClientError | None = None
        self.closed = False
        self.more = asyncio.Event()

    def _record(self, offset: int, value: bytes, not_before_ms: int | None = None) -> ShareRecord:
        attempt = int(value.partition(b"#")[2] or 1)
        headers = () if not_before_ms is None else ((NOT_BEFORE, b"%d" % not_before_ms),)
        return ShareRecord(self, "t", b"", 0, offset, -1, None, value, headers, attempt, 0.0)

    def add(self, value: bytes, *, delay_s: float) -> ShareRecord:
        """Add a record that may not be delivered before `delay_s` seconds have passed."""
        made = self._record(next(self.offsets), value, round((time.time() + delay_s) * 1000))
        self.ready.append(made)
        self.more.set()
        return made

    async def poll(self, *, timeout_s: float = 1, max_records: int = 1) -> Sequence[ShareRecord]:
        self.asked.append(max_records)
        if self.failure is not None:
            raise self.failure
        while not self.ready:
            self.more.clear()
            try:
                async with asyncio.timeout(timeout_s):
                    await self.more.wait()
            except TimeoutError:
                return []
        found, self.ready = self.ready[:max_records], self.ready[max_records:]
        return found

    def take_ready(self, most: int) -> Sequence[ShareRecord]:
        return []

    def acquire_ahead(self, records: int) -> None:
        self.ahead.append(records)

    def give_back(self, keep: int) -> int:
        self.kept.append(keep)
        return 1

    async def settle_all(self, records: Sequence[ShareRecord], kind: AcknowledgeType, reason: str = "") -> None:
        if error := next((self.refuse[each.offset] for each in records if each.offset in self.refuse), None):
            raise error
        for record in records:
            await self.settle(record, kind, reason)

    async def settle(self, record: ShareRecord, kind: AcknowledgeType, reason: str = "") -> None:
        await asyncio.sleep(0)
        if (error := self.refuse.pop(record.offset, None)) is not None:
            raise error
        self.settled.append((record.offset, kind))
        self.reasons.append(reason)

    async def close(self, *, drain_s: float = 0) -> None:
        self.closed = True

    metrics = Metrics()
    assignment = frozenset({("t", 0)})


class MadeUpMover:
    """A mover that sends records again into `log`; `end`: the log's end."""

    def __init__(self, end: int = 0) -> None:
        self.end = end
        self.sent: list[tuple[int, float]] = []
        self.refuses = False
        self.closed = False

    async def look(self, early: EarlyRecords) -> None:
        for tp in early.partitions():
            early.reached(tp, self.end)

    async def send(self, record: ShareRecord, due: float) -> bool:
        self.sent.append((record.offset, due))
        if not self.refuses:
            await record.accept()
        return not self.refuses

    async def close(self) -> None:
        self.closed = True


Handle = Callable[[bytes], Awaitable[None]]


def lane_of(consumer: MadeUpConsumer, handle: Handle, concurrency: int = 1, **more: Any) -> Lane:
    executor = OnLoop(Call(handle, more.pop("decode", "bytes"), False), None)
    counts = Counts("t", concurrency)
    group_delays = more.pop("group_delays", False)
    mover = more.pop("mover", None) or MadeUpMover()
    early, keeps_ms = EarlyRecords(more.pop("window", 2_000)), more.pop("keeps_ms", 0)
    waits = Waits("g", more.pop("max_delay", 86_400.0), early, mover, keeps_ms)
    given = {name: more.pop(name) for name in ("ahead", "pace", "around") if name in more}
    return Lane(consumer, executor, counts, Retry(**more), spans("g"), waits, group_delays=group_delays, **given)


async def finish(lane: Lane, running: asyncio.Task[None]) -> None:
    lane.stop()
    async with asyncio.timeout(PATIENCE_S):
        await lane.drain()
        await running
        await lane.close()


async def test_records_are_accepted_released_and_rejected() -> None:
    async def handle(value: bytes) -> None:
        kind = value.partition(b"#")[0]
        if kind == b"fails":
            raise ValueError
        if kind == b"broken":
            raise Reject

    consumer = MadeUpConsumer(b"good", b"fails", b"fails#3", b"broken")
    lane = lane_of(consumer, handle, 4, max=2)
    running = asyncio.create_task(lane.run())
    await comes_true(lambda: len(consumer.settled) == 4)
    await finish(lane, running)
    assert dict(consumer.settled) == {0: ACCEPT, 1: RELEASE, 2: REJECT, 3: REJECT}
    counts = lane.look()
    assert (counts.done, counts.retried, counts.rejected, counts.lost) == (1, 1, 2, 0)
    assert consumer.closed


async def test_a_rate_lets_so_many_begin_and_acquires_no_more() -> None:
    begun: list[float] = []

    async def handle(_: bytes) -> None:
        begun.append(time.monotonic())

    consumer = MadeUpConsumer(*(b"%d" % number for number in range(8)))
    before = time.monotonic()
    pace = Pace(20.0)  # two may begin together
    lane = lane_of(consumer, handle, 5, pace=pace)
    running = asyncio.create_task(lane.run())
    await comes_true(lambda: len(consumer.settled) == 8)
    await finish(lane, running)
    assert max(consumer.asked) == 2
    assert begun[-1] - before >= 6 / 20 - 0.01  # a busy machine may begin late, never early


async def test_middleware_is_around_each_call_the_first_outermost() -> None:
    seen: list[str] = []

    async def handle(value: bytes) -> None:
        seen.append(f"handle {value.decode()}")
        if value == b"fails":
            raise ValueError

    async def outer(message: Message, call: Callable[[], Awaitable[None]]) -> None:
        seen.append(f"outer {message.offset}")
        try:
            await call()
        except ValueError:
            seen.append("outer saw it")
            raise

    async def inner(message: Message, call: Callable[[], Awaitable[None]]) -> None:
        seen.append("inner")
        if message.value == b"refused":
            raise Reject("not here")
        if message.value != b"skipped":
            await call()

    consumer = MadeUpConsumer(b"good", b"fails", b"refused", b"skipped")
    lane = lane_of(consumer, handle, around=(outer, inner))
    running = asyncio.create_task(lane.run())
    await comes_true(lambda: len(consumer.settled) == 4)
    await finish(lane, running)
    assert seen == [
        *("outer 0", "inner", "handle good"),
        *("outer 1", "inner", "handle fails", "outer saw it"),
        *("outer 2", "inner"),
        *("outer 3", "inner"),
    ]
    assert dict(consumer.settled) == {0: ACCEPT, 1: RELEASE, 2: REJECT, 3: ACCEPT}


async def test_no_more_are_at_work_than_may_be_and_a_slow_one_holds_up_nobody() -> None:
    go_on = asyncio.Event()
    at_work: set[bytes] = set()
    most = 0

    async def handle(value: bytes) -> None:
        nonlocal most
        at_work.add(value)
        most = max(most, len(at_work))
        await (go_on.wait() if value == b"slow" else asyncio.sleep(0))
        at_work.discard(value)

    consumer = MadeUpConsumer(b"slow", *(b"%d" % number for number in range(20)))
    lane = lane_of(consumer, handle, 3)
    running = asyncio.create_task(lane.run())
    await comes_true(lambda: len(consumer.settled) == 20)
    assert at_work == {b"slow"}
    assert most == 3
    assert max(consumer.asked) == 3
    go_on.set()
    await finish(lane, running)
    assert consumer.settled[-1] == (0, ACCEPT)


async def test_what_the_broker_keeps_is_released_with_its_time_and_what_is_longer_waits_here() -> None:
    async def handle(value: bytes) -> None:
        raise Later(61 if value == b"longer" else 1.5)

    consumer = MadeUpConsumer(b"longer", b"later")
    longer, later = consumer.ready
    lane = lane_of(consumer, handle, 1, keeps_ms=60_000)
    running = asyncio.create_task(lane.run())
    await comes_true(lambda: consumer.settled)
    assert (consumer.settled, later.later_ms, longer.later_ms) == ([(1, RELEASE)], 1_500, 0)
    assert (lane.look().waiting, lane.counts.retried) == (1, 1)
    await finish(lane, running)


async def test_a_record_that_waits_for_its_next_try_takes_no_place_and_is_released_at_the_end() -> None:
    async def handle(value: bytes) -> None:
        if value == b"later":
            raise Later(3600)
        if value == b"fails":
            raise ValueError

    consumer = MadeUpConsumer(b"later", b"fails", b"good")
    lane = lane_of(consumer, handle, 1, delay=3600, longest=3600)
    running = asyncio.create_task(lane.run())
    await comes_true(lambda: consumer.settled)
    assert consumer.settled == [(2, ACCEPT)]
    assert (lane.look().waiting, lane.counts.working) == (2, 0)
    await finish(lane, running)
    assert sorted(consumer.settled) == [(0, RELEASE), (1, RELEASE), (2, ACCEPT)]


async def test_after_its_delay_a_record_is_released() -> None:
    async def handle(value: bytes) -> None:
        raise ValueError

    consumer = MadeUpConsumer(b"fails")
    lane = lane_of(consumer, handle, delay=0.05)
    began = asyncio.get_running_loop().time()
    running = asyncio.create_task(lane.run())
    await comes_true(lambda: consumer.settled)
    assert asyncio.get_running_loop().time() - began >= 0.05
    await finish(lane, running)
    assert consumer.settled == [(0, RELEASE)]


async def test_where_the_group_delays_records_the_worker_does_not() -> None:
    async def handle(value: bytes) -> None:
        raise ValueError

    consumer = MadeUpConsumer(b"fails")
    lane = lane_of(consumer, handle, delay=3600, longest=3600, group_delays=True)
    running = asyncio.create_task(lane.run())
    await comes_true(lambda: consumer.settled)
    await finish(lane, running)
    assert consumer.settled == [(0, RELEASE)]


async def test_too_many_that_wait_stop_the_acquiring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shareq.worker.lane.MOST_WAITING", 2)

    async def handle(value: bytes) -> None:
        raise Later(3600)

    consumer = MadeUpConsumer(*[b"later"] * 5)
    lane = lane_of(consumer, handle)
    running = asyncio.create_task(lane.run())
    await comes_true(lambda: lane.look().waiting == 2)
    for _ in range(20):
        await asyncio.sleep(0)
    assert len(consumer.ready) == 3
    await finish(lane, running)


async def test_what_is_finished_too_late_is_lost_and_what_is_refused_is_released() -> None:
    async def handle(value: bytes) -> None:
        pass

    consumer = MadeUpConsumer(b"late", b"refused", b"good")
    consumer.refuse = {0: LockLost("too late"), 1: BrokerError(42, "no")}
    lane = lane_of(consumer, handle)
    running = asyncio.create_task(lane.run())
    await comes_true(lambda: len(consumer.settled) == 2)
    await finish(lane, running)
    assert consumer.settled == [(1, RELEASE), (2, ACCEPT)]
    assert (lane.counts.lost, lane.counts.done) == (2, 1)


async def test_a_stop_waits_for_what_was_begun_and_begins_nothing() -> None:
    go_on, begun = asyncio.Event(), asyncio.Event()

    async def handle(value: bytes) -> None:
        begun.set()
        await go_on.wait()

    consumer = MadeUpConsumer(b"one", b"two")
    lane = lane_of(consumer, handle)
    running = asyncio.create_task(lane.run())
    await begun.wait()
    lane.stop()
    draining = asyncio.create_task(lane.drain())
    await running
    assert not draining.done()
    go_on.set()
    await draining
    await lane.close()
    assert consumer.settled == [(0, ACCEPT)]
    assert len(consumer.ready) == 1


async def test_a_close_cancels_what_goes_on_and_settles_nothing_of_it() -> None:
    begun = asyncio.Event()

    async def handle(value: bytes) -> None:
        begun.set()
        await asyncio.Event().wait()

    consumer = MadeUpConsumer(b"endless")
    lane = lane_of(consumer, handle)
    running = asyncio.create_task(lane.run())
    await begun.wait()
    lane.stop()
    await running
    await asyncio.wait_for(lane.close(), PATIENCE_S)
    assert (consumer.settled, consumer.closed) == ([], True)


async def test_a_refusal_ends_the_run() -> None:
    async def handle(value: bytes) -> None:
        pass

    consumer = MadeUpConsumer()
    consumer.failure = BrokerError(30, "group g")
    lane = lane_of(consumer, handle)
    with pytest.raises(BrokerError):
        await lane.run()
    assert lane.failure is consumer.failure


async def test_a_record_that_is_too_early_waits_and_holds_up_nobody() -> None:
    began: list[tuple[bytes, float]] = []

    async def handle(value: bytes) -> None:
        began.append((value, time.time()))

    consumer = MadeUpConsumer()
    sent = time.time()
    for value, delay_s in ((b"later", 0.2), (b"soon", 0.1)):
        consumer.add(value, delay_s=delay_s)
    consumer.add(b"now", delay_s=-1)
    lane = lane_of(consumer, handle)
    running = asyncio.create_task(lane.run())
    await comes_true(lambda: began)
    assert (began[0][0], lane.look().waiting) == (b"now", 2)
    await comes_true(lambda: len(consumer.settled) == 3)
    await finish(lane, running)
    assert [value for value, _ in began] == [b"now", b"soon", b"later"]
    assert began[1][1] - sent >= 0.099
    assert began[2][1] - sent >= 0.199
    assert (lane.counts.done, lane.look().waiting) == (3, 0)


async def test_what_is_due_waits_for_room(monkeypatch: pytest.MonkeyPatch) -> None:
    passed_s = 0.0
    own_time = SimpleNamespace(time=lambda: time.time() + passed_s, monotonic=time.monotonic)
    monkeypatch.setattr(lanes, "time", own_time)
    go_on = asyncio.Event()
    began: list[bytes] = []

    async def handle(value: bytes) -> None:
        began.append(value)
        await go_on.wait()

    consumer = MadeUpConsumer()
    consumer.add(b"due", delay_s=3600)
    lane = lane_of(consumer, handle, 1)
    running = asyncio.create_task(lane.run())
    await comes_true(lambda: lane.look().waiting == 1)
    consumer.add(b"at work", delay_s=-1)
    await comes_true(lambda: began == [b"at work"])
    passed_s = 3601
    await asyncio.sleep(0.001)
    assert lane.look().waiting == 1
    go_on.set()
    await comes_true(lambda: len(consumer.settled) == 2)
    await finish(lane, running)
    assert began == [b"at work", b"due"]


async def test_its_lock_is_renewed_as_if_it_had_come_when_it_is_due() -> None:
    async def handle(value: bytes) -> None:
        raise AssertionError("it is due in an hour")

    consumer = MadeUpConsumer()
    record = consumer.add(b"later", delay_s=3600)
    lane = lane_of(consumer, handle)
    running = asyncio.create_task(lane.run())
    await comes_true(lambda: lane.look().waiting == 1)
    assert record.held_since - asyncio.get_running_loop().time() == pytest.approx(3600, abs=60)
    await finish(lane, running)
    assert consumer.settled == [(record.offset, RELEASE)], "another worker waits for what is left"
    assert lane.look().waiting == 0


async def test_more_records_may_be_too_early_than_may_wait_for_their_next_try(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shareq.worker.lane.MOST_WAITING", 2)
    done: list[bytes] = []

    async def handle(value: bytes) -> None:
        done.append(value)

    consumer = MadeUpConsumer()
    for _ in range(5):
        consumer.add(b"later", delay_s=3600)
    consumer.add(b"now", delay_s=-1)
    lane = lane_of(consumer, handle)
    running = asyncio.create_task(lane.run())
    await comes_true(lambda: done == [b"now"])
    await finish(lane, running)


async def test_a_record_that_was_lost_while_it_waited_is_not_begun() -> None:
    begun: list[bytes] = []

    async def handle(value: bytes) -> None:
        begun.append(value)

    consumer = MadeUpConsumer()
    lost = consumer.add(b"lost", delay_s=0.05)
    lane = lane_of(consumer, handle)
    running = asyncio.create_task(lane.run())
    await comes_true(lambda: lane.look().waiting == 1)
    lost.state = State.LOST
    consumer.add(b"kept", delay_s=0.06)
    await comes_true(lambda: begun)
    await finish(lane, running)
    assert begun == [b"kept"]
    assert lane.look().waiting == 0


class OfAll(BaseException):
    """A BaseException that is no Exception."""


async def cancels_itself() -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.sleep(0)


@pytest.mark.parametrize("error", [asyncio.CancelledError, SystemExit, KeyboardInterrupt, GeneratorExit, OfAll])
async def test_a_handler_that_raises_what_is_no_exception_has_failed(
    error: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    """`sys.exit()` once ended one worker after the other, and a cancelled call kept its lock."""

    async def handle(value: bytes) -> None:
        if value.startswith(b"bad"):
            raise error("reasons")

    consumer = MadeUpConsumer(b"bad", b"bad#3", b"good")
    lane = lane_of(consumer, handle, max=2)
    running = asyncio.create_task(lane.run())
    await comes_true(lambda: len(consumer.settled) == 3)
    await finish(lane, running)
    assert dict(consumer.settled) == {0: RELEASE, 1: REJECT, 2: ACCEPT}
    counts = lane.look()
    assert (counts.done, counts.retried, counts.rejected, counts.working) == (1, 1, 1, 0)
    assert f"t-0@0, attempt 1: {error.__name__}('reasons'): released" in caplog.text


async def test_a_handler_that_cancels_its_own_task_has_failed_and_waits_for_its_next_try(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Python's timeouts once did not end while the task was to be cancelled, and the record kept its lock."""
    cancelling: list[int] = []

    async def handle(value: bytes) -> None:
        await cancels_itself()

    consumer = MadeUpConsumer(b"a")
    settle = consumer.settle

    async def noted(*arguments: Any) -> None:
        task = asyncio.current_task()
        assert task is not None
        cancelling.append(task.cancelling())
        await settle(*arguments)

    monkeypatch.setattr(consumer, "settle", noted)
    lane = lane_of(consumer, handle, delay=0.01)
    running = asyncio.create_task(lane.run())
    await comes_true(lambda: consumer.settled)
    await finish(lane, running)
    assert consumer.settled == [(0, RELEASE)]
    assert cancelling == [0]


async def test_a_record_whose_lock_is_lost_while_it_waits_for_its_next_try_is_not_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`Later` may ask for a time that never comes."""
    monkeypatch.setattr(lanes, "POLL_S", 0.01)

    async def handle(value: bytes) -> None:
        raise Later(1e300)

    consumer = MadeUpConsumer(b"a")
    record = consumer.ready[0]
    lane = lane_of(consumer, handle)
    running = asyncio.create_task(lane.run())
    await comes_true(lambda: lane.look().waiting == 1)
    record.state = State.LOST
    await comes_true(lambda: lane.look().waiting == 0)
    await finish(lane, running)


async def test_a_traceback_begins_with_the_handler(caplog: pytest.LogCaptureFixture) -> None:
    def deeper() -> None:
        raise ValueError("deep down")

    async def handle(value: bytes) -> None:
        deeper()

    consumer = MadeUpConsumer(b"a")
    lane = lane_of(consumer, handle, max=0)
    running = asyncio.create_task(lane.run())
    await comes_true(lambda: consumer.settled)
    await finish(lane, running)
    trace = caplog.text.partition("Traceback (most recent call last):")[2]
    assert "in handle" in trace
    assert "in deeper" in trace
    assert "shareq/worker" not in trace
    assert consumer.reasons == ["ValueError: deep down"]


async def test_an_acknowledgement_that_is_refused_is_logged_with_the_records_place_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def handle(value: bytes) -> None:
        pass

    consumer = MadeUpConsumer(b"a")
    consumer.refuse[0] = ClientError("the share group was refused")
    lane = lane_of(consumer, handle)
    running = asyncio.create_task(lane.run())
    await comes_true(lambda: consumer.settled)
    await finish(lane, running)
    assert [each.getMessage() for each in caplog.records] == ["t-0@0: the share group was refused: not accepted"]
    assert consumer.settled == [(0, RELEASE)]


async def test_a_time_beyond_the_longest_delay_is_rejected_with_a_line(caplog: pytest.LogCaptureFixture) -> None:
    """A record of the year 33658 once stayed in the window for ever, across restarts."""
    handled: list[bytes] = []

    async def handle(value: bytes) -> None:
        handled.append(value)

    consumer = MadeUpConsumer(b"now")
    consumer.add(b"far", delay_s=10**12 - time.time() - 1)
    consumer.add(b"too far", delay_s=86_410)
    lane = lane_of(consumer, handle, 4)
    running = asyncio.create_task(lane.run())
    await comes_true(lambda: len(consumer.settled) == 3)
    await finish(lane, running)
    assert dict(consumer.settled) == {0: ACCEPT, 1: REJECT, 2: REJECT}
    assert handled == [b"now"]
    assert (
        "t-0@1: shareq.not.before.ms is 999999999999000: more than max_delay (86400 s) ahead: rejected" in caplog.text
    )
    assert lane.look().rejected == 2


async def test_records_that_wait_and_crowd_the_window_are_sent_again_and_others_stay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(again, "LOOK_S", 0.01)

    async def handle(value: bytes) -> None:
        pass

    consumer, mover = MadeUpConsumer(), MadeUpMover(end=6)
    for _ in range(4):
        consumer.add(b"later", delay_s=1_000)
    lane = lane_of(consumer, handle, 8, mover=mover, window=10)
    running = asyncio.create_task(lane.run())
    await comes_true(lambda: consumer.settled)
    assert [offset for offset, _ in mover.sent] == [0]
    assert lane.look().waiting == 3
    mover.end, mover.refuses = 8, True
    await comes_true(lambda: len(mover.sent) == 3)
    await comes_true(lambda: lane.look().waiting == 3)
    await finish(lane, running)
    assert consumer.settled == [(0, ACCEPT), *((offset, RELEASE) for offset in (3, 1, 2))]
    assert mover.closed


async def test_what_a_member_of_another_group_has_sent_again_is_accepted_unseen() -> None:
    handled: list[bytes] = []

    async def handle(value: bytes) -> None:
        handled.append(value)

    consumer = MadeUpConsumer(b"theirs", b"ours")
    for record, group in zip(consumer.ready, (b"other", b"g"), strict=True):
        record.headers = ((again.GROUP, group),)
    lane = lane_of(consumer, handle)
    running = asyncio.create_task(lane.run())
    await comes_true(lambda: len(consumer.settled) == 2)
    await finish(lane, running)
    assert dict(consumer.settled) == {0: ACCEPT, 1: ACCEPT}
    assert handled == [b"ours"]


async def test_a_value_that_cannot_be_decoded_is_logged_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    """The value's text was once repeated below, as a traceback without frames."""

    async def handle(value: bytes) -> None:
        pass

    consumer = MadeUpConsumer(b"{broken")
    lane = lane_of(consumer, handle, decode="json")
    running = asyncio.create_task(lane.run())
    await comes_true(lambda: consumer.settled)
    await finish(lane, running)
    assert consumer.settled == [(0, REJECT)]
    (line,) = caplog.text.splitlines()
    assert "t-0@0, attempt 1: Undecodable('not json: " in line


async def test_short_calls_have_more_acquired_ahead() -> None:
    async def handle(value: bytes) -> None:
        pass

    consumer = MadeUpConsumer(*[b"short"] * 5)
    lane = lane_of(consumer, handle, ahead=Ahead(1, 1))
    running = asyncio.create_task(lane.run())
    await comes_true(lambda: len(consumer.settled) == 5)
    await finish(lane, running)
    assert max(consumer.ahead) > 1
    assert consumer.kept == []


class QuickCalls(Ahead):
    """An `Ahead` that records calls as quick even on a busy machine, except those that the test lets wait."""

    def took(self, seconds: float) -> None:
        super().took(seconds if seconds >= PATIENCE_SHARE else 0.0001)


async def test_what_cannot_be_begun_for_a_tenth_of_the_lock_goes_back() -> None:
    go_on = asyncio.Event()

    async def handle(value: bytes) -> None:
        if value == b"slow":
            await go_on.wait()

    consumer = MadeUpConsumer(b"short", b"slow", b"short")
    consumer.lock_s = 1.0
    lane = lane_of(consumer, handle, ahead=QuickCalls(1, 1))
    running = asyncio.create_task(lane.run())
    await comes_true(lambda: consumer.kept)
    assert (consumer.kept, consumer.ahead[-1]) == ([1], 1)
    go_on.set()
    await comes_true(lambda: len(consumer.settled) == 3)
    await finish(lane, running)
    assert consumer.kept == [1], "there was nothing more to give back"


async def test_records_that_are_done_in_time_are_accepted_though_others_are_refused() -> None:
    go_on = asyncio.Event()

    async def handle(value: bytes) -> None:
        await go_on.wait()

    consumer = MadeUpConsumer(*[b"x"] * 4)
    consumer.refuse = {2: LockLost("too late")}
    lane = lane_of(consumer, handle, 4)
    running = asyncio.create_task(lane.run())
    await comes_true(lambda: lane.counts.working == 4)
    go_on.set()
    await comes_true(lambda: lane.counts.finished == 4)
    await finish(lane, running)
    assert sorted(consumer.settled) == [(0, ACCEPT), (1, ACCEPT), (3, ACCEPT)]
    assert (lane.counts.done, lane.counts.lost) == (3, 1)


async def test_a_record_counts_as_done_when_that_is_confirmed_and_a_stop_waits_for_it() -> None:
    async def handle(value: bytes) -> None:
        pass

    confirmed = asyncio.Event()

    class Slow(MadeUpConsumer):
        async def settle_all(self, records: Sequence[ShareRecord], kind: AcknowledgeType, reason: str = "") -> None:
            await confirmed.wait()
            await super().settle_all(records, kind, reason)

    consumer = Slow(b"x")
    lane = lane_of(consumer, handle)
    running = asyncio.create_task(lane.run())
    await comes_true(lambda: lane.counts.seconds)
    lane.stop()
    draining = asyncio.create_task(lane.drain())
    await running
    assert (lane.counts.done, draining.done()) == (0, False)
    confirmed.set()
    await draining
    await lane.close()
    assert (lane.counts.done, consumer.settled) == (1, [(0, ACCEPT)])
