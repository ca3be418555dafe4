"""Runs of an in-flight batch and the ordered map of batches, compared with plain lists."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from shareq.broker.share.core.window.batch import InFlightBatch, merged
from shareq.broker.share.core.window.batches import BatchMap
from shareq.broker.share.core.window.delivery_status import DeliveryStatus, settled
from shareq.broker.share.core.window.window import InFlightWindow
from shareq.protocol.share import RecordState
from tests.support.each import for_each

NEW = settled(RecordState.AVAILABLE, 0)
COLOURS = [settled(RecordState.AVAILABLE, count) for count in range(4)]
Plain = list[DeliveryStatus]


def unroll(batch: InFlightBatch) -> Plain:
    return [
        status
        for first, last, status in batch.runs(batch.first_offset, batch.last_offset)
        for _ in range(first, last + 1)
    ]


def overwrite_run(batch: InFlightBatch, plain: Plain, rng: Random) -> None:
    first = rng.randint(10, 29)
    last = rng.randint(first, 29)
    status = rng.choice(COLOURS)
    batch.overwrite(first, last, [first], [status])
    plain[first - 10 : last - 9] = [status] * (last - first + 1)


def overwrite_each(batch: InFlightBatch, plain: Plain, rng: Random) -> None:
    first = rng.randint(10, 29)
    last = rng.randint(first, 29)
    wanted = [rng.choice(COLOURS) for _ in range(first, last + 1)]
    batch.overwrite(first, last, *merged(list(range(first, last + 1)), wanted))
    plain[first - 10 : last - 9] = wanted


def overwrite_many(batch: InFlightBatch, plain: Plain, rng: Random) -> None:
    cuts = sorted(rng.sample(range(10, 30), rng.choice((2, 4, 8, 14))))
    parts = []
    for first, last in zip(cuts[::2], cuts[1::2], strict=True):
        new = rng.choice(COLOURS)
        last = rng.choice((first, last - 1, last)) if last - 1 >= first else last
        parts.append((first, last, new))
        plain[first - 10 : last - 9] = [new] * (last - first + 1)
    batch.overwrite_many(parts)


def commit(batch: InFlightBatch, plain: Plain, rng: Random) -> None:
    first = rng.randint(10, 29)
    last = rng.randint(first, 29)
    held = DeliveryStatus(RecordState.ACQUIRED, 1, "m1")
    pending = held.pending(rng.choice((RecordState.AVAILABLE, RecordState.ACKNOWLEDGED)), 5)
    batch.overwrite(first, last, [first], [pending])
    assert pending.after is not None
    plain[first - 10 : last - 9] = [pending.after] * (last - first + 1)
    available = [offset for offset, status in enumerate(plain, 10) if first <= offset and status.available]
    changed, found = batch.commit(first, last, 5)
    assert [(run_first, run_last) for run_first, run_last, _ in changed] == [(first, last)]
    assert all(status is pending.after for _, _, status in changed)
    if pending.state is RecordState.AVAILABLE:
        assert found == first
    else:
        assert found is None or found in available


@for_each("seed", range(60))
def test_runs_always_report_the_same_as_one_status_per_offset(seed: int) -> None:
    rng = Random(seed)
    batch, plain = InFlightBatch(10, 29, NEW), [NEW] * 20
    steps: list[Callable[[InFlightBatch, Plain, Random], None]] = [
        overwrite_run,
        overwrite_each,
        overwrite_many,
        commit,
    ]
    for _ in range(25):
        rng.choice(steps)(batch, plain, rng)
        assert unroll(batch) == plain
        assert batch.starts[0] == 10
        assert batch.starts == sorted(set(batch.starts))
        assert all(one is not other for one, other in zip(batch.statuses, batch.statuses[1:], strict=False))
        assert batch.size == 20
        first = rng.randint(10, 29)
        last = rng.randint(first, 29)
        cut = [status for low, high, status in batch.runs(first, last) for _ in range(low, high + 1)]
        assert cut == plain[first - 10 : last - 9]


def test_a_batch_treated_whole_stays_one_run_and_out_of_offset_form() -> None:
    batch = InFlightBatch(0, 9_999, NEW)
    batch.overwrite(0, 9_999, [0], [COLOURS[1]])
    assert (batch.starts, batch.statuses, batch.offset_form) == ([0], [COLOURS[1]], False)


def test_a_batch_of_several_runs_is_in_offset_form() -> None:
    batch = InFlightBatch(0, 9, NEW)
    batch.overwrite(0, 9, [0, 5], [COLOURS[1], COLOURS[2]])
    assert batch.offset_form


def test_offset_form_is_for_good_though_equal_runs_merge() -> None:
    """The status is kept per offset, as in Apache Kafka; some rules depend on that."""
    batch = InFlightBatch(0, 9, NEW)
    batch.overwrite(0, 4, [0], [COLOURS[1]])
    batch.overwrite(5, 9, [5], [COLOURS[1]])
    assert (batch.starts, batch.offset_form) == ([0], True)


@for_each("seed", range(40))
def test_single_offsets_of_one_status_get_another(seed: int) -> None:
    rng = Random(seed)
    batch = InFlightBatch(10, 29, NEW)
    plain = [rng.choice(COLOURS) for _ in range(20)]
    starts = [at for at in range(20) if at == 0 or plain[at] is not plain[at - 1]]
    batch.overwrite(10, 29, [10 + at for at in starts], [plain[at] for at in starts])
    old, new = rng.sample(COLOURS, 2)
    offsets = sorted(rng.sample(range(10, 30), rng.randint(1, 12)))
    others = [offset for offset in offsets if plain[offset - 10] is not old]
    assert batch.replace(offsets, old, new) == others
    plain = [new if status is old and 10 + at in offsets else status for at, status in enumerate(plain)]
    assert unroll(batch) == plain
    assert all(one is not other for one, other in zip(batch.statuses, batch.statuses[1:], strict=False))


def test_a_batch_of_which_nothing_is_replaced_keeps_its_form() -> None:
    batch = InFlightBatch(0, 9, NEW)
    assert batch.replace([3, 4], COLOURS[1], COLOURS[2]) == [3, 4]
    assert (batch.starts, batch.statuses, batch.offset_form) == ([0], [NEW], False)
    assert batch.replace([3, 4], NEW, COLOURS[2]) == []
    assert (batch.starts, batch.offset_form) == ([0, 3, 5], True)


@for_each("seed", range(30))
def test_the_map_finds_what_a_sorted_list_finds(seed: int) -> None:
    rng = Random(seed)
    batches, plain = BatchMap(), dict[int, InFlightBatch]()
    slots = list(range(0, 200, 5))
    for _ in range(60):
        free = [slot for slot in slots if slot not in plain and slot >= min(plain, default=0)]
        if free and rng.random() < 0.7:
            first = rng.choice(free)
            plain[first] = InFlightBatch(first, first + rng.randint(0, 4), NEW)
            batches.add(plain[first])
        elif plain:
            count = rng.randint(1, len(plain)) if rng.random() < 0.2 else 1
            batches.drop(count)
            for first in sorted(plain)[:count]:
                del plain[first]
        ordered = [plain[first] for first in sorted(plain)]
        assert list(batches) == ordered
        assert len(batches) == len(ordered)
        low = rng.randint(-3, 205)
        high = low + rng.randint(0, 40)
        assert batches.floor(low) is next((b for b in reversed(ordered) if b.first_offset <= low), None)
        assert batches.starting_in(low, high) == [b for b in ordered if low <= b.first_offset <= high]
        assert batches.overlapping(low, high) == [b for b in ordered if b.last_offset >= low and b.first_offset <= high]
        assert list(batches.from_offset(low)) == [b for b in ordered if b.last_offset >= low]
        assert batches.next_first(low) == next((b.first_offset for b in ordered if b.first_offset > low), None)
        if ordered:
            assert (batches.first, batches.last) == (ordered[0], ordered[-1])


def test_an_empty_map_has_neither_first_nor_last() -> None:
    batches = BatchMap()
    batches.add(InFlightBatch(0, 1, NEW))
    batches.clear()
    for end in ("first", "last"):
        with pytest.raises(IndexError):
            getattr(batches, end)


def test_what_leaves_the_log_keeps_its_own_number_of_deliveries() -> None:
    window = InFlightWindow()
    for first, colour in ((0, COLOURS[1]), (2, COLOURS[3]), (4, COLOURS[2])):
        window.batches.add(InFlightBatch(first, first + 1, colour))
    window.end_offset = 5
    window.archive(1, 4, RecordState.AVAILABLE)
    archived = {count: settled(RecordState.ARCHIVED, count) for count in (1, 2, 3)}
    assert list(window.runs(0, 5)) == [
        (0, 0, COLOURS[1]),
        (1, 1, archived[1]),
        (2, 3, archived[3]),
        (4, 4, archived[2]),
        (5, 5, COLOURS[2]),
    ]
    assert window.delivery_complete_count == 4
