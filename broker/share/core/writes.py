"""Pending state writes, and the changes that their outcome makes to records.

A changed record has its new state at once, without an owner: it cannot be acquired, a second acknowledgement fails, and
the start offset does not move over it. A durable write completes the change; a failed one undoes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from shareq.broker.share.core.counters import given_up, records_in
from shareq.broker.share.core.effects import Cause, DeadLetter, GivenUpRange, StateBatch
from shareq.broker.share.core.window.delivery_limit import after_release
from shareq.broker.share.core.window.delivery_status import NO_DELAY, DeliveryStatus
from shareq.broker.share.core.window.redelivery import not_before
from shareq.broker.share.core.window.window import Change, InFlightWindow, Run
from shareq.coordinator.ports import ShareGroupSettings
from shareq.coordinator.share.delays import Delay
from shareq.coordinator.share.staged import NONE_STAGED, Staged
from shareq.protocol.share import RecordState

if TYPE_CHECKING:
    from shareq.broker.share.core.window.batches import Batch


class StateChange:
    """The transitions of one state write. `touched` names, per batch, a range (inclusive) that contains all of them.

    `acknowledged` (records by type), `session_releases` and `given_up` are counted once the change is durable; `dead`
    are the records that are dead then. `delays`, ascending, has the records that wait for a time after the write has
    succeeded or failed. `staged` has the changes of acknowledgements in transactions.
    """

    __slots__ = (
        "acknowledged",
        "dead",
        "delays",
        "given_up",
        "session_releases",
        "staged",
        "state_batches",
        "touched",
        "write_id",
    )

    def __init__(self, write_id: int) -> None:
        self.write_id = write_id
        self.state_batches: list[StateBatch] = []
        self.touched: list[tuple[Batch, int, int]] = []
        self.acknowledged: dict[int, int] = {}
        self.session_releases = 0
        self.given_up: list[GivenUpRange] = []
        self.dead: list[DeadLetter] = []
        self.delays: list[Delay] = []
        self.staged: Sequence[Staged] = NONE_STAGED

    def touch(self, batch: Batch, first: int, last: int) -> None:
        """Add `first..last`, with records that have become pending, to `touched`."""
        if self.touched and self.touched[-1][0] is batch:
            _, low, high = self.touched.pop()
            first, last = min(first, low), max(last, high)
        self.touched.append((batch, first, last))

    def persist(self, rows: list[StateBatch]) -> None:
        """Add rows to write, behind all earlier ones. They ascend, and no two adjacent rows may be alike."""
        written = self.state_batches
        if written and rows:
            first, last, state, count = rows[0]
            if _adjoin(written[-1], first, state, count):
                written[-1] = StateBatch(written[-1].first_offset, last, state, count)
                rows = rows[1:]
        written += rows

    def persist_run(self, first: int, last: int, status: DeliveryStatus) -> None:
        """Add one changed run to the rows to write, as `persist` does."""
        written = self.state_batches
        if written and _adjoin(written[-1], first, status.state, status.delivery_count):
            written[-1] = StateBatch(written[-1].first_offset, last, status.state, status.delivery_count)
        else:
            written.append(StateBatch(first, last, status.state, status.delivery_count))

    def persist_runs(self, runs: Sequence[Run]) -> None:
        """Add changed runs, ascending, to the rows to write, as `persist` does."""
        for first, last, status in runs:
            self.persist_run(first, last, status)

    def delay_runs(self, runs: Iterable[Run]) -> None:
        """Note in `delays` which of the changed runs wait for a time. They ascend, and lie behind all earlier ones."""
        for first, last, status in runs:
            time, count = (status.after or status).not_before_ms, status.delivery_count
            if not time:
                continue
            if self.delays and self.delays[-1][1:] == (first - 1, time, count):
                first = self.delays.pop().first_offset
            self.delays.append(Delay(first, last, time, count))

    def commit(self, window: InFlightWindow) -> bool:
        """Settle the transitions, now that the write is durable. Return True if records became available."""
        found = False
        for batch, first, last in self.touched:
            changed, available = batch.commit(first, last, self.write_id)
            if window.order is not None:
                window.order.note(changed)
            if self.delays:
                window.delayed += sum(end - begin + 1 for begin, end, status in changed if status.not_before_ms)
            if available is not None:
                window.note_available(available)
                found = True
        return found

    def undo(self, window: InFlightWindow) -> None:
        """Undo all transitions, because the request that made them is refused."""

        def before(status: DeliveryStatus) -> DeliveryStatus:
            return status.before or status if status.write_id == self.write_id else status

        for batch, first, last in self.touched:
            window.remap(batch, first, last, before)

    def roll_back(self, window: InFlightWindow, now_ms: int, settings: ShareGroupSettings) -> bool:
        """Undo the transitions of the write, which failed.

        Records whose lock has expired meanwhile are released. Return True if this made records available.

        `given_up`, `dead` and `delays` are replaced by those of the records released so. (Apache Kafka 4.4.0 writes no
        dead letters for these.)
        """
        below = self._rolled_back(now_ms, None)
        above = self._rolled_back(now_ms, settings)
        found = False
        self.given_up, self.dead, self.delays = [], [], []
        for batch, first, last in self.touched:
            if settings.redelivery.initial_ms:
                above = self._rolled_back(now_ms, settings, first)
            changed = window.remap_at_start(batch, first, last, below, above)
            if settings.redelivery.initial_ms:
                self.delay_runs(changed)
            found = found or any(status.available for _, _, status in changed)
            self.given_up += given_up(changed, window.start_offset)
            self.dead += dead_letters(changed, Cause.DELIVERY_COUNT_EXCEEDED)
            for _, run_last, status in changed:
                if status.done:
                    window.note_undurable(run_last)
        return found

    def _rolled_back(self, now_ms: int, settings: ShareGroupSettings | None, first: int = 0) -> Change:
        """Return the function that gives records their earlier status again; if that was a lock that has expired, it
        releases them.

        Without settings, it archives those instead. `first` is the lowest offset that the change is for.
        """
        memo: dict[DeliveryStatus, DeliveryStatus] = {}

        def rolled_back(status: DeliveryStatus) -> DeliveryStatus:
            before = status.before
            if status.write_id != self.write_id or before is None:
                return status
            if before.deadline_ms > now_ms:
                return before
            if settings is None:
                return before.moved(RecordState.ARCHIVED)
            if not settings.redelivery.initial_ms:
                return before.moved(after_release(before, settings))
            moved = memo.get(before)
            if moved is None:
                time = not_before(settings.redelivery, now_ms, first, before.delivery_count)
                moved = memo[before] = before.moved(after_release(before, settings), time)
            return moved

        return rolled_back


def _adjoin(before: StateBatch, first: int, state: int, count: int) -> bool:
    return before.last_offset + 1 == first and before.delivery_state == state and before.delivery_count == count


def dead_letters(runs: Sequence[Run], cause: Cause) -> list[DeadLetter]:
    """Return the runs whose records are dead and need dead letters."""
    return [
        DeadLetter(first, last, status.delivery_count, cause)
        for first, last, status in runs
        if status.state is RecordState.ARCHIVING
    ]


def finish_dead(window: InFlightWindow, first: int, last: int) -> list[Run]:
    """Archive the *archiving* records of `first..last` (inclusive), at once. Return the changed runs."""
    changed: list[Run] = []
    for batch in window.batches.overlapping(first, last):
        changed += window.remap(batch, first, last, _finished)
    return changed


def _finished(status: DeliveryStatus) -> DeliveryStatus:
    if status.state is not RecordState.ARCHIVING or status.write_id:
        return status
    return status.moved(RecordState.ARCHIVED)


def release(
    window: InFlightWindow, member_id: str, change: StateChange, settings: ShareGroupSettings, now_ms: int
) -> None:
    """Begin to release all records that the member holds, because its share session ended; they are pending in
    `change`.

    A record becomes available, perhaps after a delay; at the delivery count limit, or below the start offset, it is
    archived.
    """

    def given_back(above: ShareGroupSettings | None, first: int) -> Change:
        return _given_back(member_id, change.write_id, above, first, now_ms)

    for changed in make_pending(window, change, settings, lambda status: status.owner == member_id, given_back):
        change.session_releases += records_in(changed)
        change.given_up += given_up(changed, window.start_offset)
        change.dead += dead_letters(changed, Cause.DELIVERY_COUNT_EXCEEDED)


def make_pending(
    window: InFlightWindow,
    change: StateChange,
    settings: ShareGroupSettings,
    concerns: Callable[[DeliveryStatus], bool],
    targets: Callable[[ShareGroupSettings | None, int], Change],
) -> Iterator[Sequence[Run]]:
    """Make records in the whole window pending in `change`; yield the changed runs of each batch that has some.

    `concerns` returns True for statuses that may change, `targets` the function that changes them: given settings and
    the first offset of the batch, from which delays count, or None for records below the start offset.
    """
    below, above = targets(None, 0), targets(settings, 0)
    for batch in window.batches:
        if not batch.offset_form and not concerns(batch.statuses[0]):
            continue
        if settings.redelivery.initial_ms:
            above = targets(settings, batch.first_offset)
        changed = window.remap_at_start(batch, batch.first_offset, batch.last_offset, below, above)
        if changed:
            if settings.redelivery.initial_ms:
                change.delay_runs(changed)
            change.touch(batch, changed[0][0], changed[-1][1])
            change.persist_runs(changed)
            yield changed


def _given_back(member_id: str, write_id: int, settings: ShareGroupSettings | None, first: int, now_ms: int) -> Change:
    memo: dict[DeliveryStatus, DeliveryStatus] = {}

    def given_back(status: DeliveryStatus) -> DeliveryStatus:
        if status.state is not RecordState.ACQUIRED or status.owner != member_id:
            return status
        pending = memo.get(status)
        if pending is None:
            state, time = RecordState.ARCHIVED, NO_DELAY
            if settings is not None:
                state = after_release(status, settings)
                time = not_before(settings.redelivery, now_ms, first, status.delivery_count)
            pending = memo[status] = status.pending(state, write_id, time)
        return pending

    return given_back
