"""A random history of one share partition: the real core and `ShareModel` take the same steps.

Everything comes from one seed. `transcript` lists the steps; a failure prints its end.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random

from shareq.broker.share.core.effects import DeadLetter, DeadLetters, Effect, StateBatch, WakeFetches, WriteState
from shareq.broker.share.core.partition import AckBatch, SharePartition
from shareq.coordinator.ports import RedeliveryBackoff, ShareGroupSettings
from shareq.coordinator.share.delays import Delay
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.share import AcquireMode, RecordState
from tests.support.models.share_cells import ACQUIRED, ARCHIVING, AVAILABLE, TERMINAL, Write
from tests.support.models.share_model import ShareModel
from tests.support.models.share_partition import Span

KEY = SharePartitionKey("g", bytes(16), 0)
MEMBERS = ("m1", "m2", "m3")
KINDS = ([1], [1], [1], [2], [3], [0, 1], [1, 2, 3], [0, 1, 2, 3, 4], [4], [1, 4], [2, 3])  # types of one range
BACKOFFS = (
    RedeliveryBackoff(),
    RedeliveryBackoff(30, 100, 1.5),
    RedeliveryBackoff(100, 1_000, 2.0),
    RedeliveryBackoff(1, 5, 3.0),
)
GIVING_BACK = ([2], [2], [2, 2, 2, 2, 1], [2, 2, 2, 4])


@dataclass
class Persisted:
    """The share coordinator's state: the greatest (count, state) per offset, nothing below the start offset."""

    start: int
    cells: dict[int, tuple[int, int]] = field(default_factory=dict)
    times: dict[int, tuple[int, int]] = field(default_factory=dict)  # the greatest (count, time) by offset

    def apply(self, write: WriteState) -> None:
        self.start = max(self.start, write.start_offset)
        for first, last, state, count in write.batches:
            for offset in range(first, last + 1):
                self.cells[offset] = max(self.cells.get(offset, (-1, -1)), (count, state))
        for first, last, time, count in write.delays:
            for offset in range(first, last + 1):
                self.times[offset] = max(self.times.get(offset, (-1, -1)), (count, time))
        self.cells = {offset: cell for offset, cell in self.cells.items() if offset >= self.start}

    def in_force(self, now: int) -> dict[int, int]:
        """Return the redelivery times still ahead at `now`, by offset."""
        return {
            offset: time
            for offset, (count, time) in sorted(self.times.items())
            if time > now and self.cells.get(offset) == (count, AVAILABLE)
        }

    def delays(self, now: int) -> list[Delay]:
        """Return the redelivery times still ahead as they are loaded: coalesced, ascending."""
        rows: list[Delay] = []
        for offset, time in self.in_force(now).items():
            row = Delay(offset, offset, time, self.cells[offset][0])
            if rows and rows[-1][1:] == (offset - 1, *row[2:]):
                row = row._replace(first_offset=rows.pop().first_offset)
            rows.append(row)
        return rows

    def batches(self) -> list[StateBatch]:
        rows: list[StateBatch] = []
        for offset, (count, state) in sorted(self.cells.items()):
            before = rows[-1] if rows else None
            if before and before.last_offset == offset - 1 and before[2:] == (state, count):
                rows[-1] = before._replace(last_offset=offset)
            else:
                rows.append(StateBatch(offset, offset, state, count))
        return rows


class ShareWorld:
    """One seed's log, share partition, model and persisted state."""

    def __init__(self, seed: int, *, queue: bool | None = None) -> None:
        self.rng = rng = Random(seed)
        self.deaths = Random(f"deaths {seed}")
        self.queue = self.deaths.random() < 0.5 if queue is None else queue
        self.dead: list[DeadLetter] = []  # dead letters to write
        self.splits = Random(-1 - seed)
        self.waits = Random(f"waits {seed}")
        self.pauses = Random(f"pause {seed}")
        self.is_paused_at_times = self.pauses.random() < 0.2
        self.transcript: list[str] = [f"seed {seed}"]
        self.now = 1_000
        self.settings = ShareGroupSettings(
            delivery_count_limit=rng.choice((2, 2, 3, 4, 5, 5, 7)),
            partition_max_record_locks=rng.choice((5, 12, 30, 2_000)),
            record_lock_duration_ms=rng.choice((50, 200)),
            renew_acknowledge_enable=rng.random() < 0.9,
            dead_letters=self.queue,
            redelivery=self._backoff(),
        )
        self.limited = rng.random() < 0.5
        self.gives_back = rng.random() < 0.4  # a world in which most records fail
        self.largest_batch = rng.choice((1, 3, 8, 24))
        self.log_start = self.log_end = rng.choice((0, 100))
        self.log: list[Span] = []
        self.append()
        self.persisted = Persisted(self.log_start + rng.choice((0, 0, 2)))
        self.persisted.start = min(self.persisted.start, self.log_end)
        self.pending: list[tuple[WriteState, int]] = []  # the core's write and the model's id
        self.reload()

    def _backoff(self) -> RedeliveryBackoff:
        """Return a backoff without jitter: jitter is per range, which the model does not know."""
        return self.waits.choice(BACKOFFS)

    # -- the two under comparison

    def reload(self) -> None:
        """Load the persisted state in a new leader; acquisitions and pending writes are lost."""
        self.pending = []
        self.core = SharePartition(KEY, 0, self.settings)
        rows = self.persisted.batches()
        error = self.core.load(
            7,
            self.persisted.start,
            rows,
            log_start_offset=self.log_start,
            log_end_offset=self.log_end,
            delays=self.persisted.delays(self.now),
        )
        assert error is ErrorCode.NONE
        self.model = ShareModel(
            self.settings.delivery_count_limit,
            self.settings.partition_max_record_locks,
            self.settings.record_lock_duration_ms,
            self.settings.renew_acknowledge_enable,
            self.settings.dead_letters,
            self.settings.redelivery[:3],
        )
        self.model.load(self.persisted.start, rows, self.log_end, self.persisted.in_force(self.now))
        self.lowest_start = self.core.start_offset
        self.dead = list(self.core.unfinished_dead_letters())
        assert by_offset(self.dead) == self.model.unburied()

    def change_settings(self) -> None:
        """Change lock duration and in-flight limit; the delivery limit never falls, see the invariants."""
        rng = self.rng
        self.settings = ShareGroupSettings(
            delivery_count_limit=self.settings.delivery_count_limit + rng.choice((0, 0, 1)),
            partition_max_record_locks=rng.choice((5, 12, 30, 2_000)),
            record_lock_duration_ms=rng.choice((50, 200)),
            renew_acknowledge_enable=rng.random() < 0.9,
            dead_letters=self.queue and self.deaths.random() < 0.8,
            redelivery=self._backoff(),
            paused_by=self.settings.paused_by,
        )
        self.core.settings = self.settings
        self.model.max_deliveries = self.settings.delivery_count_limit
        self.model.max_in_flight = self.settings.partition_max_record_locks
        self.model.lock_ms = self.settings.record_lock_duration_ms
        self.model.renew = self.settings.renew_acknowledge_enable
        self.model.queue = self.settings.dead_letters
        self.model.backoff = self.settings.redelivery[:3]

    def pause(self, *, paused: bool) -> None:
        """Pause or resume. The model knows no pauses, so it is not asked for records that the core withholds."""
        self.transcript.append(f"paused: {paused}")
        self.settings = self.core.settings = self.settings._replace(paused_by=str(paused).lower())

    # -- the log

    def append(self) -> None:
        for _ in range(self.rng.randint(1, 4)):
            if self.rng.random() < 0.1:
                self.log_end += self.rng.randint(1, 3)
            size = self.rng.randint(1, self.largest_batch)
            self.log.append(Span(self.log_end, self.log_end + size - 1))
            self.log_end += size

    def read(self, offset: int, batches: int) -> list[Span] | None:
        """Return whole record batches from the one that contains `offset`; None: out of range."""
        if not self.log_start <= offset <= self.log_end:
            return None
        return [span for span in self.log if span.last_offset >= offset][:batches]

    def compact(self) -> None:
        if len(self.log) > 1:
            gone = self.log.pop(self.rng.randrange(len(self.log) - 1))
            self.transcript.append(f"compact {gone.base_offset}-{gone.last_offset}")

    def delete_records(self) -> None:
        self.log_start = min(self.log_end, max(self.log_start, self.core.start_offset) + self.rng.randint(0, 12))
        self.log = [span for span in self.log if span.last_offset >= self.log_start]
        self.transcript.append(f"log start {self.log_start}")

    def power_loss(self) -> None:
        """Lose the end of the log, whatever was persisted about it; a new leader loads."""
        self.log_end = self.rng.randint(max(self.log_start, self.log_end - 10), self.log_end)
        self.log = [span for span in self.log if span.last_offset < self.log_end]
        self.transcript.append(f"power loss, log ends at {self.log_end}")
        self.reload()

    # -- steps

    def fetch(self) -> None:
        rng = self.rng
        if not self.settings.paused:
            assert self.core.can_acquire() == self.model.can_acquire()
        offset = self.core.next_fetch_offset()
        read = self.read(offset, rng.randint(1, 5))
        if read is None:
            self.core.on_log_start_moved(self.log_start, self.now)
            self.model.log_start_moved(self.log_start)
            self.transcript.append(f"out of range at {offset}")
            return
        member = rng.choice(MEMBERS)
        limited = self.limited if rng.random() < 0.9 else not self.limited
        batch_size, max_records = rng.choice((-1, 0, 1, 4, 500)), rng.choice((0, 1, 2, 5, 500))
        aborted = self._aborted(read) if rng.random() < 0.15 else ()
        self.transcript.append(
            f"{self.now}: {member} fetches at {offset} limited={limited} size={batch_size} max={max_records} "
            f"aborted={aborted} {[(span.base_offset, span.last_offset) for span in read]}"
        )
        mode = AcquireMode.RECORD_LIMIT if limited else AcquireMode.BATCH_OPTIMIZED
        enough = read if aborted else self._cut(read, offset, self.core.next_read(mode, max_records)[1])
        acquired = self.core.acquire(member, mode, batch_size, max_records, offset, enough, self.now, aborted=aborted)
        log = [(span.base_offset, span.last_offset) for span in read]
        expected = (
            {}
            if self.settings.paused
            else self.model.acquire(member, limited, batch_size, max_records, offset, log, self.now, aborted)
        )
        got = {offset: count for first, last, count in acquired for offset in range(first, last + 1)}
        self.transcript.append(f"  -> {[tuple(row) for row in acquired]}")
        assert got == expected
        assert list(got) == sorted(got)

    def _cut(self, read: list[Span], offset: int, until: int) -> list[Span]:
        """Return the spans of a read up to the record batch with `until`; all if the log has gaps."""
        ends = [offset - 1, *(span.last_offset for span in read)]
        if any(span.base_offset > end + 1 for span, end in zip(read, ends, strict=False)):
            return read
        return [span for span, end in zip(read, ends, strict=False) if span is read[0] or end < until]

    def _aborted(self, read: Sequence[Span]) -> tuple[tuple[int, int], ...]:
        return tuple((span.base_offset, span.last_offset) for span in read if self.rng.random() < 0.4)

    def acknowledge(self) -> None:
        member, acks = self._some_acks()
        self.transcript.append(f"{self.now}: {member} acknowledges {acks}")
        outcome = self.core.acknowledge(member, [AckBatch(*ack) for ack in acks], self.now)
        expected = self.model.acknowledge(member, acks, self.now)
        self.transcript.append(f"  -> {outcome.error.name} write {outcome.write_id}")
        if isinstance(expected, Write):
            assert outcome.error is ErrorCode.NONE
            write = self._write_of(outcome.effects, expected)
            assert write.write_id == outcome.write_id
        else:
            assert (int(outcome.error), outcome.write_id, outcome.effects) == (expected, None, ())

    def _some_acks(self) -> tuple[str, list[tuple[int, int, list[int]]]]:
        """Return acknowledgements: mostly valid ones, sometimes any."""
        rng = self.rng
        owners = {offset: cell.owner for offset, cell in self.model.cells().items() if cell.state == ACQUIRED}
        honest = bool(owners) and rng.random() < 0.85
        member = owners[rng.choice(list(owners))] if honest else rng.choice(MEMBERS)
        held = [offset for offset, owner in owners.items() if owner == member]
        acks: list[tuple[int, int, list[int]]] = []
        low = min(held, default=self.model.start) - (not honest) * rng.randint(0, 5)
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            mine = [offset for offset in held if offset >= low]
            if honest and not mine:
                break
            first = last = rng.choice(mine[:4] if mine else [low + rng.randint(0, 8)])
            if honest:
                while last + 1 in held and rng.random() < 0.9:
                    last += 1
            else:
                last += rng.randint(0, 8)
            kinds = rng.choice(GIVING_BACK if self.gives_back and rng.random() < 0.8 else KINDS)
            size = 1 if rng.random() < 0.5 else last - first + 1
            acks.append((first, last, [rng.choice(kinds) for _ in range(size)]))
            low = last + (rng.random() < 0.95)
        return member, self._split(acks)

    def _split(self, acks: list[tuple[int, int, list[int]]]) -> list[tuple[int, int, list[int]]]:
        """Split as clients do that acknowledge record by record: ranges in adjoining parts, each with its own types."""
        rng = self.splits
        parts: list[tuple[int, int, list[int]]] = []
        for first, last, types in acks:
            if rng.random() < 0.5:
                parts.append((first, last, types))
                continue
            while first <= last:
                size = min(rng.choice((1, 1, 1, 2, 3)), last - first + 1)
                own = types if len(types) == 1 else types[:size]
                if rng.random() < 0.3:
                    own = [rng.choice((1, 2, 3))] * rng.choice((1, size))
                parts.append((first, first + size - 1, own))
                first += size
                types = types if len(types) == 1 else types[size:]
        return parts

    def close_session(self) -> None:
        member = self.rng.choice(MEMBERS)
        self.transcript.append(f"{self.now}: {member} closes")
        effects = self.core.release_acquired_records(member, self.now)
        expected = self.model.release(member, self.now)
        if expected is None:
            assert effects == ()
        else:
            self._write_of(effects, expected)

    def pass_time(self) -> None:
        """Let time pass; the timer usually fires, but may be late."""
        self.now += self.rng.choice((1, 10, 49, 60, 201))
        if self.rng.random() < 0.2:
            return
        self.transcript.append(f"{self.now}: timer")
        effects = self.core.on_deadline(self.now)
        woken = self.model.wake(self.now)
        expected = self.model.timeout(self.now)
        if expected is None:
            assert effects == ((WakeFetches(),) if woken else ())
        else:
            assert WakeFetches() in effects
            self._write_of(effects, expected)
        deadline = self.core.next_deadline_ms()
        assert deadline is None or deadline > self.now

    def end_write(self) -> None:
        """Complete a write, usually the oldest, usually with success. A failed one may still be stored."""
        if not self.pending:
            return
        index = 0 if self.rng.random() < 0.8 else self.rng.randrange(len(self.pending))
        write, model_id = self.pending.pop(index)
        ok, stored = self.rng.choice(((True, True),) * 6 + ((False, False), (False, True)))
        if stored:
            self.persisted.apply(write)
        self.transcript.append(f"{self.now}: write {write.write_id} {'ok' if ok else 'fails'}")
        effects = self.core.on_state_written(
            write.write_id, ErrorCode.NONE if ok else ErrorCode.COORDINATOR_NOT_AVAILABLE, self.now
        )
        dead = [letter for effect in effects if isinstance(effect, DeadLetters) for letter in effect.letters]
        assert by_offset(dead) == self.model.written(model_id, ok, self.now)
        assert sum(letter.last_offset - letter.first_offset + 1 for letter in dead) == len(by_offset(dead))
        self.dead += dead

    def bury(self) -> None:
        """Write or give up the dead letters of one range, perhaps first of a part of it."""
        letter = self.dead.pop(self.deaths.randrange(len(self.dead)))
        first, last = letter.first_offset, letter.last_offset
        if first < last and self.deaths.random() < 0.3:
            last = self.deaths.randint(first, last - 1)
            self.dead.append(letter._replace(first_offset=last + 1))
        self.transcript.append(f"{self.now}: dead letters of {first}-{last}")
        effects = self.core.on_dead_letters_done(first, last)
        expected = self.model.buried(first, last)
        if expected is None:
            assert effects == ()
        else:
            self._write_of(effects, expected)

    def _write_of(self, effects: Sequence[Effect], expected: Write) -> WriteState:
        (write,) = [effect for effect in effects if isinstance(effect, WriteState)]
        cells = {
            offset: (state, count) for first, last, state, count in write.batches for offset in range(first, last + 1)
        }
        assert cells == expected.cells
        times = {offset: time for first, last, time, _ in write.delays for offset in range(first, last + 1)}
        assert times == expected.delays
        assert list(times) == sorted(times)
        assert all(cells[o] == (AVAILABLE, count) for first, last, _, count in write.delays for o in (first, last))
        assert (write.start_offset, write.delivery_complete_count) == (expected.start, expected.complete)
        assert (write.state_epoch, write.leader_epoch) == (7, 0)
        ends = [(row.first_offset, row.last_offset) for row in write.batches]
        assert all(first <= last for first, last in ends)
        for before, row in pairwise(write.batches):
            assert before.last_offset < row.first_offset
            assert before.last_offset + 1 < row.first_offset or before[2:] != row[2:], (
                "equal neighbours were not merged"
            )
        self.pending.append((write, expected.id))
        return write

    def step(self) -> None:
        if self.is_paused_at_times and self.pauses.random() < 0.1:
            self.pause(paused=not self.settings.paused)
        if self.dead and self.deaths.random() < 0.3:
            self.bury()
        steps = (self.fetch, self.acknowledge, self.end_write, self.pass_time, self.append, self.close_session)
        rare = (self.delete_records, self.compact, self.change_settings, self.reload, self.power_loss)
        if self.rng.random() < 0.04:
            self.rng.choice(rare)()
        else:
            self.rng.choices(steps, (30, 30, 24, 8, 5, 2))[0]()
        self.compare()
        self.check_invariants()

    # -- what must hold

    def compare(self) -> None:
        core, model = self.core, self.model
        got = {
            offset: (int(run.state), run.delivery_count, run.owner, run.deadline_ms, run.pending, run.not_before_ms)
            for run in core.snapshot()
            for offset in range(run.first_offset, run.last_offset + 1)
        }
        cells = model.cells()
        assert got == {offset: cell.view() for offset, cell in cells.items() if offset >= model.start}
        below = {
            (offset, run.owner)
            for run in core.snapshot(first=0)
            for offset in range(run.first_offset, min(run.last_offset + 1, core.start_offset))
            if run.state is RecordState.ACQUIRED
        }
        assert below == {(o, cell.owner) for o, cell in cells.items() if o < model.start and cell.state == ACQUIRED}
        assert (core.start_offset, core.end_offset) == (model.start, model.end)
        assert core.delivery_complete_count == model.complete()
        assert core.next_fetch_offset() == model.next_fetch_offset()
        if self.settings.paused:
            assert not core.can_acquire()
        else:
            assert core.can_acquire() == model.can_acquire()

    def check_invariants(self) -> None:
        core = self.core
        assert core.start_offset >= self.lowest_start
        self.lowest_start = core.start_offset
        runs = core.snapshot()
        for before, run in pairwise(runs):
            assert before.last_offset < run.first_offset
        terminal = 0
        for run in runs:
            assert 0 <= run.delivery_count <= self.settings.delivery_count_limit
            assert run.last_offset <= core.end_offset
            acquired = run.state is RecordState.ACQUIRED
            assert (run.owner != "") == acquired == (run.deadline_ms is not None)
            assert not (acquired and run.pending)
            assert run.not_before_ms is None or (run.state is RecordState.AVAILABLE and not run.pending)
            terminal += (run.state in TERMINAL) * (run.last_offset - run.first_offset + 1)
        self._check_dead()
        assert terminal == core.delivery_complete_count
        held = [run.deadline_ms for run in core.snapshot(first=0) if run.deadline_ms is not None]
        held += [run.not_before_ms for run in core.snapshot(first=0) if run.not_before_ms is not None]
        if held:
            deadline = core.next_deadline_ms()
            assert deadline is not None
            assert deadline <= min(held)

    def _check_dead(self) -> None:
        """Check that each dead record has exactly one dead letter to write, or awaits its state write."""
        dead = by_offset(self.dead)
        assert sum(letter.last_offset - letter.first_offset + 1 for letter in self.dead) == len(dead)
        waiting = {
            offset
            for write, _ in self.pending
            for first, last, state, _ in write.batches
            if state == ARCHIVING
            for offset in range(first, last + 1)
        }
        archiving = {offset for offset, cell in self.model.cells().items() if cell.state == ARCHIVING}
        assert not waiting & set(dead)
        assert archiving <= waiting | set(dead)
        assert set(dead) <= archiving


def by_offset(letters: Iterable[DeadLetter]) -> dict[int, tuple[int, str]]:
    return {
        offset: (letter.delivery_count, letter.cause.value)
        for letter in letters
        for offset in range(letter.first_offset, letter.last_offset + 1)
    }
