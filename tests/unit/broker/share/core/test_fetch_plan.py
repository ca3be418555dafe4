"""Order of partitions, byte budgets, slices and sound acknowledgements of a share fetch (KIP-932).

Behaviour follows Apache Kafka 4.3.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import pytest

from shareq.broker.share.core.fetch_plan import looked_at, rotate, slice_bounds, split_bytes, validate_ack_batches
from shareq.broker.share.core.values import AckBatch, AckRanges, AcquiredRange
from shareq.protocol.errors import ErrorCode


@dataclass(frozen=True)
class Placed:
    """A record batch in a read."""

    base_offset: int
    last_offset: int
    position: int
    size: int


@pytest.mark.parametrize(
    ("epoch", "order"),
    [(0, "abc"), (-1, "abc"), (1, "bca"), (2, "cab"), (3, "abc"), (4, "bca"), (2**31 - 1, "bca")],
)
def test_every_request_of_a_session_begins_one_partition_further_on(epoch: int, order: str) -> None:
    assert rotate("abc", epoch) == list(order)


@pytest.mark.parametrize(
    ("epoch", "order"), [(-1, "ab"), (0, "ab"), (1, "cd"), (2, "ea"), (3, "bc"), (4, "de"), (5, "ab")]
)
def test_each_request_of_a_large_session_looks_at_the_next_ones(epoch: int, order: str) -> None:
    assert looked_at("abcde", epoch, 2) == list(order)


def test_nothing_or_one_partition_cannot_be_rotated() -> None:
    assert rotate([], 5) == []
    assert rotate(["a"], 5) == ["a"]


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


def verdict(*batches: tuple[int, int, list[int]], renew_request: bool = False, renew_version: bool = True) -> ErrorCode:
    acks = [AckBatch(*batch) for batch in batches]
    found = validate_ack_batches(acks, renew_request=renew_request, renew_version=renew_version)
    if all(len(ack.acknowledge_types) == 1 for ack in acks):
        ranges = AckRanges([number for first, last, types in acks for number in (first, last, types[0])])
        assert validate_ack_batches(ranges, renew_request=renew_request, renew_version=renew_version) is found
    return found


def test_sound_acknowledgements_pass() -> None:
    assert verdict() is ErrorCode.NONE
    assert verdict((0, 9, [1]), (10, 11, [1, 2]), (20, 20, [3]), (25, 30, [0])) is ErrorCode.NONE


@pytest.mark.parametrize(
    "batches",
    [
        [(5, 4, [1])],
        [(0, 9, [])],
        [(0, 9, [1, 1])],
        [(0, 0, [1, 1])],
        [(0, 9, [5])],
        [(0, 9, [-1])],
        [(0, 1, [1, -1])],
        [(0, 1, [1, 5])],
        [(10, 19, [1]), (0, 9, [1])],
        [(0, 9, [1]), (8, 12, [1])],
        [(0, 9, [1]), (10, 19, [9])],
    ],
)
def test_the_first_unsound_batch_refuses_the_whole_partition(batches: list[tuple[int, int, list[int]]]) -> None:
    assert verdict(*batches) is ErrorCode.INVALID_REQUEST


def test_ranges_of_one_type_each_are_judged_as_batches_are() -> None:
    rng = Random(3)
    seen: set[ErrorCode] = set()
    for _ in range(3_000):
        edges = sorted(rng.randrange(40) for _ in range(2 * rng.randint(1, 5)))
        kinds = [[rng.choice((0, 1, 1, 2, 3, 3, 4, 5, -1) if rng.random() < 0.2 else (1, 2))] for _ in edges[::2]]
        if rng.random() < 0.3:
            edges[rng.randrange(len(edges))] = rng.choice((-2, -1, 0, 20, 2**63 - 1))
        batches = zip(edges[::2], edges[1::2], kinds, strict=True)
        seen.add(verdict(*batches, renew_request=rng.random() < 0.5))
    assert seen == {ErrorCode.NONE, ErrorCode.INVALID_REQUEST}


def test_ranges_that_share_their_boundary_pass_and_fail_later() -> None:
    assert verdict((0, 9, [1]), (9, 12, [1])) is ErrorCode.NONE


@pytest.mark.parametrize(
    ("request_says", "version_knows"), [(True, True), (True, False), (False, True), (False, False)]
)
def test_renew_needs_a_version_that_knows_it_and_a_request_that_announces_it(
    request_says: bool, version_knows: bool
) -> None:
    """KIP-1222: v2 and IsRenewAck."""
    expected = ErrorCode.NONE if request_says and version_knows else ErrorCode.INVALID_REQUEST
    assert verdict((0, 9, [4]), renew_request=request_says, renew_version=version_knows) is expected
    assert verdict((0, 1, [1, 4]), renew_request=request_says, renew_version=version_knows) is expected
    assert verdict((0, 1, [1, 3]), renew_request=request_says, renew_version=version_knows) is ErrorCode.NONE
