"""The leader of one share partition: records in flight, the members that hold them, the ends of deliveries (KIP-932).

Pure: time is an argument, timers are data, effects are returned. The rules are Apache Kafka 4.3.1's; they live in the
modules beside this one, and this class puts them together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from shareq.broker.share.core.aborted import cut_out, held_before
from shareq.broker.share.core.acknowledge import Acknowledgement
from shareq.broker.share.core.acquire import MAX_OFFSET, RecordAcquisition, read_until
from shareq.broker.share.core.counters import SharePartitionCounters, given_up, records_in
from shareq.broker.share.core.dates import DatedRange, first_behind, make_wait, may_wait
from shareq.broker.share.core.effects import (
    Cause,
    DeadLetter,
    DeadLetters,
    DeliveryLimitReached,
    Effect,
    StateBatch,
    WakeFetches,
    WriteState,
)
from shareq.broker.share.core.in_flight_limit import capacity, enter_until, least_to_enter, limit_now
from shareq.broker.share.core.load import load_window
from shareq.broker.share.core.locks import AcquisitionLocks, Lapsed, RedeliveryTimes, expire, wake
from shareq.broker.share.core.values import (
    NO_KEYS,
    AckBatch,
    Acknowledged,
    AckOutcome,
    AcquiredRange,
    BatchSpan,
    RangeView,
)
from shareq.broker.share.core.window.delivery_status import NO_DEADLINE
from shareq.broker.share.core.window.expiry import Expired, reject_expired, rejected_at_once
from shareq.broker.share.core.window.next_fetch_offset import next_fetch_offset
from shareq.broker.share.core.window.ranges import Part, RecordRange, first_record, list_ranges
from shareq.broker.share.core.window.start_offset import (
    advance_start,
    compacted_away,
    make_room,
    move_gap_start,
    on_log_start_moved,
)
from shareq.broker.share.core.window.window import InFlightWindow, Run
from shareq.broker.share.core.writes import StateChange, finish_dead, release
from shareq.coordinator.ports import ShareGroupSettings
from shareq.coordinator.share.delays import Delay
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.coordinator.share.staged import TYPES, Staged, end_of
from shareq.protocol.ack_delays import Later
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.keys import KeyHashes
from shareq.protocol.share import AcquireMode, RecordState

if TYPE_CHECKING:
    from shareq.broker.share.core.window.key_order import KeyOrder

__all__ = ["AckBatch", "AckOutcome", "Acknowledged", "AcquiredRange", "RangeView", "SharePartition"]

_FEWEST_TO_JOIN = 256  # in-flight batches: a waiting record may keep finished ones behind it in the window for long
MOST_AT_ONCE: Final = 20_000  # offsets of a read in a window that looks ahead: over more, it would look for long
_NO_COUNT = -1  # DeliveryCompleteCount of a write that only fixes the start offset


class _UnreadableSpan(NamedTuple):
    """Offsets (both inclusive) of record batches that cannot be read, in the place of their spans."""

    base_offset: int
    last_offset: int


class SharePartition:
    """State machine of one share partition.

    Every offset is inclusive unless said otherwise, every time is monotonic milliseconds and never goes back.
    `settings` may be replaced at any time and apply from then on; existing locks keep their deadline. Nothing may be
    acquired before `load`. If `counters` are given, it continues to count in them.
    """

    def __init__(
        self,
        key: SharePartitionKey,
        leader_epoch: int,
        settings: ShareGroupSettings,
        counters: SharePartitionCounters | None = None,
    ) -> None:
        self.key = key
        self.leader_epoch = leader_epoch
        self.settings = settings
        self.counters = counters or SharePartitionCounters()
        self.lost_tail = False
        self.lapsed = Lapsed()
        self._state_epoch = 0
        self._active = False
        self._start_is_durable = True
        self._start_write: WriteState | None = None
        self._window = InFlightWindow()
        self._order: KeyOrder | None = None
        self._ordered_as: ShareGroupSettings | None = None  # with these settings in mind
        self._freed = False
        self._locks = AcquisitionLocks()
        self._times = RedeliveryTimes()
        self._behind: DatedRange | None = None
        self._rejections: list[WriteState] = []  # of records that had expired, not taken yet
        self._expirations: set[int] = set()  # the ids of these writes that are under way
        self._join_at = _FEWEST_TO_JOIN
        self._writes: dict[int, tuple[StateChange | None, WriteState]] = {}  # None: already in effect
        self._last_write_id = 0

    # -- what is known

    @property
    def start_offset(self) -> int:
        """The lowest offset whose delivery is not finished. Never moves back."""
        return self._window.start_offset

    @property
    def end_offset(self) -> int:
        """The highest offset in flight; with nothing in flight the next one to fetch, equal to `start_offset`."""
        return self._window.end_offset

    @property
    def known_until(self) -> int:
        """The highest offset of which the state has information; `start_offset` - 1 if there is none."""
        return self._window.end_offset if self._window.in_flight() else self._window.start_offset - 1

    @property
    def state_epoch(self) -> int:
        """The state epoch that was loaded; sent with every write."""
        return self._state_epoch

    @property
    def start_is_durable(self) -> bool:
        """True once a start offset from the offset reset has been written; nothing is acquired before."""
        return self._start_is_durable

    @property
    def delivery_complete_count(self) -> int:
        """The number of offsets from the start offset on that are acknowledged or archived, pending ones included
        (KIP-1226).
        """
        return self._window.delivery_complete_count

    @property
    def in_flight_records(self) -> int:
        """The used part of the in-flight limit: all offsets from the start to the end offset."""
        return self._window.in_flight()

    @property
    def delayed_records(self) -> int:
        """The number of offsets in flight that wait for a time before they may be delivered again."""
        return self._window.delayed

    @property
    def in_flight_batches(self) -> int:
        """The number of in-flight batches: ranges of offsets that were acquired together."""
        return self._window.batches.count

    def oldest_since_ms(self) -> int | None:
        """Return when the oldest unfinished record was put in flight; None with nothing in flight."""
        batches = self._window.batches
        return next((each.since_ms for each in batches.from_offset(self._window.start_offset)), None)

    def first_record(self) -> RecordRange | None:
        """Return the record at the start offset, which the window cannot pass; None with nothing in flight."""
        return first_record(self._window)

    def list_ranges(self, first: int, most: int, *, heads: bool = False) -> Part:
        """List the offsets in flight from `first` on, in at most `most` steps: see `ranges`.

        With `heads`, also show the record that each one waits for.
        """
        behind = self._order.heads() if heads and self._order is not None else None
        return list_ranges(self._window, first, most, behind)

    def snapshot(self, first: int | None = None, last: int | None = None) -> list[RangeView]:
        """Return the runs of equal records between `first` (default: the start offset) and `last`, ascending, for
        tests.
        """
        if not self._window.batches:
            return []
        first = self._window.start_offset if first is None else first
        last = self._window.batches.last.last_offset if last is None else last
        return [
            RangeView(
                run_first,
                run_last,
                status.state,
                status.delivery_count,
                status.owner,
                None if status.deadline_ms == NO_DEADLINE else status.deadline_ms,
                status.write_id != 0,
                status.not_before_ms or None,
                self._order is not None and self._order.makes_wait(status),
            )
            for run_first, run_last, status in self._window.runs(first, last)
        ]

    # -- loading

    def load(
        self,
        state_epoch: int,
        start_offset: int,
        batches: Sequence[StateBatch],
        *,
        log_start_offset: int,
        log_end_offset: int,
        persisted: bool = True,
        now_ms: int = 0,
        delays: Sequence[Delay] = (),
        staged: Sequence[Staged] = (),
    ) -> ErrorCode:
        """Take over the persisted state; return NONE, or UNKNOWN_SERVER_ERROR when the state contradicts itself.

        `start_offset` >= 0 is the persisted one, or with `persisted` False the result of the offset reset, which has to
        be written first (`pending_start_write`). State beyond `log_end_offset` (exclusive) belongs to records that a
        power loss destroyed; it is dropped, and `lost_tail` becomes True. A start offset below `log_start_offset` stays
        until a read is refused (`on_log_start_moved`). `delays`, in monotonic time, hold for available records among
        `batches` with the same delivery count; so do `staged`, the acknowledgements in transactions.
        """
        loaded = load_window(start_offset, batches, max(log_end_offset, log_start_offset), now_ms, delays)
        if isinstance(loaded, ErrorCode):
            return loaded
        self._window, self.lost_tail = loaded
        if staged:
            from shareq.broker.share.core.transactions.staging import stage_loaded  # for transactions alone

            stage_loaded(self._window, staged)
        self._order = self._ordered_as = None
        self._wait(delays)
        advance_start(self._window)
        self._state_epoch = state_epoch
        self._start_is_durable = persisted
        self._active = True
        return ErrorCode.NONE

    def pending_start_write(self) -> WriteState | None:
        """Return the write of the resolved start offset that must be durable before anything can be acquired; None if
        it is durable.

        While the write is under way, return the same one; after a failure, a new one. Without this write, a crash
        before the first acknowledgement would resolve the start offset again and skip records.
        """
        if self._start_is_durable:
            return None
        if self._start_write is None:
            self._start_write = self._write(self._next_write_id(), (), _NO_COUNT)
        return self._start_write

    # -- fetching

    @property
    def _is_open(self) -> bool:
        return self._active and not self.settings.paused

    def next_fetch_offset(self) -> int:
        """Return the offset to read next: that of the first record that can be delivered again, else that of the first
        one never fetched.

        With order by key, it may also be the first record in flight whose key is not known.
        """
        if self.settings is not self._ordered_as:
            self._switch_order()
        return next_fetch_offset(self._window)

    def can_acquire(self) -> bool:
        """Return True if there is something to deliver again, or room below the in-flight limit; never in a paused
        group.

        If the window is full, make room first. It may be full of records that were archived in memory alone, because
        they have left the log or were aborted: no state write ends that would move the start offset over them. Or its
        last hole has been filled, and everything in it is finished. (In both cases Apache Kafka 4.3.1 delivers nothing
        more.)
        """
        if not self._is_open:
            return False
        if self.settings is not self._ordered_as:
            self._switch_order()
        window, limit = self._window, limit_now(self._window, self.settings)
        offset = next_fetch_offset(window)
        if self._behind is not None and self._stays_behind(offset):
            return False
        if offset != window.end_offset + 1 or window.in_flight() < limit:
            return True
        return not self._writes and make_room(window) and window.in_flight() < limit

    def next_read(self, mode: AcquireMode, max_records: int, known_until: int = -1) -> tuple[int, int]:
        """Return the next fetch offset, and the last offset (inclusive) that a read there has to reach to acquire
        `max_records` > 0.

        Records behind it would not be acquired, nor change the state. If the window is full and the caller has its
        records already (`known_until`, inclusive), the last offset may be further than necessary.
        """
        offset = self.next_fetch_offset()
        window, limit = self._window, limit_now(self._window, self.settings)
        nothing_new = window.in_flight() >= limit
        if nothing_new and window.end_offset <= known_until:
            return offset, window.end_offset  # nothing behind that may enter
        furthest = offset + MOST_AT_ONCE if self.settings.order_look_ahead else MAX_OFFSET
        until = read_until(window, offset, limit, mode, max_records, self.settings.delivery_count_limit, furthest)
        if nothing_new and self._order is not None and window.end_offset < until:
            until = window.end_offset
        return offset, until

    def keys_wanted(self, batches: Sequence[BatchSpan]) -> tuple[int, int] | None:
        """Return the first and last offset (inclusive) of a read of `batches` for which `acquire` needs keys; None if
        there are none.

        Always None without order by key.
        """
        if self._order is None or not batches:
            return None
        first = max(self._order.known_until, self._window.start_offset, batches[0].base_offset)
        last = enter_until(self._window, limit_now(self._window, self.settings), batches)
        return (first, last) if first <= last else None

    def enters_next(self, mode: AcquireMode, max_records: int) -> tuple[int, int] | None:
        """Return the first and last offset (inclusive) that may enter the window, with order by key, ahead of a fetch
        with these parameters.

        None if there are none, or if the in-flight limit leaves too little room for a read to be worth it.
        """
        window, limit = self._window, limit_now(self._window, self.settings)
        if self.settings is not self._ordered_as:
            self._switch_order()
        if self._order is None or not self._is_open or not self._start_is_durable:
            return None
        worth_it = least_to_enter(limit, max_records)
        if limit - window.in_flight() < worth_it:
            return None
        first = self._order.frontier(window)
        if first is None:
            first = window.end_offset + 1 if window.batches.count else window.end_offset
        _, until = self.next_read(mode, max_records)
        return (first, max(until, first + worth_it - 1)) if first <= until else None

    def _has_looked_ahead(self) -> bool:
        """Return True if finished records make room, wherever in the window they are."""
        ahead = self._order is not None and self.settings.order_look_ahead > 0
        return ahead and self._window.in_flight() < limit_now(self._window, self.settings)

    def take_freed(self) -> bool:
        """Return True, once, if keys became free without a `WakeFetches`: the caller wakes the other fetches."""
        freed, self._freed = self._freed, False
        return freed

    def _switch_order(self) -> None:
        """Switch order by key on or off, or to another number of records, after a change of the config or after a load.

        Once on, it holds for all unfinished records.
        """
        settings = self._ordered_as = self.settings
        per_key = settings.order_records_per_key if settings.order_by_key else 0
        if per_key == (0 if self._order is None else self._order.per_key):
            return
        from shareq.broker.share.core.window.key_order import KeyOrder, all_free  # for groups that have it alone

        if self._order is not None:
            all_free(self._window)
        self._order = self._window.order = KeyOrder(self._window.start_offset, per_key) if per_key else None

    def acquire(
        self,
        member_id: str,
        mode: AcquireMode,
        batch_size: int,
        max_records: int,
        fetch_offset: int,
        batches: Sequence[BatchSpan],
        now_ms: int,
        *,
        aborted: Sequence[tuple[int, int]] = (),
        keys: KeyHashes = NO_KEYS,
        waiting: Sequence[DatedRange] = (),
        expired: Sequence[Expired] = (),
    ) -> list[AcquiredRange]:
        """Acquire records from a read at `fetch_offset` that brought `batches` (ascending, disjoint); none while the
        group is paused.

        Returns ascending ranges, which the member now holds until the lock runs out. `max_records` and the in-flight
        limit are rounded up to the end of a record batch unless `mode` is RECORD_LIMIT. Offsets in `aborted` (inclusive
        ranges, ascending, disjoint; for read_committed groups) are archived instead of handed out. Offsets in `waiting`
        (ascending, disjoint) wait until their time; see `dates`. Those in `expired` (like `aborted`) are rejected; the
        caller performs `take_rejections`.

        With order by key, `keys` are the keys of the records that `keys_wanted` names; a missing offset has no key.
        With `max_records` 0, the records read enter the window, but none is acquired.
        """
        if not self._is_open or not self._start_is_durable or not batches:
            return []
        window, last_fetched = self._window, batches[-1].last_offset
        if last_fetched < window.start_offset:
            return []
        if self._order is not None:
            return self._acquire_in_order(
                self._order,
                member_id,
                mode,
                batch_size,
                max_records,
                fetch_offset,
                batches,
                now_ms,
                aborted,
                keys,
                waiting,
                expired,
            )
        limit = limit_now(window, self.settings)
        if waiting:
            last_fetched = self._last_to_enter(waiting, last_fetched)
            if last_fetched < fetch_offset:
                return []
        if expired:
            last_fetched = rejected_at_once(expired, last_fetched)
        budget, last = capacity(window, limit, max_records, fetch_offset, last_fetched)
        if budget <= 0:
            return []
        if fetch_offset < batches[0].base_offset:
            compacted_away(window, fetch_offset, batches[0].base_offset)
        acquisition = RecordAcquisition(
            window, self._locks, self.settings, member_id, mode, batch_size, batches, now_ms
        )
        batches_before = window.batches.count
        acquisition.run(budget, last)
        acquired = acquisition.acquired
        if aborted and acquired:
            acquired = self._without_aborted(acquired, aborted)
        if expired and acquired:
            acquired = self._without_expired(acquired, expired, acquisition)
        if waiting:
            acquired = self._without_waiting(acquired, waiting, acquisition)
        self.counters.add_deliveries(acquired, window.batches.count - batches_before)
        return acquired

    def _acquire_in_order(
        self,
        order: KeyOrder,
        member_id: str,
        mode: AcquireMode,
        batch_size: int,
        max_records: int,
        fetch_offset: int,
        batches: Sequence[BatchSpan],
        now_ms: int,
        aborted: Sequence[tuple[int, int]],
        keys: KeyHashes,
        waiting: Sequence[DatedRange],
        expired: Sequence[Expired],
    ) -> list[AcquiredRange]:
        """Add the records of a read to the window, as far as there is room; then acquire the available ones
        among them.
        """
        window, batches_before = self._window, self._window.batches.count
        if fetch_offset < batches[0].base_offset:
            compacted_away(window, fetch_offset, batches[0].base_offset)
        last = enter_until(window, limit_now(window, self.settings), batches)
        if waiting:
            last = self._last_to_enter(waiting, last)
        if expired:
            last = rejected_at_once(expired, last)
        acquisition = RecordAcquisition(
            window, self._locks, self.settings, member_id, mode, batch_size, batches, now_ms
        )
        order.enter(window, batches[0].base_offset, last, keys, now_ms, acquisition.cut)
        move_gap_start(window, order.known_until)
        new_batches = window.batches.count - batches_before
        if aborted:
            self._without_aborted((), aborted)
            for aborted_first, aborted_last in aborted:
                window.archive(aborted_first, aborted_last, RecordState.AVAILABLE)
        self._freed = order.settle(window) or self._freed
        acquisition.run_in_window(max_records, last)
        acquired = acquisition.acquired
        if expired and acquired:
            acquired = self._without_expired(acquired, expired, acquisition)
        if waiting:
            acquired = self._without_waiting(acquired, waiting, acquisition)
        self.counters.add_deliveries(acquired, new_batches)
        return acquired

    def _last_to_enter(self, waiting: Sequence[DatedRange], last: int) -> int:
        """Return the last offset (inclusive), at most `last`, that may enter the window now; see
        `dates.first_behind`.
        """
        limit = self.settings.partition_max_record_locks
        self._behind = first_behind(self._window, waiting, limit)
        return last if self._behind is None else min(last, self._behind.first_offset - 1)

    def _without_waiting(
        self, acquired: list[AcquiredRange], waiting: Sequence[DatedRange], acquisition: RecordAcquisition
    ) -> list[AcquiredRange]:
        """Let the dated records in the acquired ranges wait; return the remaining ranges, to be handed out."""
        made = make_wait(self._window, waiting, acquisition.before())
        for first, last, not_before_ms in made:
            self._times.add(self._window, not_before_ms, first, last)
            self.counters.delays += last - first + 1
        return cut_out(acquired, [(first, last) for first, last, _ in made])

    def _without_expired(
        self, acquired: list[AcquiredRange], expired: Sequence[Expired], acquisition: RecordAcquisition
    ) -> list[AcquiredRange]:
        """Reject the expired records in the acquired ranges, in effect at once; return the remaining ranges, to be
        handed out.
        """
        changed = reject_expired(self._window, acquired, expired, acquisition.before(), self.settings)
        if not changed:
            return acquired
        self.counters.expired += records_in(changed)
        write = self._write_changed(changed)
        self._rejections.append(write)
        self._expirations.add(write.write_id)
        if self._order is not None:
            self._order.hold(write.write_id)
            self._freed = self._order.settle(self._window) or self._freed
        return cut_out(acquired, [(first, last) for first, last, _ in changed])

    def take_rejections(self) -> Sequence[WriteState]:
        """Return the writes of what acquisitions have rejected since the last call, because it had expired."""
        taken, self._rejections = self._rejections, []
        return taken

    def _stays_behind(self, offset: int) -> bool:
        """Return True if the record at the next fetch offset has to wait for its time, and the window has no room for
        it.
        """
        behind, half = self._behind, self.settings.partition_max_record_locks // 2
        return (
            behind is not None
            and behind.first_offset == offset
            and self._window.delayed >= half
            and self.settings.delay.enabled
        )

    def _without_aborted(
        self, acquired: Sequence[AcquiredRange], aborted: Sequence[tuple[int, int]]
    ) -> list[AcquiredRange]:
        """Archive the aborted records in the acquired ranges, in memory only. Return the remaining ranges, to be handed
        out.
        """
        window = self._window
        for first, last in held_before(aborted, acquired):
            for _, run_last, status in window.runs(first, last):
                if status.state is RecordState.ACQUIRED:  # a member has that record, and may still acknowledge it
                    window.note_undurable(run_last)
        for first, last in aborted:
            window.archive(first, last, RecordState.ACQUIRED)
        return cut_out(acquired, aborted)

    def skip_unreadable(self, first_offset: int, last_offset: int, now_ms: int) -> bool:
        """Archive records that the log cannot read (offsets inclusive), from the next fetch offset on, in memory only.

        A leader that loads the state again has to try to read them again. Return False if the in-flight limit leaves no
        room for them now.
        """
        span = _UnreadableSpan(first_offset, last_offset)
        size = last_offset - first_offset + 1
        unreadable = ((first_offset, last_offset),)
        mode = AcquireMode.BATCH_OPTIMIZED  # one record stands for the whole span
        self.acquire("", mode, size, 1, first_offset, (span,), now_ms, aborted=unreadable)
        return self.next_fetch_offset() != first_offset

    # -- acknowledging

    def acknowledge(
        self, member_id: str, batches: Sequence[Acknowledged], now_ms: int, later: Sequence[Later] = ()
    ) -> AckOutcome:
        """Acknowledge acquired records. Nothing is visible to other members until `on_state_written`.

        All batches succeed together or the first error (INVALID_RECORD_STATE, INVALID_REQUEST) undoes the request; only
        renewals stay. Batches are ascending and disjoint (`ack_batches.validate_ack_batches`). Released records listed
        in `later` are not delivered again before their time; INVALID_REQUEST if the group has no delays, or none of
        that length.
        """
        self.lapsed.discard(member_id)
        if later and not may_wait(later, self.settings.delay):
            return AckOutcome(ErrorCode.INVALID_REQUEST)
        change = StateChange(self._next_write_id())
        request = Acknowledgement(self._window, self._locks, self.settings, member_id, change, now_ms)
        error = request.apply(batches)
        if error is not ErrorCode.NONE:
            return AckOutcome(error)
        if later:
            request.delay(later)
        if not change.state_batches:
            self.counters.add_acknowledged(change.acknowledged)
            return AckOutcome(ErrorCode.NONE)
        return AckOutcome(ErrorCode.NONE, (self._start(change),), change.write_id)

    def stage(
        self, member_id: str, producer: tuple[int, int], batches: Sequence[Acknowledged], now_ms: int
    ) -> AckOutcome:
        """Acknowledge acquired records in the transaction of a producer, named by its id and epoch (KIP-1289's draft).

        They are TX_PENDING until `end_transaction`. Errors as in `acknowledge`; INVALID_REQUEST for a type that cannot
        be staged.
        """
        from shareq.broker.share.core.transactions.staging import Staging

        self.lapsed.discard(member_id)
        if not all(TYPES.issuperset(ack.acknowledge_types) for ack in batches):
            return AckOutcome(ErrorCode.INVALID_REQUEST)
        change = StateChange(self._next_write_id())
        request = Staging(self._window, self._locks, self.settings, member_id, change, now_ms, producer)
        error = request.apply(batches)
        if error is not ErrorCode.NONE:
            return AckOutcome(error)
        request.complete()
        return AckOutcome(ErrorCode.NONE, (self._start(change),), change.write_id)

    def end_transaction(self, producer: tuple[int, int], now_ms: int, *, commit: bool) -> AckOutcome:
        """End the acknowledgements that were staged by the producer up to this epoch. A state write is always begun.

        CONCURRENT_TRANSACTIONS, with nothing changed, if one of them is still being written or ended.
        """
        from shareq.broker.share.core.transactions.ending import resolve

        change = StateChange(self._next_write_id())
        if not resolve(self._window, producer, change, self.settings, now_ms, commit=commit):
            return AckOutcome(ErrorCode.CONCURRENT_TRANSACTIONS)
        change.staged = (end_of(*producer),)
        return AckOutcome(ErrorCode.NONE, (self._start(change),), change.write_id)

    def staged(self) -> Sequence[Staged]:
        """Return the acknowledgements in transactions that have not ended, ascending."""
        from shareq.broker.share.core.transactions.staging import staged_in

        return staged_in(self._window)

    def release_acquired_records(self, member_id: str, now_ms: int) -> tuple[Effect, ...]:
        """Release everything the member holds, because its share session ended. Takes effect once the state is
        written.
        """
        change = StateChange(self._next_write_id())
        release(self._window, member_id, change, self.settings, now_ms)
        return (self._start(change),) if change.state_batches else ()

    def on_state_written(self, write_id: int, error: ErrorCode, now_ms: int) -> tuple[Effect, ...]:
        """Apply the outcome of a `WriteState`; call this once for each. Raise KeyError for a write that is not under
        way.

        NONE settles the write's records and may move the start offset. After an error the records are their owner's
        again, or are released if the lock has expired meanwhile. After the write of a lock expiry the start offset may
        move with either outcome.
        """
        if self._start_write is not None and write_id == self._start_write.write_id:
            self._start_write = None
            self._start_is_durable = error is ErrorCode.NONE
            return (WakeFetches(),) if self._start_is_durable else ()
        change, write = self._writes.pop(write_id)
        window = self._window
        lacked_room = window.in_flight() >= self.settings.partition_max_record_locks  # may be more: `limit_now`
        if error is ErrorCode.NONE:
            window.note_durable_start(write.start_offset)
            woken = change is not None and self._commit(change)
            more = advance_start(window) or self._has_looked_ahead()
            woken = (more and lacked_room) or woken
            if self.settings.delay.enabled and window.batches.count >= self._join_at and window.gap is None:
                window.batches.join_finished()
                self._join_at = max(_FEWEST_TO_JOIN, 2 * window.batches.count)
        elif change is not None:
            woken = change.roll_back(window, now_ms, self.settings)
            self.counters.add_dead_letters(change.given_up)
            self._wait(change.delays)
        else:
            archived = [row.last_offset for row in write.batches if row.delivery_state == RecordState.ARCHIVED]
            window.note_undurable(max(archived, default=-1))
            woken = advance_start(window) and lacked_room
        if self._order is not None:
            self._order.release(write_id)
            woken = self._order.settle(window) or woken
        effects: tuple[Effect, ...] = (WakeFetches(),) if woken else ()
        if change is not None and change.given_up:
            effects += (DeliveryLimitReached(tuple(change.given_up)),)
        dead = self._dead_at_once(write) if change is None else change.dead
        return (*effects, DeadLetters(tuple(dead))) if dead else effects

    def _dead_at_once(self, write: WriteState) -> list[DeadLetter]:
        """Return the records that died before their write: those that had expired, or those that a lock expiry gave
        up.
        """
        if write.write_id not in self._expirations:
            return _expired_dead(write)
        self._expirations.discard(write.write_id)
        return [each._replace(cause=Cause.EXPIRED) for each in _expired_dead(write)]

    def on_dead_letters_done(self, first_offset: int, last_offset: int) -> tuple[Effect, ...]:
        """Archive the dead records among these offsets (inclusive), since their dead letters have been written or given
        up.

        They are archived at once. If the state write of this fails, a leader that loads the state again writes their
        dead letters again.
        """
        changed = finish_dead(self._window, first_offset, last_offset)
        return (self._write_changed(changed),) if changed else ()

    @property
    def has_dying(self) -> bool:
        """True while a state write is under way that makes records dead; their dead letters are written after it."""
        return any(
            row.delivery_state == RecordState.ARCHIVING for _, write in self._writes.values() for row in write.batches
        )

    def unfinished_dead_letters(self) -> tuple[DeadLetter, ...]:
        """Return the dead records whose dead letters may be missing after a load.

        The cause of death is not persisted; it is concluded from the delivery count.
        """
        return tuple(
            self.letter_of(first, last, status.delivery_count)
            for batch in self._window.batches
            for first, last, status in batch.runs(batch.first_offset, batch.last_offset)
            if status.state is RecordState.ARCHIVING
        )

    def letter_of(self, first_offset: int, last_offset: int, delivery_count: int) -> DeadLetter:
        """Return the dead letter of records that are *archiving* in a persisted state. Its cause is concluded from the
        delivery count.
        """
        cause = Cause.CLIENT_REJECT if delivery_count else Cause.EXPIRED  # nobody can reject what nobody had
        if delivery_count >= self.settings.delivery_count_limit:
            cause = Cause.DELIVERY_COUNT_EXCEEDED
        return DeadLetter(first_offset, last_offset, delivery_count, cause)

    def _write_changed(self, changed: Sequence[Run]) -> WriteState:
        """Return the state write of runs whose change is already in effect."""
        change = StateChange(self._next_write_id())
        change.persist_runs(changed)
        if self.settings.redelivery.initial_ms:
            change.delay_runs(changed)
            self._wait(change.delays)
        write = self._write_of(change)
        self._writes[change.write_id] = (None, write)
        return write

    def _commit(self, change: StateChange) -> bool:
        self.counters.add_acknowledged(change.acknowledged)
        self.counters.session_releases += change.session_releases
        self.counters.add_dead_letters(change.given_up)
        found = change.commit(self._window)
        self._wait(change.delays)
        return found

    def _wait(self, delays: Sequence[Delay]) -> None:
        """Note the times of records that wait, so that `on_deadline` finds them."""
        for first, last, not_before_ms, _ in delays:
            self._times.add(self._window, not_before_ms, first, last)
            self.counters.delays += last - first + 1

    def _start(self, change: StateChange) -> WriteState:
        write = self._write_of(change)
        self._writes[change.write_id] = (change, write)
        return write

    def _write_of(self, change: StateChange) -> WriteState:
        rows, count = tuple(change.state_batches), self._window.delivery_complete_count
        return self._write(change.write_id, rows, count, tuple(change.delays), tuple(change.staged))

    def _write(
        self,
        write_id: int,
        batches: tuple[StateBatch, ...],
        delivery_complete_count: int,
        delays: tuple[Delay, ...] = (),
        staged: tuple[Staged, ...] = (),
    ) -> WriteState:
        start, count = self._window.start_offset, delivery_complete_count
        return WriteState(write_id, self._state_epoch, self.leader_epoch, start, count, batches, delays, staged)

    def _next_write_id(self) -> int:
        self._last_write_id += 1
        return self._last_write_id

    # -- the log and the clock

    def on_log_start_moved(self, log_start_offset: int, now_ms: int) -> None:
        """Move the start offset to the log's start offset, because a read was below that. Do nothing if it is not
        beyond the start offset.
        """
        on_log_start_moved(self._window, log_start_offset)
        if self._order is not None:
            self._freed = self._order.settle(self._window) or self._freed

    def next_deadline_ms(self) -> int | None:
        """Return when to call `on_deadline`; None if no lock is held and no record waits.

        There may be nothing to do at that time.
        """
        window = self._window
        locked = self._locks.next_deadline_ms(window)
        waiting = self._times.next_deadline_ms(window) if self._times.heap else None
        if self._behind is not None and (waiting is None or self._behind.not_before_ms < waiting):
            waiting = self._behind.not_before_ms
        return waiting if locked is None else locked if waiting is None else min(locked, waiting)

    def on_deadline(self, now_ms: int) -> tuple[Effect, ...]:
        """Release records whose lock has expired, at once, without waiting for the state write; and make records
        available that have waited long enough.
        """
        woken = len(self._times) > 0 and wake(self._window, self._times, now_ms)
        if self._behind is not None and self._behind.not_before_ms <= now_ms:
            self._behind, woken = None, True
        expired = expire(self._window, self._locks, now_ms, self.settings, self.lapsed)
        if not expired:
            if self._order is not None:
                self._order.settle(self._window)
            return (WakeFetches(),) if woken else ()
        self.counters.lock_timeouts += records_in(expired)
        lost = given_up(expired, self._window.start_offset)
        self.counters.add_dead_letters(lost)
        write = self._write_changed(expired)
        if self._order is not None:
            self._order.hold(write.write_id)
            self._order.settle(self._window)
        return (write, WakeFetches(), DeliveryLimitReached(tuple(lost))) if lost else (write, WakeFetches())


def _expired_dead(write: WriteState) -> list[DeadLetter]:
    """Return the records that the write of a lock expiry made dead."""
    return [
        DeadLetter(first, last, count, Cause.DELIVERY_COUNT_EXCEEDED)
        for first, last, state, count in write.batches
        if state == RecordState.ARCHIVING
    ]
