"""Random histories of a share partition with order by key, and a judge that checks every record.

In some a key may have several records in hand, and in some the window looks ahead.

The judge knows the log, each delivery, and the durable state. It does not know `KeyOrder`.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from shareq.broker.share.core.dates import DatedRange
from shareq.broker.share.core.effects import (
    DeadLetters,
    DeliveryLimitReached,
    Effect,
    StateBatch,
    WakeFetches,
    WriteState,
)
from shareq.broker.share.core.partition import AckBatch, RangeView, SharePartition
from shareq.broker.share.core.window.record_state import GIVEN_UP
from shareq.coordinator.ports import RedeliveryBackoff, ShareGroupSettings
from shareq.coordinator.share.delays import Delay
from shareq.protocol.ack_delays import Later
from shareq.protocol.errors import ErrorCode
from shareq.protocol.share import TERMINAL, AcquireMode, RecordState
from tests.support.models.key_hashes import key_hashes
from tests.support.models.share_partition import ACCEPT, GAP, KEY, REJECT, RELEASE, RENEW, Span

_FAILED = ErrorCode.COORDINATOR_NOT_AVAILABLE
_FINISHED = TERMINAL | GIVEN_UP
_LARGEST = 9  # records of a batch


@dataclass
class Logged:
    """One record of the log; `batch` is its batch's number."""

    key: int | None
    batch: int
    aborted: bool
    gone: bool = False  # compaction removed it


class OrderBroken(AssertionError):
    """A broken promise."""


class OrderWorld:
    """One history. `step` makes a random event and judges; `drain` accepts all remaining records, which must end."""

    def __init__(self, seed: int, *, failures: bool = True, switching: bool = False) -> None:
        self.rng = rng = random.Random(seed)
        self.failures, self.switching = failures, switching
        self.transcript: list[str] = []
        self.log: list[Logged] = []
        self.batches: list[Span] = []
        self.log_start = 0
        self.now_ms = 1_000
        self.members = ["m1", "m2", "m3"]
        self.keys = rng.choice((1, 2, 4, 12))
        self.committed = rng.random() < 0.5
        self.settings = ShareGroupSettings(
            delivery_count_limit=rng.choice((2, 3, 5)),
            partition_max_record_locks=rng.choice((4, 10, 40)),
            record_lock_duration_ms=rng.choice((50, 400)),
            dead_letters=rng.random() < 0.3,
            redelivery=RedeliveryBackoff(rng.choice((0, 0, 60)), 200, 2.0, 0.1),
            order_by_key=not switching,
        )
        by_key = random.Random(f"by key {seed}")
        self.settings = self.settings._replace(
            order_records_per_key=by_key.choice((1, 1, 2, 3)), order_look_ahead=by_key.choice((0, 0, 5, 20))
        )
        self.durable: dict[int, tuple[int, int]] = {}  # state and delivery count by offset
        self.durable_start = 0
        self.delays: list[Delay] = []
        self.writes: list[WriteState] = []
        self.dead: list[tuple[int, int]] = []
        self.excused: set[int] = set()  # given up, and the write that says so failed
        self.delivered: dict[int, int] = {}  # highest offset by key
        self.epoch = 0
        self.core = self._loaded()

    # -- the log

    def append(self) -> None:
        for _ in range(self.rng.randint(1, 3)):
            first, size = len(self.log), self.rng.choice((1, 2, 5, _LARGEST))
            aborted = self.committed and self.rng.random() < 0.15
            for _ in range(size):
                key = None if self.rng.random() < 0.15 else self.rng.randrange(self.keys)
                self.log.append(Logged(key, len(self.batches), aborted))
            self.batches.append(Span(first, first + size - 1))
        self._say(f"log end {len(self.log)}")

    def compact(self) -> None:
        for record in self.log[:-10]:
            if self.rng.random() < 0.1:
                record.gone = True
        self._say("compaction")

    def _read(self, offset: int, most: int) -> list[Span]:
        """Return record batches from the one with `offset` to that with the `most`th offset, or fewer."""
        spans = []
        for index, span in enumerate(self.batches):
            if span.last_offset < offset or span.base_offset < self.log_start:
                continue
            empty = all(each.gone for each in self.log[span.base_offset : span.last_offset + 1])
            if empty and index < len(self.batches) - 1:
                continue
            spans.append(span)
            if span.last_offset >= offset + most - 1 or self.rng.random() < 0.1:
                break
        return spans

    # -- what may happen

    def step(self) -> None:
        events: list[tuple[int, Callable[[], object]]] = [
            (8, self.fetch),
            (8, self.acknowledge),
            (6, self.end_write),
            (2, self.append),
            (2, self.wait),
            (1, self.end_session),
            (1, self.bury),
        ]
        events += [(1, self.reload), (1, self.compact), (1, self.trim)] if self.rng.random() < 0.15 else []
        events += [(1, self.switch)] if self.switching else []
        (event,) = self.rng.choices([event for _, event in events], [weight for weight, _ in events])
        event()
        self.judge()

    def fetch(self, member: str = "", most: int = 0) -> bool:
        """Fetch as one member; return whether records were acquired or the fetch offset moved."""
        member, core = member or self.rng.choice(self.members), self.core
        most = most or self.rng.choice((1, 3, 20))
        if not core.can_acquire():
            self._judge_full()
            return False
        mode = self.rng.choice(list(AcquireMode))
        offset = core.next_fetch_offset()
        until = core.next_read(mode, most)[1]
        if offset < self.log_start:
            core.on_log_start_moved(self.log_start, self.now_ms)
            offset, until = core.next_fetch_offset(), core.next_read(mode, most)[1]
        spans = self._read(offset, until - offset + 1)
        if not spans:
            return False
        aborted = [
            (span.base_offset, span.last_offset)
            for span in spans
            if self.committed and self.log[span.base_offset].aborted
        ]
        wanted = core.keys_wanted(spans)
        keys = self._keys(*wanted, spans) if wanted is not None else {}
        before = self._states()
        acquired = core.acquire(
            member,
            mode,
            self.rng.choice((1, 500)),
            most,
            offset,
            spans,
            self.now_ms,
            aborted=aborted,
            keys=key_hashes(keys),
            waiting=self._dated(spans),
        )
        self._say(f"{member} fetches {most} at {offset}: {[tuple(each) for each in acquired]}")
        handed_out = [offset for first, last, _ in acquired for offset in range(first, last + 1)]
        if mode is AcquireMode.RECORD_LIMIT and len(handed_out) > most:
            raise OrderBroken(f"{len(handed_out)} records instead of {most}")
        for each in handed_out:
            self._judge_delivery(each, before)
        return bool(acquired) or core.next_fetch_offset() != offset

    def _dated(self, _spans: Sequence[Span]) -> Sequence[DatedRange]:
        return ()

    def _later(self, _acks: Sequence[AckBatch]) -> Sequence[Later]:
        return ()

    def _keys(self, first: int, last: int, spans: Sequence[Span]) -> dict[int, int]:
        """Return the keys of the read records, none outside the requested range."""
        return {
            offset: key
            for span in spans
            for offset in range(max(span.base_offset, first), min(span.last_offset, last) + 1)
            if (key := self._key(offset)) is not None
        }

    def _key(self, offset: int) -> int | None:
        record = self.log[offset]
        return None if record.gone else record.key

    def acknowledge(self, kinds: Sequence[int] = (ACCEPT, ACCEPT, RELEASE, REJECT, RENEW)) -> None:
        held = [view for view in self._views() if view.state is RecordState.ACQUIRED]
        if not held:
            return
        member = self.rng.choice(held).owner
        offsets = [o for view in held if view.owner == member for o in range(view.first_offset, view.last_offset + 1)]
        chosen = sorted(self.rng.sample(offsets, self.rng.randint(1, len(offsets))))
        acks = [AckBatch(each, each, [GAP if self.log[each].gone else self.rng.choice(kinds)]) for each in chosen]
        self._say(f"{member} acknowledges {[(each, kind[0]) for each, _, kind in acks]}")
        self._do(lambda: self.core.acknowledge(member, acks, self.now_ms, self._later(acks)).effects)

    def end_write(self, error: ErrorCode | None = None) -> None:
        if not self.writes:
            return
        write = self.writes.pop(0)
        if error is None:
            error = _FAILED if self.failures and self.rng.random() < 0.2 else ErrorCode.NONE
        self._say(f"write {write.write_id}: {error.name}, rows {[tuple(row) for row in write.batches]}")
        if error is ErrorCode.NONE:
            self._persist(write)
        else:
            for first, last, state, _ in write.batches:
                if state in GIVEN_UP:
                    self.excused.update(range(first, last + 1))
        self._do(lambda: self.core.on_state_written(write.write_id, error, self.now_ms))

    def _persist(self, write: WriteState) -> None:
        for first, last, state, count in write.batches:
            for offset in range(first, last + 1):
                self.durable[offset] = (state, count)
        self.durable_start = max(self.durable_start, write.start_offset)
        self.delays = [each for each in self.delays if not _among(each, write.batches)] + list(write.delays)

    def wait(self) -> None:
        self.now_ms += self.rng.choice((10, 60, 500))
        due = self.core.next_deadline_ms()
        self._say(f"it is {self.now_ms}")
        if due is not None and due <= self.now_ms:
            self._do(lambda: self.core.on_deadline(self.now_ms))

    def end_session(self) -> None:
        member = self.rng.choice(self.members)
        self._say(f"{member}'s session ends")
        self._do(lambda: self.core.release_acquired_records(member, self.now_ms))

    def bury(self) -> None:
        if self.dead:
            first, last = self.dead.pop(0)
            self._do(lambda: self.core.on_dead_letters_done(first, last))

    def trim(self) -> None:
        if self.batches:
            span = self.rng.choice(self.batches)
            if span.base_offset <= self.core.end_offset:
                self.log_start = max(self.log_start, span.base_offset)
                self._say(f"log start {self.log_start}")

    def reload(self) -> None:
        self._say("crash")
        for write in self.writes:
            if self.rng.random() < 0.5:  # it had reached the disk; the ones behind it had not
                self._persist(write)
            else:
                break
        self.writes, self.dead = [], []
        self.core = self._loaded()

    def switch(self) -> None:
        if self.rng.random() < 0.5:
            self.settings = self.settings._replace(order_by_key=not self.settings.order_by_key)
        else:
            self.settings = self.settings._replace(order_records_per_key=self.rng.choice((1, 2, 3)))
        self.core.settings = self.settings
        self._say(f"order {self.settings.order_records_per_key if self.settings.order_by_key else 'off'}")

    def _loaded(self) -> SharePartition:
        self.epoch += 1
        core = SharePartition(KEY, self.epoch, self.settings)
        start = max(self.durable_start, 0)
        rows = [StateBatch(each, each, *self.durable[each]) for each in sorted(self.durable) if each >= start]
        delays = sorted(each for each in self.delays if each.last_offset >= start)
        delays = [each._replace(first_offset=max(each.first_offset, start)) for each in delays]
        error = core.load(
            1,
            start,
            rows,
            log_start_offset=self.log_start,
            log_end_offset=len(self.log),
            now_ms=self.now_ms,
            delays=delays,
        )
        assert error is ErrorCode.NONE, error
        self.dead = [(each.first_offset, each.last_offset) for each in core.unfinished_dead_letters()]
        return core

    def _do(self, event: Callable[[], Sequence[Effect]]) -> None:
        """Run an event on the core. If records become available, waiting fetches must be woken."""
        before = self.core.next_fetch_offset()
        effects = event()
        for effect in effects:
            if isinstance(effect, WriteState):
                self.writes.append(effect)
            elif isinstance(effect, DeadLetters):
                self.dead += [(each.first_offset, each.last_offset) for each in effect.letters]
            elif isinstance(effect, DeliveryLimitReached) and self.failures:  # by a failed write, perhaps: not durable
                self.excused.update(o for first, last, _ in effect.ranges for o in range(first, last + 1))
        if self.core.next_fetch_offset() < before and not any(isinstance(each, WakeFetches) for each in effects):
            raise OrderBroken(f"{self.core.next_fetch_offset()} is available, and no fetch looks")

    # -- the judge

    def judge(self) -> None:
        """Check that records waiting for their key have to wait for another record, and that available ones do not."""
        if not self.settings.order_by_key or self.core.next_fetch_offset() < self.log_start:
            return  # nobody has found out yet what the log has lost
        being_given_up = {o for write in self.writes for row in write.batches for o in range(row[0], row[1] + 1)}
        unfinished = Counter(self._key_in_flight(offset) for offset in being_given_up)
        limit, ahead = self.settings.partition_max_record_locks, self.settings.order_look_ahead
        if not self.settings.delay.enabled and self.core.in_flight_records > limit + ahead + _LARGEST - 1:
            raise OrderBroken(f"{self.core.in_flight_records} are in flight")
        for view in self._views():
            for offset in range(view.first_offset, view.last_offset + 1):
                key = self._key_in_flight(offset)
                if view.waits_for_key and unfinished[key] < self.settings.order_records_per_key:
                    raise OrderBroken(f"{offset} waits for nothing")
                if key is not None and (not _is_finished(view)):
                    unfinished[key] += 1

    def _judge_full(self) -> None:
        """Check, where the window may look ahead, that a fetch is stopped only by as many records as the limit."""
        limit, ahead = self.settings.partition_max_record_locks, self.settings.order_look_ahead
        if self.settings.order_by_key and ahead and not self.settings.delay.enabled:
            first = self.core.start_offset
            free = sum(
                view.last_offset - max(view.first_offset, first) + 1
                for view in self._views()
                if view.last_offset >= first and (view.waits_for_key or view.state in TERMINAL)
            )
            if self.core.in_flight_records - min(free, ahead) < limit:
                raise OrderBroken(f"{self.core.in_flight_records} in flight, {free} of them wait or are finished: full")

    def _key_in_flight(self, offset: int) -> int | None:
        """Return the key the record had when it was read: compaction does not affect the window."""
        return self.log[offset].key

    def _judge_delivery(self, offset: int, before: dict[int, RangeView]) -> None:
        key = self._key(offset)
        if not self.settings.order_by_key or key is None:
            return
        per_key, undurable, before_it = self.settings.order_records_per_key, 0, 0
        for earlier in range(max(self.core.start_offset, self.log_start), offset):
            record = self.log[earlier]
            if record.key != key or record.gone or (self.committed and record.aborted):
                continue
            view = self._states().get(earlier)
            if view is None or not _is_finished(view):
                before_it += 1
                if before_it >= per_key:
                    found = view and view.state.name
                    raise OrderBroken(f"{offset} is handed out, {earlier} of the same key is {found}")
                continue
            state, _ = self.durable.get(earlier, (0, 0))
            is_durable = earlier < self.durable_start or state in _FINISHED or earlier in self.excused
            undurable += not is_durable
            if not is_durable and before_it + undurable >= per_key and not self.switching:
                raise OrderBroken(f"{offset} is handed out, and that {earlier} is finished is not durable")
        if self.switching:
            return
        if per_key == 1 and offset < self.delivered.get(key, -1) and offset not in self.excused:
            raise OrderBroken(f"{offset} is handed out after {self.delivered[key]} of the same key")
        self.delivered[key] = max(offset, self.delivered.get(key, -1))

    def drain(self) -> None:
        self.failures = False
        for _ in range(4 * len(self.log) + 100):
            while self.writes:
                self.end_write(ErrorCode.NONE)
            while self.dead:
                self.bury()
            moved = self.fetch("m1", 50)
            self.acknowledge((ACCEPT,))
            if not moved and not self.writes:
                self.wait()
            self.judge()
            if self.core.next_fetch_offset() >= len(self.log) and all(map(_is_finished, self._views())):
                return
        raise OrderBroken(f"stands still at {self.core.start_offset} of {len(self.log)}: {self._views()[:8]}")

    # -- help

    def _views(self) -> list[RangeView]:
        return self.core.snapshot(first=0)

    def _states(self) -> dict[int, RangeView]:
        return {o: view for view in self._views() for o in range(view.first_offset, view.last_offset + 1)}

    def _say(self, line: str) -> None:
        self.transcript.append(line)


def _is_finished(view: RangeView) -> bool:
    return view.state in _FINISHED and not view.pending


def _among(delay: Delay, rows: Sequence[StateBatch]) -> bool:
    return any(first <= delay.last_offset and delay.first_offset <= last for first, last, _, _ in rows)
