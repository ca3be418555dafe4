"""Passes over a status per offset, in both forms, compared with models that check every offset, and with `runs`."""

from __future__ import annotations

from random import Random
from types import ModuleType

import pytest

from shareq.protocol.passes import runs
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
from tests.support.pass_forms import OFFSET_FORMS

pytestmark = pytest.mark.parametrize("form", OFFSET_FORMS)

SEEDS = range(150)
LATER = Status("waits", state=5)


def part_of(rng: Random, base: int, plain: list[Status]) -> tuple[int, int]:
    first = rng.randint(base, base + len(plain) - 1)
    return first, rng.randint(first, base + len(plain) - 1)


def runs_among(plain: list[Status], base: int, first: int, last: int) -> list[tuple[int, int, Status]]:
    starts, statuses = runs_of(plain[first - base : last - base + 1], first)
    ends = [start - 1 for start in starts[1:]] + [last]
    return list(zip(starts, ends, statuses, strict=True))


@for_each("seed", SEEDS)
def test_runs_are_those_of_neighbours_with_one_status(form: ModuleType, seed: int) -> None:
    rng, base, plain = chance(seed, FREE, FREE, WAITS, HELD)
    first, last = part_of(rng, base, plain)
    every = runs_among(plain, base, first, last)
    most = rng.randint(1, 8)
    assert form.runs_in(plain, base, first, last, most) == every[:most]
    assert form.runs_in(plain, base, first, last, 100) == every
    assert form.runs_in(plain, base, first, first - 1, 5) == []


@for_each("seed", SEEDS)
def test_what_is_available_is_found_and_counted(form: ModuleType, seed: int) -> None:
    rng, base, plain = chance(seed, FREE, AGAIN, WAITS, HELD, OTHER)
    first, last = part_of(rng, base, plain)
    available = [run for run in runs_among(plain, base, first, last) if run[2].available]
    found = available[0][:2] if available else (last + 1, last + 1)
    assert form.available_run(plain, base, first, last) == found
    count = sum(run_last - run_first + 1 for run_first, run_last, _ in available)
    assert form.count_available(plain, base, first, last) == (count, available[-1][1] if available else -1)


@for_each("seed", SEEDS)
def test_runs_get_other_statuses_and_the_rest_keeps_its_own(form: ModuleType, seed: int) -> None:
    rng, base, plain = chance(seed, FREE, WAITS)
    first, last = part_of(rng, base, plain)
    wanted = [rng.choice((HELD, DONE)) for _ in range(first, last + 1)]
    expected = [*plain[: first - base], *wanted, *plain[last - base + 1 :]]
    form.put(plain, base, *runs_of(wanted, first), last)
    assert plain == expected


@for_each("seed", SEEDS)
def test_the_first_unfinished_one_is_found_from_any_index(form: ModuleType, seed: int) -> None:
    archived = Status("archived", 4, done=True)
    rng, _, plain = chance(seed, DONE, DONE, archived, archived, HELD)
    at = rng.randint(0, len(plain))
    found = next((index for index in range(at, len(plain)) if not plain[index].done), len(plain))
    assert form.unfinished(plain, at) == found


@for_each("seed", SEEDS)
def test_parts_from_the_front_are_those_of_runs(form: ModuleType, seed: int) -> None:
    rng, base, plain = chance(seed, FREE, FREE, AGAIN, WAITS, LATER, Status("again", state=5), HELD)
    first, last = part_of(rng, base, plain)
    taken, passed, cost = rng.choice((0, 0, 1, 9)), rng.randint(0, 3), rng.randint(1, 6)
    of_runs = runs.from_front(*runs_of(plain, base), base + len(plain), first, last, 5, taken, passed, cost, 1.2)
    assert form.from_front(plain, base, first, last, 5, taken, passed, cost, 1.2) == of_runs


@for_each("seed", SEEDS)
def test_parts_are_handed_out(form: ModuleType, seed: int) -> None:
    rng, base, plain = chance(seed, FREE, AGAIN, WAITS)
    new = {FREE: HELD, AGAIN: OTHER}
    parts = [
        (first, rng.randint(first, last), status)
        for first, last, status in runs_among(plain, base, base, base + len(plain) - 1)
        if status.available and rng.random() < 0.8
    ]
    expected = list(plain)
    for first, last, status in parts:
        expected[first - base : last - base + 1] = [new[status]] * (last - first + 1)
    ranges: list[tuple[int, ...]] = [(0, 0, 0)]
    assert form.hand_out(plain, base, parts, lambda batch, status: batch[status], new, ranges, NEW, tuple) == sum(
        last - first + 1 for first, last, _ in parts
    )
    assert ranges[1:] == [(first, last, new[status].delivery_count) for first, last, status in parts]
    assert plain == expected


@for_each("seed", SEEDS)
def test_own_offsets_are_accepted_up_to_the_first_other_acknowledgement(form: ModuleType, seed: int) -> None:
    rng, base, plain = chance(seed, HELD, HELD, HELD, OTHER, WAITS)
    end, offset, acks = base + len(plain), base, []
    while offset < end:
        last = offset + rng.choice((0, 0, 1, 2))
        if rng.random() < 0.1 or all(status is HELD for status in plain[offset - base : last - base + 1]):
            types = rng.choice(([1],) * 9 + ([2], [1, 1]))
            acks.append(Ack(offset, last, types))
        offset = last + 1 + rng.choice((0, 0, 1))
    if rng.random() < 0.1:
        acks.insert(rng.randint(0, len(acks)), Ack(base - 1, base, [1]))
    at = rng.randint(0, len(acks))
    rows = [Row(base - 5, base - 1, 2, 1)] if rng.random() < 0.5 else []
    expected, expected_rows, upto, offsets, highest = list(plain), list(rows), at, 0, -1
    for first, last, types in acks[at:]:
        inside = expected[first - base : last - base + 1] if first >= base and last < end else [WAITS]
        if types != [1] or set(inside) != {HELD}:
            break
        expected[first - base : last - base + 1] = [DONE] * len(inside)
        if expected_rows and expected_rows[-1].last == first - 1:
            expected_rows[-1] = expected_rows[-1]._replace(last=last)
        else:
            expected_rows.append(Row(first, last, 2, 1))
        upto, offsets, highest = upto + 1, offsets + len(inside), last
    found = form.accept(plain, base, flat(acks), at, HELD, DONE, rows, NEW, Row)
    assert found == (upto, offsets, highest)
    assert plain == expected
    assert rows == expected_rows
    assert all(type(row) is Row for row in rows)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([Row(5, 9, 2, 1)], [Row(5, 12, 2, 1)]),
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
    plain = [HELD] * 3 + [OTHER]
    assert form.accept(plain, 10, [10, 12, 1], 0, HELD, DONE, rows, NEW, Row) == (1, 3, 12)
    assert rows == after
    assert form.accept(plain, 10, [13, 12, 1], 0, OTHER, DONE, rows, NEW, Row) == (0, 0, -1), "no offset at all"


@pytest.mark.parametrize("first", range(6))
def test_the_first_row_is_one_of_its_own_at_any_offset(form: ModuleType, first: int) -> None:
    rows: list[Row] = []
    assert form.accept([HELD], first, [first, first, 1], 0, HELD, DONE, rows, NEW, Row) == (1, 1, first)
    assert rows == [Row(first, first, 2, 1)]


@for_each("seed", SEEDS)
def test_what_a_write_left_pending_is_settled(form: ModuleType, seed: int) -> None:
    own = [Status("accepted", 2, write_id=5, after=DONE), Status("released", write_id=5, after=AGAIN)]
    kept = Status("as it is", 4, write_id=5)
    rng, base, plain = chance(
        seed, *own, kept, DONE, WAITS, AGAIN, Status("accepted", 2, write_id=6, after=DONE), OTHER, HELD
    )
    first, last = part_of(rng, base, plain)
    inside = plain[first - base : last - base + 1]
    after = [status.after or status if status.write_id == 5 else status for status in inside]
    changed = [
        (run_first, run_last, status.after or status)
        for run_first, run_last, status in runs_among(plain, base, first, last)
        if status.write_id == 5
    ]
    lowest = next((first + at for at, status in enumerate(after) if status.available), -1)
    expected = [*plain[: first - base], *after, *plain[last - base + 1 :]]
    assert form.settle(plain, base, first, last, 5) == (changed, lowest)
    assert plain == expected


@for_each("seed", SEEDS)
def test_offsets_of_several_lists_are_freed_where_they_wait(form: ModuleType, seed: int) -> None:
    rng = Random(seed)
    firsts, lists, base = [], [], rng.choice((0, 2**40))
    statuses: dict[int, Status] = {}
    for _ in range(rng.randint(0, 5)):
        base += rng.choice((0, 0, 3))
        plain = [rng.choice((WAITS, WAITS, HELD, FREE)) for _ in range(rng.randint(1, 6))]
        firsts.append(base)
        lists.append(plain)
        statuses |= dict(enumerate(plain, base))
        base += len(plain)
    low = firsts[0] - 2 if firsts else base
    offsets = rng.sample(range(low, base + 3), rng.randint(0, (base + 3 - low) // 2))
    freed = [offset for offset in offsets if statuses.get(offset) is WAITS]
    others = [offset for offset in offsets if offset not in freed]
    assert form.free(offsets, firsts, lists, WAITS, AGAIN) == (others, min(freed, default=-1))
    after = {first + at: status for first, plain in zip(firsts, lists, strict=True) for at, status in enumerate(plain)}
    assert after == statuses | dict.fromkeys(freed, AGAIN)
