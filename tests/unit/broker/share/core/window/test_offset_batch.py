"""A batch with a status per offset, compared with one of runs through the same operations."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from random import Random

from shareq.broker.share.core.effects import StateBatch
from shareq.broker.share.core.values import AcquiredRange
from shareq.broker.share.core.window.batch import InFlightBatch, merged
from shareq.broker.share.core.window.delivery_status import DeliveryStatus, settled
from shareq.broker.share.core.window.offset_batch import OffsetBatch
from shareq.protocol.share import RecordState
from tests.support.each import for_each

FIRST, LAST = 10, 39
FREE, AGAIN = settled(RecordState.AVAILABLE, 0), settled(RecordState.AVAILABLE, 1)
GONE, FORGOTTEN = settled(RecordState.ARCHIVED, 1), settled(RecordState.ARCHIVED, 0)
WAITS = DeliveryStatus(RecordState.AVAILABLE, 0)
WAITS.available = False


class Both:
    """The same batch in both forms, and the expected status of each offset."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.plain = [self.rng.choice((FREE, WAITS)) for _ in range(FIRST, LAST + 1)]
        self.runs = InFlightBatch(FIRST, LAST, FREE)
        self.runs.overwrite(FIRST, LAST, *merged(list(range(FIRST, LAST + 1)), list(self.plain)))
        self.offsets = OffsetBatch(FIRST, list(self.plain), 0)
        self.write_id = 0
        self.acquired: dict[DeliveryStatus, DeliveryStatus] = {}

    def part(self) -> tuple[int, int]:
        first = self.rng.randint(FIRST, LAST)
        return first, self.rng.randint(first, LAST)

    def set(self, first: int, last: int, status: DeliveryStatus) -> None:
        self.plain[first - FIRST : last - FIRST + 1] = [status] * (last - first + 1)

    def at(self, offset: int) -> DeliveryStatus:
        return self.plain[offset - FIRST]

    def held(self, _batch: object, status: DeliveryStatus) -> DeliveryStatus:
        return self.acquired.setdefault(status, status.acquired("m1", 1_000, 0))

    # -- operations

    def hand_out(self) -> None:
        """Acquire records in both forms, with new status objects each time."""
        self.acquired.clear()
        first, last = self.part()
        choice = (RecordState.AVAILABLE, self.rng.choice((0, 5)), self.rng.randint(0, 2), 3, 1.2)
        parts, count, passed = self.runs.from_front(first, last, *choice)
        assert self.offsets.from_front(first, last, *choice) == (parts, count, passed)
        parts = parts[:count]
        if parts and self.rng.random() < 0.3:
            low, high, status = parts[-1]
            parts[-1] = (low, self.rng.randint(low, high), status)
        found: list[list[AcquiredRange]] = [[], []]
        if parts:
            taken = self.runs.hand_out(parts, self.held, found[0], AcquiredRange)
            assert self.offsets.hand_out(parts, self.held, found[1], AcquiredRange) == taken
            assert taken == sum(high - low + 1 for low, high, _ in parts)
        assert found[0] == found[1]
        assert all(type(each) is AcquiredRange for each in found[0] + found[1])
        for low, high, status in parts:
            self.set(low, high, self.held(None, status))

    def accept(self) -> None:
        """Accept runs of one holder in both forms, up to the first acknowledgement that the runs do not take."""
        first, _ = self.part()
        spans = [(low, high) for low, high, status in self.runs.runs(FIRST, LAST) if status.owner and low >= first]
        if not spans:
            return
        acks = [number for low, high in spans for number in (low, high, 1)]
        owned = self.at(spans[0][0])
        self.write_id += 1
        target = owned.pending(RecordState.ACKNOWLEDGED, self.write_id)
        rows: list[list[StateBatch]] = [[], []]
        done, offsets, upto = self.runs.accept(acks, 0, owned, target, rows[0], StateBatch)
        found = self.offsets.accept(acks[: 3 * done], 0, owned, target, rows[1], StateBatch)
        assert found == (done, offsets, upto)
        assert rows[0] == rows[1]
        for low, high in spans[:done]:
            self.set(low, high, target)

    def commit(self) -> None:
        if not self.write_id:
            return
        write_id = self.rng.randint(1, self.write_id)
        touched = [offset for offset in range(FIRST, LAST + 1) if self.at(offset).write_id == write_id]
        if not touched:
            return
        first, last = touched[0], touched[-1]
        changed, available = self.runs.commit(first, last, write_id)
        found, lowest = self.offsets.commit(first, last, write_id)
        assert list(found) == list(changed)
        assert lowest == (available if available is None else max(first, available))
        for offset in touched:
            self.set(offset, offset, self.at(offset).after or self.at(offset))

    def overwrite(self) -> None:
        first, last = self.part()
        wanted = [self.rng.choice((AGAIN, WAITS, GONE)) for _ in range(first, last + 1)]
        if self.rng.random() < 0.5:
            wanted = wanted[:1] * len(wanted)
        for batch in (self.runs, self.offsets):
            batch.overwrite(first, last, *merged(list(range(first, last + 1)), list(wanted)))
        self.plain[first - FIRST : last - FIRST + 1] = wanted

    def overwrite_many(self) -> None:
        cuts = sorted(self.rng.sample(range(FIRST, LAST + 1), self.rng.choice((2, 4, 8, 14))))
        parts = [
            (low, self.rng.randint(low, high - 1), self.rng.choice((AGAIN, WAITS, GONE)))
            for low, high in zip(cuts[::2], cuts[1::2], strict=True)
        ]
        self.runs.overwrite_many(parts)
        self.offsets.overwrite_many(parts)
        for low, high, status in parts:
            self.set(low, high, status)

    def replace(self) -> None:
        some = sorted(self.rng.sample(range(FIRST, LAST + 1), self.rng.randint(1, 12)))
        others = [offset for offset in some if self.at(offset) is not WAITS]
        assert self.runs.replace(list(some), WAITS, FREE) == others
        assert self.offsets.replace(list(some), WAITS, FREE) == others
        for offset in some:
            if self.at(offset) is WAITS:
                self.set(offset, offset, FREE)

    def forget(self) -> None:
        """Forget finished offsets up to the next run, as when the start offset moves."""
        at = self.runs.unfinished_from()
        if at is not None and at > FIRST:
            self.runs.forget_below(at, FORGOTTEN)
            self.offsets.forget_below(at, FORGOTTEN)
            self.set(FIRST, at - 1, FORGOTTEN)

    # -- queries

    def compare(self) -> None:
        unfinished = next((FIRST + at for at, status in enumerate(self.plain) if not status.done), None)
        first, last = self.part()
        for batch in (self.runs, self.offsets):
            runs = list(batch.runs(first, last))
            assert [status for low, high, status in runs for _ in range(low, high + 1)] == self.plain[
                first - FIRST : last - FIRST + 1
            ]
            assert all(one[2] is not other[2] for one, other in pairwise(runs))
            available = [run for run in runs if run[2].available]
            assert list(batch.available(first, last)) == available
            numbers = [offset for low, high, _ in available for offset in range(low, high + 1)]
            assert batch.count_available(first, last) == (len(numbers), max(numbers, default=-1))
            assert batch.status_at(first) is self.at(first)
            assert batch.unfinished_from() == unfinished
            lowest = next((offset for offset in range(first, LAST + 1) if self.at(offset).available), None)
            assert batch.first_available(first) == lowest
            assert batch.size == LAST - FIRST + 1
        assert list(self.offsets.runs(FIRST - 5, LAST + 5)) == list(self.runs.runs(FIRST, LAST))
        assert self.offsets.statuses == self.plain
        assert self.offsets.offset_form


@for_each("seed", range(150))
def test_both_forms_have_the_same_life(seed: int) -> None:
    both = Both(seed)
    steps: list[Callable[[], None]] = [
        both.hand_out,
        both.hand_out,
        both.accept,
        both.accept,
        both.commit,
        both.commit,
        both.replace,
        both.forget,
    ]
    steps += [both.overwrite, both.overwrite_many] if seed % 3 == 0 else []
    both.compare()
    for _ in range(40):
        both.rng.choice(steps)()
        both.compare()


def test_many_runs_are_listed_to_their_end() -> None:
    """The runs are searched some hundreds at a time."""
    statuses = [FREE, WAITS] * 400
    batch = OffsetBatch(5, statuses, 0)
    assert [first for first, _, _ in batch.runs(6, 804)] == list(range(6, 805))
    assert [first for first, _, _ in batch.available(0, 10_000)] == list(range(5, 805, 2))


def test_what_is_finished_is_looked_for_again_where_it_was_overwritten() -> None:
    batch = OffsetBatch(0, [GONE] * 5 + [FREE] * 5, 0)
    assert batch.unfinished_from() == 5
    batch.forget_below(5, FORGOTTEN)
    batch.overwrite(2, 3, [2], [AGAIN])
    assert batch.unfinished_from() == 2
    batch.overwrite(2, 3, [2], [GONE])
    assert batch.unfinished_from() == 5
    batch.forget_below(5, FORGOTTEN)
    assert list(batch.runs(0, 9)) == [(0, 4, FORGOTTEN), (5, 9, FREE)]


def test_offset_0_is_like_any_other() -> None:
    released = DeliveryStatus(RecordState.ACQUIRED, 1, "m1").pending(RecordState.AVAILABLE, 4)
    batch = OffsetBatch(0, [released, FREE], 0)
    changed, available = batch.commit(0, 0, 4)
    assert ([run[:2] for run in changed], available) == ([(0, 0)], 0)
    assert batch.status_at(0).available


def test_of_a_batch_that_is_all_finished_nothing_is_unfinished() -> None:
    assert OffsetBatch(10, [GONE] * 3, 0).unfinished_from() is None


def test_what_is_finished_is_forgotten_part_by_part() -> None:
    batch = OffsetBatch(10, [GONE] * 6 + [FREE], 0)
    assert batch.unfinished_from() == 16
    batch.forget_below(13, FORGOTTEN)
    assert list(batch.runs(10, 16)) == [(10, 12, FORGOTTEN), (13, 15, GONE), (16, 16, FREE)]
    batch.forget_below(16, FORGOTTEN)
    assert list(batch.runs(10, 16)) == [(10, 15, FORGOTTEN), (16, 16, FREE)]


def test_it_is_known_since_when_a_batch_is_in_flight() -> None:
    assert (OffsetBatch(10, [FREE], 0, 77).since_ms, OffsetBatch(10, [FREE], 0).since_ms) == (77, 0)
