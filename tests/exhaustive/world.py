"""One share partition, its durable state and its observer, moved by one step after another.

The leader is the product's `SharePartition`, its state is kept by the product's share coordinator.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from shareq.broker.share.core.dates import DatedRange
from shareq.broker.share.core.effects import DeadLetter, DeadLetters, Effect, StateBatch, WriteState
from shareq.broker.share.core.partition import AckBatch, AcquiredRange, RangeView, SharePartition
from shareq.broker.share.core.window.expiry import Expired
from shareq.coordinator.ports import RecordDelays, RedeliveryBackoff, ShareGroupSettings
from shareq.coordinator.shard import CoordinatorRecord
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.coordinator.share.shard import ShareCoordinatorSettings, ShareCoordinatorShard
from shareq.coordinator.share.staged import Staged
from shareq.protocol.errors import ErrorCode
from shareq.protocol.share import TERMINAL, AcknowledgeType, AcquireMode, RecordState
from tests.exhaustive.ledger import Broken, Ledger
from tests.exhaustive.scope import (
    LOCK_MS,
    Acknowledge,
    Crash,
    EndSession,
    EndTransaction,
    Fetch,
    LettersDone,
    Pass,
    Scope,
    Span,
    Stage,
    Step,
    Trim,
    Written,
)
from tests.support.fakes.topics import MemoryTopics
from tests.support.models.key_hashes import key_hashes

TOPIC: Final = "t"
BEGIN_MS: Final = 1_000_000
EVERYTHING: Final = 100
LONGEST_MS: Final = 1_000
PRODUCER: Final = 7


class World:
    """A world that begins with an empty, loaded state. `perform` raises Broken for a broken promise."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.now_ms = BEGIN_MS
        self.log_start = 0
        self.topics = MemoryTopics(t=1)
        image = self.topics.topic(TOPIC)
        assert image is not None
        self.key = SharePartitionKey("g", image.topic_id, 0)
        self.log: list[CoordinatorRecord] = []
        self.shard = self._shard()
        self._append(*self.shard.initialize(self.key, 1, 0).records)
        self.ledger = Ledger(scope.delivery_count_limit, scope.backoff_ms)
        self.ledger.waiting.update((offset, (BEGIN_MS + date, 0)) for offset, date in enumerate(scope.dates) if date)
        self.writes: list[WriteState] = []
        self.letters: list[DeadLetter] = []
        self.all_durable = True  # nothing is in the leader's memory alone
        self.epoch = 0  # of the producer, another one for each transaction
        self.outcome: bool | None = None  # of the transaction, once its end was decided: True for a commit
        self.stagings: set[int] = set()  # state writes
        self.core = self._leader()

    # -- durable state

    def _shard(self) -> ShareCoordinatorShard:
        return ShareCoordinatorShard(self.topics, lambda: self.now_ms, ShareCoordinatorSettings())

    def _append(self, *records: CoordinatorRecord) -> None:
        for record in records:
            self.shard.replay(record, len(self.log))
            self.log.append(record)

    def _make_durable(self, write: WriteState) -> None:
        result = self.shard.write(
            self.key,
            write.state_epoch,
            write.leader_epoch,
            write.start_offset,
            write.delivery_complete_count,
            write.batches,
            write.delays,
            write.staged,
        )
        if result.response.code is not ErrorCode.NONE:
            raise Broken(f"the coordinator refuses {write}: {result.response}")
        self._append(*result.records)

    def _leader(self) -> SharePartition:
        result = self.shard.read(self.key, 0)
        self._append(*result.records)
        found = result.response
        settings = ShareGroupSettings(
            record_lock_duration_ms=LOCK_MS,
            delivery_count_limit=self.scope.delivery_count_limit,
            partition_max_record_locks=self.scope.window,
            dead_letters=self.scope.dead_letters,
            order_by_key=bool(self.scope.keys),
            order_records_per_key=self.scope.per_key,
            order_look_ahead=self.scope.ahead,
            redelivery=RedeliveryBackoff(self.scope.backoff_ms, multiplier=1),
            delay=RecordDelays(bool(self.scope.dates), LONGEST_MS),
        )
        core = SharePartition(self.key, 0, settings)
        error = core.load(
            found.state_epoch,
            found.start_offset,
            [StateBatch(*each) for each in found.batches],
            log_start_offset=self.log_start,
            log_end_offset=self.scope.log_end,
            now_ms=self.now_ms,
            delays=found.delays,
            staged=found.staged,
        )
        if error is not ErrorCode.NONE:
            raise Broken(f"what was persisted cannot be loaded: {error.name}, {found}")
        if core.start_offset < found.start_offset:
            raise Broken(f"loaded from {core.start_offset}, persisted was {found.start_offset}")
        self.letters = list(core.unfinished_dead_letters())
        return core

    # -- steps

    def perform(self, step: Step, *, check: bool = True) -> None:
        start = self.core.start_offset
        match step:
            case Fetch():
                self._fetch(step)
            case Acknowledge():
                self._acknowledge(step)
            case Stage() | EndTransaction():
                self._in_transaction(step)
            case EndSession():
                self._end_session(step)
            case Written():
                self._written(step)
            case Pass():
                self._pass(step)
            case Crash():
                self._crash(step)
            case LettersDone():
                self._letters_done(copied=step.copied)
            case Trim():
                self.log_start = step.log_start
                self.ledger.trimmed(step.log_start)
                self.all_durable = False
        self._begin_transaction()
        if not isinstance(step, Crash) and self.core.start_offset < start:
            raise Broken(f"the start offset went back from {start} to {self.core.start_offset}")
        if check:
            self.check()

    def _fetch(self, step: Fetch) -> None:
        """Fetch as the shell does: check for room, read from the next fetch offset, skip to the log start if
        necessary.
        """
        core = self.core
        of_everything = step.mode is AcquireMode.BATCH_OPTIMIZED and step.max_records == self.scope.log_end
        if not core.can_acquire():
            if of_everything:
                self._check_all_came(nothing_came=True)
            return
        offset = core.next_fetch_offset()
        if offset < self.log_start:
            core.on_log_start_moved(self.log_start, self.now_ms)
            offset = core.next_fetch_offset()
        upto = core.next_read(step.mode, step.max_records)[1]
        spans = [each for each in self.scope.spans if each.last_offset >= offset and each.base_offset <= upto]
        member = _name(step.member)
        acquired = core.acquire(
            member,
            step.mode,
            EVERYTHING,
            step.max_records,
            offset,
            spans,
            self.now_ms,
            keys=key_hashes(self._keys(spans)),
            waiting=self._dated(spans),
            expired=self._expired(spans),
        )
        self._reject()
        self._check_order(acquired)
        self.ledger.handed_out(step.member, acquired, self.now_ms, self.now_ms + LOCK_MS)
        late = [at for first, last, _ in acquired for at in range(first, last + 1) if self._has_expired(at)]
        if late:
            raise Broken(f"offsets {late} came, which had expired")
        if of_everything:
            self._check_all_came(nothing_came=not acquired and core.next_fetch_offset() == offset)

    def _check_all_came(self, *, nothing_came: bool) -> None:
        """Check that a fetch of everything leaves no free record, while no write is under way and no timer is due.

        Records for which the window has to look ahead may come with later fetches.
        """
        window = self.scope.window + (self.scope.ahead if nothing_came else 0)
        if self.writes or self.log_start or window < self.scope.log_end:
            return
        deadline = self.core.next_deadline_ms()
        if deadline is not None and deadline <= self.now_ms:
            return
        left = [offset for offset in range(self.scope.log_end) if self._is_free(offset)]
        if left:
            raise Broken(f"a fetch of everything did not bring offsets {left}, which are free")

    def _is_free(self, offset: int) -> bool:
        """Return True if nothing is in the way of a record, as far as an observer can know."""
        ledger, keys = self.ledger, self.scope.keys
        if ledger.is_over(offset, ()) or offset in ledger.held or offset in ledger.staged:
            return False
        if ledger.waiting.get(offset, (0, 0))[0] > self.now_ms:
            return False
        if self.scope.backoff_ms and offset in ledger.attempts_before:
            return False  # what a crash left unanswered may have made it wait
        key = keys[offset] if keys else 0
        earlier = [at for at in range(offset) if key and keys[at] == key and at not in ledger.finished]
        return len(earlier) < self.scope.per_key

    def _dated(self, spans: list[Span]) -> list[DatedRange]:
        offsets = [at for span in spans for at in range(span.base_offset, span.last_offset + 1)]
        dates = self.scope.dates
        return [
            DatedRange(at, at, BEGIN_MS + dates[at]) for at in offsets if dates and BEGIN_MS + dates[at] > self.now_ms
        ]

    def _has_expired(self, offset: int) -> bool:
        ends = self.scope.ends
        return bool(ends and ends[offset]) and BEGIN_MS + ends[offset] < self.now_ms

    def _expired(self, spans: list[Span]) -> list[Expired]:
        """Return the expired records that the shell finds in a read."""
        offsets = [at for span in spans for at in range(span.base_offset, span.last_offset + 1)]
        return [Expired(at, at) for at in offsets if self._has_expired(at)]

    def _reject(self) -> None:
        """Take over what the leader has rejected because it had expired."""
        for write in self.core.take_rejections():
            rejected = [at for row in write.batches for at in range(row.first_offset, row.last_offset + 1)]
            early = [at for at in rejected if not self._has_expired(at)]
            if early:
                raise Broken(f"offsets {early} were rejected, and had not expired")
            self.ledger.rejected(rejected, write.write_id)
            self._take((write,))

    def _keys(self, spans: list[Span]) -> dict[int, int]:
        wanted = self.core.keys_wanted(spans)
        if wanted is None:
            return {}
        known = enumerate(self.scope.keys)
        return {offset: key for offset, key in known if key and wanted[0] <= offset <= wanted[1]}

    def _check_order(self, acquired: list[AcquiredRange]) -> None:
        """Check that all earlier records of a delivered record's key are finished.

        The exception is records that the key may have in hand at the same time.
        """
        pending = {write.write_id for write in self.writes}
        for first, last, _ in acquired if self.scope.keys else ():
            for offset in range(first, last + 1):
                key = self.scope.keys[offset]
                earlier = [at for at in range(offset) if key and self.scope.keys[at] == key]
                before = [at for at in earlier if not self.ledger.is_over(at, pending)]
                if len(before) >= self.scope.per_key:
                    raise Broken(f"offset {offset} came before {before}, of the same key")

    def _acknowledge(self, step: Acknowledge) -> None:
        rightly = all(self.ledger.may_acknowledge(step.member, at) for at in range(step.first, step.last + 1))
        finished = step.last < self.core.start_offset
        batch = AckBatch(step.first, step.last, (int(step.kind),))
        outcome = self.core.acknowledge(_name(step.member), [batch], self.now_ms)
        if outcome.error is not ErrorCode.NONE:
            if rightly:
                raise Broken(f"{outcome.error.name} to {step}, which is right")
            self._not_held(step)
            return
        if outcome.write_id is not None:
            self.ledger.acknowledged(step.member, step.first, step.last, step.kind, outcome.write_id, self.now_ms)
        elif step.kind is AcknowledgeType.RENEW:
            if not rightly:
                raise Broken(f"{step} was granted")
            self.ledger.renewed(step.first, step.last, self.now_ms + LOCK_MS)
        elif not finished:
            raise Broken(f"{step} was answered without a write")
        else:
            self.ledger.finished.update(range(step.first, step.last + 1))
            self._not_held(step)
        self._take(outcome.effects)

    def _not_held(self, step: Acknowledge) -> None:
        for offset in range(step.first, step.last + 1):
            if not self.ledger.may_acknowledge(step.member, offset):
                self.ledger.believed.get(offset, set()).discard(step.member)

    def _begin_transaction(self) -> None:
        """Begin another transaction if the last one has ended."""
        if self.outcome is not None and not self.ledger.staged:
            self.outcome, self.epoch = None, self.epoch + 1

    def _in_transaction(self, step: Stage | EndTransaction) -> None:
        if isinstance(step, Stage):
            self._stage(step)
        else:
            self._end_transaction(commit=step.commit)

    def _stage(self, step: Stage) -> None:
        batch = AckBatch(step.first, step.last, (int(step.kind),))
        outcome = self.core.stage(_name(step.member), (PRODUCER, self.epoch), [batch], self.now_ms)
        if not self.rightly(step):
            if outcome.error is ErrorCode.NONE:
                raise Broken(f"{step} was granted")
            self.ledger.believed.get(step.first, set()).discard(step.member)
            return
        if outcome.write_id is None:
            raise Broken(f"{outcome.error.name} to {step}, which is right")
        self.stagings.add(outcome.write_id)
        self.ledger.staging(step.member, step.first, step.last, step.kind, outcome.write_id)
        self._take(outcome.effects)

    def rightly(self, step: Stage) -> bool:
        """Return True if the member has the records."""
        return all(self.ledger.may_acknowledge(step.member, at) for at in range(step.first, step.last + 1))

    def may_end(self, *, commit: bool) -> bool:
        """Return True if the transaction may be ended so: nothing of it is being written, as the shell sees to."""
        ledger = self.ledger
        under_way = any(holder.stages for holder in ledger.held.values())
        under_way = under_way or any(staged.write is not None for staged in ledger.staged.values())
        return bool(ledger.staged) and not under_way and self.outcome in (None, commit)

    def _end_transaction(self, *, commit: bool) -> None:
        outcome = self.core.end_transaction((PRODUCER, self.epoch), self.now_ms, commit=commit)
        if outcome.write_id is None:
            raise Broken(f"{outcome.error.name} to the end of a transaction")
        self.outcome = commit
        self.ledger.ending(outcome.write_id, commit=commit)
        self._take(outcome.effects)

    def _end_session(self, step: EndSession) -> None:
        effects = self.core.release_acquired_records(_name(step.member), self.now_ms)
        for effect in effects:
            if isinstance(effect, WriteState):
                self.ledger.session_ended(step.member, effect.write_id, self.now_ms)
        self._take(effects)
        for believers in self.ledger.believed.values():
            believers.discard(step.member)

    def _written(self, step: Written) -> None:
        write = self.writes.pop(0)
        durable, answered = step.outcome != "failed", step.outcome == "durable"
        if durable:
            self._make_durable(write)
        self.all_durable = self.all_durable and answered
        self.ledger.written(write.write_id, self.now_ms, answered=answered, durable=durable)
        error = ErrorCode.NONE if answered else ErrorCode.COORDINATOR_NOT_AVAILABLE
        self._take(self.core.on_state_written(write.write_id, error, self.now_ms))

    def _pass(self, step: Pass) -> None:
        deadline = self.core.next_deadline_ms()
        if step.until == "half a lock":
            self.now_ms += LOCK_MS // 2
        elif deadline is not None:
            self.now_ms = max(self.now_ms, deadline)
        if deadline is not None and deadline <= self.now_ms:
            effects = self.core.on_deadline(self.now_ms)
            writes = [each.write_id for each in effects if isinstance(each, WriteState)]
            self.ledger.expired(self.now_ms, writes[0] if writes else 0)
            self._take(effects)

    def _crash(self, step: Crash) -> None:
        for write in self.writes:
            if step.durable:
                self._make_durable(write)
                self.ledger.written(write.write_id, self.now_ms, answered=False, durable=True)
        self.writes.clear()
        live, again = self.shard.state_of(self.key), self._shard()
        for at, record in enumerate(self.log):
            again.replay(record, at)
        replayed = again.state_of(self.key)
        assert live is not None
        assert replayed is not None
        if (live.start_offset, live.batches, live.delivery_complete_count) != (
            replayed.start_offset,
            replayed.batches,
            replayed.delivery_complete_count,
        ):
            raise Broken("the state log replays to another state")
        self.ledger.crashed()
        self.all_durable = True
        self.core = self._leader()

    def _letters_done(self, *, copied: bool) -> None:
        letter = self.letters.pop(0)
        offsets = range(letter.first_offset, letter.last_offset + 1)
        known = self.ledger.dead | self.ledger.may_be_dead
        alive = [at for at in offsets if at not in known and at >= self.log_start]
        if alive and copied:
            raise Broken(f"there are dead letters of {alive}, which are not dead")
        self.ledger.buried.update(offsets)
        self._take(self.core.on_dead_letters_done(letter.first_offset, letter.last_offset))

    def _take(self, effects: tuple[Effect, ...]) -> None:
        for effect in effects:
            if isinstance(effect, WriteState):
                self.writes.append(effect)
            elif isinstance(effect, DeadLetters):
                self.letters += effect.letters

    # -- promises that hold at any time

    def check(self) -> None:
        """Check that the leader's visible state agrees with itself, with the observer, and with what was persisted."""
        core, rows = self.core, self.core.snapshot()
        terminal = sum(row.last_offset - row.first_offset + 1 for row in rows if row.state in TERMINAL)
        if core.delivery_complete_count != terminal:
            raise Broken(f"{core.delivery_complete_count} deliveries complete, {terminal} are")
        for row in rows:
            for offset in range(row.first_offset, row.last_offset + 1):
                self._check_record(offset, row)
        unfinished = set(range(self.log_start, core.start_offset)) & set(self.ledger.held)
        if unfinished:
            raise Broken(f"the start offset {core.start_offset} passed {unfinished}, which are held")
        if self.scope.dead_letters:
            passed = {at for at in self.ledger.dead - self.ledger.buried if at < core.start_offset}
            if passed:
                raise Broken(f"the start offset {core.start_offset} passed {passed}: no dead letters were written")
        self._check_waiting()
        if self.all_durable and not self.writes:
            self._check_persisted()

    def _check_waiting(self) -> None:
        read = [row for row in self.core.snapshot() if row.not_before_ms is not None] if self.scope.dates else []
        new = sum(row.last_offset - row.first_offset + 1 for row in read if not row.delivery_count)
        if new > self.scope.window // 2:
            raise Broken(f"{new} new records wait, more than half of the window")
        times = [
            time
            for offset, (time, _) in self.ledger.waiting.items()
            if time > self.now_ms
            and (not self.scope.dates or any(row.first_offset <= offset <= row.last_offset for row in read))
        ]
        deadline = self.core.next_deadline_ms()
        if times and (deadline is None or deadline > min(times)):
            raise Broken(f"a record waits until {min(times)}, the next look is at {deadline}")

    def _check_record(self, offset: int, row: RangeView) -> None:
        holder, state, owner, deadline_ms = self.ledger.held.get(offset), row.state, row.owner, row.deadline_ms
        if offset < self.log_start:
            return
        if state is RecordState.ACQUIRED and (
            holder is None or owner != _name(holder.member) or deadline_ms != holder.deadline_ms
        ):
            raise Broken(f"offset {offset} is {owner}'s until {deadline_ms}, but {holder} knows of it")
        if (state is RecordState.TX_PENDING and not row.pending) is not self._is_staged(offset, row):
            raise Broken(f"offset {offset} is {state.name}, but {self.ledger.staged.get(offset)} is staged")
        if holder is not None and state is not RecordState.ACQUIRED and not row.pending:
            raise Broken(f"offset {offset} is {state.name}, but {holder}")

    def _is_staged(self, offset: int, row: RangeView) -> bool:
        return offset in self.ledger.staged and not row.pending

    def _check_persisted(self) -> None:
        """Check that a leader that loads now knows the same as this leader, except for locks."""
        state = self.shard.state_of(self.key)
        assert state is not None
        persisted = {
            offset: (batch.delivery_state, batch.delivery_count)
            for batch in state.batches
            for offset in range(batch.first_offset, batch.last_offset + 1)
        }
        for row in self.core.snapshot():
            for offset in range(row.first_offset, row.last_offset + 1):
                known = persisted.get(offset, (RecordState.AVAILABLE, 0))
                here: tuple[int, int] = (row.state, row.delivery_count)
                if row.state is RecordState.ACQUIRED:
                    here = (RecordState.AVAILABLE, row.delivery_count - 1)
                if row.state is RecordState.TX_PENDING:
                    here = (RecordState.AVAILABLE, row.delivery_count)
                if offset >= state.start_offset and known != here:
                    raise Broken(f"offset {offset}: {known} is persisted, {here} is known")
        if _by_offset(state.staged) != _by_offset(self.core.staged()):
            raise Broken(f"{state.staged} is persisted as staged, {self.core.staged()} is known")


def _by_offset(rows: Sequence[Staged]) -> dict[int, tuple[int, ...]]:
    return {offset: row[2:] for row in rows for offset in range(row.first_offset, row.last_offset + 1)}


def _name(member: int) -> str:
    return f"member-{member}"
