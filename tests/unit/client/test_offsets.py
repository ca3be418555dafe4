"""Sets of offsets as ranges, compared with Python's sets."""

from __future__ import annotations

import json
import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shareq.client.offsets import OffsetRange, OffsetRanges

offsets = st.integers(0, 60)
ranges = st.tuples(offsets, st.integers(0, 12)).map(lambda pair: (pair[0], pair[0] + pair[1]))
several = st.lists(ranges, max_size=12)
changes = st.lists(st.tuples(st.booleans(), ranges), max_size=30)


def model(pairs: list[OffsetRange]) -> set[int]:
    return {offset for first, last in pairs for offset in range(first, last + 1)}


def holds(made: OffsetRanges, expected: set[int]) -> None:
    """Check for the expected offsets, in ascending ranges that do not touch."""
    pairs = list(made)
    assert model(pairs) == expected
    assert all(first <= last for first, last in pairs)
    assert all(before[1] + 1 < after[0] for before, after in pairwise(pairs))
    assert made.count == len(expected)
    assert len(made) == len(pairs)
    assert bool(made) is bool(expected)
    assert made.bounds == ((min(expected), max(expected)) if expected else None)


@given(several, several)
def test_combining_is_that_of_sets(left: list[OffsetRange], right: list[OffsetRange]) -> None:
    a, b = OffsetRanges(left), OffsetRanges(right)
    holds(a, model(left))
    holds(a | b, model(left) | model(right))
    holds(a & b, model(left) & model(right))
    holds(a - b, model(left) - model(right))
    holds(a, model(left))  # untouched
    assert (a == b) is (model(left) == model(right))


@given(several, changes)
def test_changing_is_that_of_sets(start: list[OffsetRange], steps: list[tuple[bool, OffsetRange]]) -> None:
    made, expected = OffsetRanges(start), model(start)
    for adds, (first, last) in steps:
        if adds:
            made.add(first, last)
            expected |= model([(first, last)])
        else:
            made.remove(first, last)
            expected -= model([(first, last)])
        holds(made, expected)


@given(several, ranges)
def test_looking_is_that_of_sets(pairs: list[OffsetRange], window: OffsetRange) -> None:
    made, expected, asked = OffsetRanges(pairs), model(pairs), model([window])
    holds(made.within(*window), expected & asked)
    assert made.covers(*window) is (asked <= expected)
    assert (window[0] in made) is (window[0] in expected)


@given(several)
def test_json_there_and_back(pairs: list[OffsetRange]) -> None:
    made = OffsetRanges(pairs)
    assert OffsetRanges.from_json(json.loads(json.dumps(made.to_json()))) == made


@pytest.mark.parametrize(
    "value", [None, {}, "1-2", [1, 2], [[1]], [[1, "2"]], [[1, 2, 3]], [[1.0, 2]], [[True, 2]], [[2, 1]]]
)
def test_json_that_is_no_ranges_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match=r"range|expected"):
        OffsetRanges.from_json(value)


def test_a_range_that_ends_before_it_begins_is_refused() -> None:
    with pytest.raises(ValueError, match="5-4 ends before it begins"):
        OffsetRanges().add(5, 4)


def test_a_copy_is_another_set() -> None:
    made = OffsetRanges([(0, 9)])
    copied = made.copy()
    copied.remove(3, 3)
    assert made == OffsetRanges([(0, 9)])
    assert repr(copied) == "OffsetRanges([0-2, 4-9])"


def test_three_hundred_thousand_ranges_are_combined_in_no_time() -> None:
    odd = OffsetRanges((n, n) for n in range(1, 1_200_000, 4))
    even = OffsetRanges((n, n) for n in range(0, 1_200_000, 4))
    started = time.perf_counter()
    assert len(odd | even) == 300_000
    assert not odd & even
    assert odd - even == odd
    odd.add(2_000_000, 2_000_001)
    assert time.perf_counter() - started < 5  # some 0.2 on a machine of its own
