"""Order of partitions, byte budgets and slices of a share fetch (KIP-932).

Behaviour follows Apache Kafka 4.3.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import pytest

from shareq.broker.share.core.fetch_plan import fetch_order, slice_bounds, split_bytes
from shareq.broker.share.core.values import AcquiredRange


@dataclass(frozen=True)
class Placed:
    base_offset: int
    last_offset: int
    position: int
    size: int


@pytest.mark.parametrize(
    ("epoch", "order"),
    [(0, "abc"), (-1, "abc"), (1, "bca"), (2, "cab"), (3, "abc"), (4, "bca"), (2**31 - 1, "bca")],
)
def test_every_request_of_a_session_begins_one_partition_further_on(epoch: int, order: str) -> None:
    assert fetch_order("abc", epoch, 3) == list(order)


@pytest.mark.parametrize(
    ("epoch", "order"), [(-1, "ab"), (0, "ab"), (1, "cd"), (2, "ea"), (3, "bc"), (4, "de"), (5, "ab")]
)
def test_each_request_of_a_large_session_looks_at_the_next_ones(epoch: int, order: str) -> None:
    assert fetch_order("abcde", epoch, 2) == list(order)


def test_nothing_or_one_partition_cannot_be_rotated() -> None:
    assert fetch_order([], 5, 3) == []
    assert fetch_order(["a"], 5, 3) == ["a"]


def test_bytes_are_split_evenly_and_one_partition_gets_the_remainder() -> None:
    budgets = split_bytes(1_003, 4, Random(1))
    assert sorted(budgets) == [250, 250, 250, 253]
    assert {tuple(split_bytes(5, 2, Random(seed))) for seed in range(20)} == {(2, 3), (3, 2)}


def test_with_fewer_bytes_than_partitions_some_get_one_byte() -> None:
    assert sorted(split_bytes(2, 5, Random(1))) == [0, 0, 0, 1, 1]
    assert len({tuple(split_bytes(2, 5, Random(seed))) for seed in range(50)}) > 3


def test_no_partitions_or_no_bytes() -> None:
    assert split_bytes(100, 0, Random(1)) == []
    assert split_bytes(0, 2, Random(1)) == [0, 0]
    assert split_bytes(-5, 2, Random(1)) == [0, 0]


READ = [Placed(0, 4, 0, 100), Placed(5, 9, 100, 50), Placed(20, 29, 150, 70), Placed(30, 30, 220, 10)]


@pytest.mark.parametrize(
    ("acquired", "bounds"),
    [
        ([(0, 30)], (0, 230)),
        ([(2, 3)], (0, 100)),
        ([(7, 7)], (100, 150)),
        ([(4, 5)], (0, 150)),
        ([(6, 6), (30, 30)], (100, 230)),
        ([(10, 20)], (150, 220)),
        ([(12, 15)], (0, 0)),
        ([(8, 12)], (100, 150)),
        ([], (0, 0)),
    ],
)
def test_whole_batches_from_the_first_to_the_last_acquired_offset(
    acquired: list[tuple[int, int]], bounds: tuple[int, int]
) -> None:
    assert slice_bounds(READ, [AcquiredRange(first, last, 1) for first, last in acquired]) == bounds


def test_of_two_batches_those_that_were_acquired_are_sent() -> None:
    assert slice_bounds(READ[:2], [AcquiredRange(0, 7, 1)]) == (0, 150)
    assert slice_bounds(READ[:2], [AcquiredRange(7, 7, 1)]) == (100, 150)
    assert slice_bounds(READ[:2], [AcquiredRange(0, 0, 1)]) == (0, 100)


def test_a_read_of_one_batch_is_sent_as_it_is() -> None:
    assert slice_bounds(READ[1:2], [AcquiredRange(7, 7, 1)]) == (100, 150)
    assert slice_bounds([], [AcquiredRange(7, 7, 1)]) == (0, 0)
