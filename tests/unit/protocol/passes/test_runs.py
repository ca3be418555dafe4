"""Passes over runs, in both forms, compared with models that check every offset."""

from __future__ import annotations

from random import Random
from types import ModuleType

import pytest

from tests.support.each import for_each
from tests.support.kafka.run_statuses import (
    AGAIN,
    DONE,
    FREE,
    HELD,
    NEW,
    OTHER,
    WAITS,
    Ack,
    Row,
    Status,
    chance,
    flat,
    runs_of,
)
from tests.support.pass_forms import RUN_FORMS

pytestmark = pytest.mark.parametrize("form", RUN_FORMS)

SEEDS = range(150)


def plain_of(starts: list[int], statuses: list[Status], end: int) -> list[Status]:
    ends = [*starts[1:], end]
    return [status for start, stop, status in zip(starts, ends, statuses, strict=True) for _ in range(start, stop)]


@pytest.mark.parametrize(
    ("numbers", "ascending"),
    [
        ([], True),
        ([-1, -1, 0], True),
        ([0, 9, 1, 9, 9, 4, 2**63 - 1, 2**63 - 1, 1], True),
        ([-2, 9, 1], False),
        ([3, 2, 1], False),
        ([0, 9, 1, 8, 12, 1], False),
        ([0, 9, 1, 10, 12, 5], False),
        ([0, 9, -1], False),
    ],
)
def test_ranges_ascend(form: ModuleType, numbers: list[int], ascending: bool) -> None:
    assert form.ascend(numbers, 4) is ascending


@for_each("seed", SEEDS)
def test_own_runs_are_accepted_up_to_the_first_other_acknowledgement(form: ModuleType, seed: int) -> None:
    rng, base, plain = chance(seed, HELD, HELD, OTHER, WAITS, DONE)
    starts, statuses = runs_of(plain, base)
    end = base + len(plain)
    every = [
        (start, stop - 1, status) for start, stop, status in zip(starts, [*starts[1:], end], statuses, strict=True)
    ]
    acks = [Ack(first, last, [1]) for first, last, status in every if status is HELD]
    target = rng.choice((DONE, Status("pending", 2)))
    wrong = rng.randint(0, len(acks))
    if wrong < len(acks):
        first, last, _ = acks[wrong]
        acks[wrong] = rng.choice(
            [Ack(first, last, [2]), Ack(first, last, [1, 1]), Ack(first, last + 1, [1]), Ack(first - 1, last, [1])]
        )
    at = rng.randint(0, len(acks))
    rows = [Row(base - 5, base - 1, 2, 1)] if rng.random() < 0.5 else []
    expected, expected_rows, upto, offsets, highest = list(plain), list(rows), at, 0, -1
    for ack in acks[at:]:
        inside = expected[ack.first_offset - base : ack.last_offset - base + 1]
        around = [*expected[: ack.first_offset - base][-1:], *expected[ack.last_offset - base + 1 :][:1]]
        whole = (ack.first_offset, ack.last_offset, HELD) in every
        if not whole or target in around or ack.acknowledge_types != [1] or set(inside) != {HELD}:
            break
        expected[ack.first_offset - base : ack.last_offset - base + 1] = [target] * len(inside)
        if expected_rows and expected_rows[-1].last == ack.first_offset - 1:
            expected_rows[-1] = expected_rows[-1]._replace(last=ack.last_offset)
        else:
            expected_rows.append(Row(ack.first_offset, ack.last_offset, 2, 1))
        upto, offsets, highest = upto + 1, offsets + len(inside), ack.last_offset
    found = form.accept(starts, statuses, end, flat(acks), at, HELD, target, rows, NEW, Row)
    assert found == (upto, offsets, highest)
    assert plain_of(starts, statuses, end) == expected
    assert rows == expected_rows
    assert all(type(row) is Row for row in rows)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([Row(5, 9, 2, 1)], [Row(5, 12, 2, 1)]),
        ([Row(1, 2, 2, 1), Row(9, 9, 2, 1)], [Row(1, 2, 2, 1), Row(9, 12, 2, 1)]),
        ([Row(5, 8, 2, 1)], [Row(5, 8, 2, 1), Row(10, 12, 2, 1)]),
        ([Row(5, 9, 4, 1)], [Row(5, 9, 4, 1), Row(10, 12, 2, 1)]),
        ([Row(5, 9, 2, 2)], [Row(5, 9, 2, 2), Row(10, 12, 2, 1)]),
        ([], [Row(10, 12, 2, 1)]),
    ],
)
def test_what_is_accepted_makes_a_row_longer_that_ends_before_it(
    form: ModuleType, before: list[Row], after: list[Row]
) -> None:
    rows = list(before)
    found = form.accept([10, 13], [HELD, OTHER], 20, [10, 12, 1], 0, HELD, DONE, rows, NEW, Row)
    assert (found, rows) == ((1, 3, 12), after)


def cost(form: ModuleType, plain: list[Status], base: int, taken: int = 0, passed: int = 0) -> tuple[int, int]:
    """Return the number of chosen offsets, and of the waiting runs in front of them, if all of these may be chosen."""
    parts, count, passed = form.from_front(
        *runs_of(plain, base), base + len(plain), base, base + len(plain), 5, taken, passed, 3, 1.2
    )
    return sum(last - first + 1 for first, last, _ in parts[:count]), passed


def test_what_makes_an_offset_cheaper_is_taken_from_the_front(form: ModuleType) -> None:
    waits = Status("waits", state=5)
    assert cost(form, [FREE] * 4, 7) == (4, 0)
    assert cost(form, [FREE] * 4 + [waits] + [FREE] * 4, 7) == (8, 1), "4/8 is less than 3/4"
    assert cost(form, [FREE] * 4 + [waits] + [FREE], 7) == (4, 0), "4/5 is more than 3/4"
    assert cost(form, [FREE] * 4 + [waits] + [FREE] + [HELD] + [FREE] * 3, 7) == (8, 1), "it is looked on a little"
    assert cost(form, [FREE] * 4 + [HELD] + [FREE], 7) == (5, 0), "who has it does not wait"
    assert cost(form, [waits, *[FREE] * 4], 7, taken=90, passed=30) == (4, 31)
    assert cost(form, [waits, FREE], 7, taken=90, passed=20) == (0, 20)
    assert cost(form, [waits, HELD], 7) == (0, 0)


@for_each("seed", SEEDS)
def test_parts_are_the_available_runs_between_two_offsets(form: ModuleType, seed: int) -> None:
    rng, base, plain = chance(seed, FREE, AGAIN, WAITS, HELD)
    first = rng.randint(base, base + len(plain) - 1)
    last = rng.randint(first, base + len(plain) + 3)
    starts, statuses = runs_of(plain, base)
    end = base + len(plain)
    inside = [(base + at, status) for at, status in enumerate(plain) if first <= base + at <= last and status.available]
    parts, count, _ = form.from_front(starts, statuses, end, first, last, 9, 0, 0, 1_000_000, 1.2)
    assert [(offset, status) for low, high, status in parts for offset in range(low, high + 1)] == inside
    assert count == len(parts)
    assert form.available_in(starts, statuses, end, first, last) == (
        len(inside),
        inside[-1][0] if inside else -1,
    )


@for_each("seed", SEEDS)
def test_whole_runs_are_handed_out_up_to_the_first_other_part(form: ModuleType, seed: int) -> None:
    rng, base, plain = chance(seed, FREE, AGAIN, WAITS)
    starts, statuses = runs_of(plain, base)
    end = base + len(plain)
    every = [
        (start, stop - 1, status) for start, stop, status in zip(starts, [*starts[1:], end], statuses, strict=True)
    ]
    parts = [run for run in every if run[2].available]
    if parts and rng.random() < 0.5:
        low, high, status = parts[-1]
        parts[-1] = (low, high - 1, status) if high > low else (low, high, OTHER)
    at = rng.randint(0, len(parts))
    expected, upto = list(plain), at
    for low, high, status in parts[at:]:
        if status is not FREE or (low, high, status) not in every:
            break
        expected[low - base : high - base + 1] = [HELD] * (high - low + 1)
        upto += 1
    ranges: list[tuple[int, int, int]] = []
    assert form.hand_out(starts, statuses, end, parts, at, FREE, HELD, ranges, NEW, tuple) == upto
    assert ranges == [(low, high, 1) for low, high, _ in parts[at:upto]]
    assert plain_of(starts, statuses, end) == expected


@for_each("seed", SEEDS)
def test_what_a_write_left_pending_is_settled(form: ModuleType, seed: int) -> None:
    own = [Status("accepted", 2, write_id=5, after=DONE), Status("released", write_id=5, after=AGAIN)]
    kept = Status("as it is", 4, write_id=5)
    _, base, plain = chance(seed, *own, kept, DONE, WAITS, AGAIN, Status("accepted", 2, write_id=6, after=DONE))
    starts, statuses = runs_of(plain, base)
    end = base + len(plain)
    after = [status.after or status if status.write_id == 5 else status for status in plain]
    changed = [
        (start, stop - 1, status.after or status)
        for start, stop, status in zip(starts, [*starts[1:], end], statuses, strict=True)
        if status.write_id == 5
    ]
    lowest = next((base + at for at, status in enumerate(after) if status.available), -1)
    assert form.settle(starts, statuses, end, 5) == (*runs_of(after, base), changed, lowest)


def account(rng: Random, base: int) -> list[Row]:
    """Return ascending, disjoint rows, no two of which could be merged."""
    rows: list[Row] = []
    offset = base
    for _ in range(rng.randint(1, 8)):
        offset += rng.choice((0, 0, 1, 3))
        row = Row(offset, offset + rng.randint(0, 3), rng.choice((0, 2, 4)), rng.randint(1, 2))
        offset = row.last + 1
        if not rows or rows[-1].last + 1 < row.first or rows[-1][2:] != row[2:]:
            rows.append(row)
    return rows


def by_offset(rows: list[Row]) -> dict[int, tuple[int, int]]:
    return {offset: (row.deliveries, row.state) for row in rows for offset in range(row.first, row.last + 1)}


@for_each("seed", SEEDS)
def test_of_two_accounts_the_greater_count_and_state_counts(form: ModuleType, seed: int) -> None:
    rng = Random(seed)
    base = rng.choice((0, 4, 2**40))
    one, other = account(rng, base), account(rng, base + rng.randint(0, 20))
    both = by_offset(one)
    for offset, status in by_offset(other).items():
        both[offset] = max(status, both.get(offset, status))
    found = form.overlay(one, other, NEW, Row)
    assert by_offset(found) == both
    assert form.is_combined(found)
    assert all(type(row) is Row for row in found)


def test_an_account_is_combined_or_not(form: ModuleType) -> None:
    assert form.is_combined([])
    assert form.is_combined([(0, 1, 2, 1), (2, 2, 2, 2), (3, 9, 0, 2), (11, 11, 0, 2)])
    assert not form.is_combined([(0, 1, 2, 1), (2, 2, 2, 1)])
    assert not form.is_combined([(0, 3, 2, 1), (3, 4, 2, 2)])
    assert not form.is_combined([(5, 5, 2, 1), (0, 1, 2, 1)])


def test_an_account_without_rows_leaves_the_other_as_it_is(form: ModuleType) -> None:
    rows = [Row(0, 0, 2, 1), Row(2, 5, 0, 2), Row(2**62, 2**63 - 2, 4, 3)]
    assert form.overlay(rows, [], NEW, Row) == rows
    assert form.overlay([], rows, NEW, Row) == rows
    assert form.overlay([], [], NEW, Row) == []


@pytest.mark.parametrize(
    ("rows", "sound"),
    [
        ([], True),
        ([Row(0, 1, 2, 1), Row(2, 2, 2, 2), Row(3, 9, 0, 2), Row(11, 11, 0, 0)], True),
        ([Row(0, 1, 2, 1), Row(2, 2, 2, 1)], False),
        ([Row(0, 3, 2, 1), Row(3, 4, 2, 2)], False),
        ([Row(5, 5, 2, 1), Row(0, 1, 2, 1)], False),
        ([Row(5, 4, 2, 1)], False),
        ([Row(-1, 4, 2, 1)], False),
        ([Row(0, 4, 1, 1)], False),
        ([Row(0, 4, 3, 1)], False),
        ([Row(0, 4, 63, 1)], False),
        ([Row(0, 4, 64, 1)], False),
        ([Row(0, 4, -1, 1)], False),
        ([Row(0, 4, 2, -1)], False),
        ([Row(0, 4, 2, 1), (9, 9, 2, 1)], False),
    ],
)
def test_rows_that_can_be_and_are_combined_are_an_account(form: ModuleType, rows: list[Row], sound: bool) -> None:
    assert form.is_account(rows, Row, 0b101) is sound


@for_each("seed", SEEDS)
def test_edges_are_of_the_part_of_each_range_in_a_record_batch(form: ModuleType, seed: int) -> None:
    rng = Random(seed)
    ranges: list[tuple[int, int, int]] = []
    offset = 0
    for _ in range(rng.randint(1, 6)):
        offset += rng.randint(0, 3)
        ranges.append((offset, offset + rng.randint(0, 6), 1))
        offset = ranges[-1][1] + 1
    at, base, seen = 0, 0, []
    while at < len(ranges):
        last = base + rng.randint(0, 5)
        flat, at = form.edges(ranges, at, base, last)
        assert all(0 <= low <= high <= last - base for low, high in zip(flat[::2], flat[1::2], strict=True))
        seen += [
            base + delta for low, high in zip(flat[::2], flat[1::2], strict=True) for delta in range(low, high + 1)
        ]
        assert at == sum(each[1] <= last for each in ranges)
        base = last + 1
    assert seen == [each for first, last, _ in ranges for each in range(first, last + 1)]
