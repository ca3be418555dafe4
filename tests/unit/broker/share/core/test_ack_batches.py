"""Validation of the acknowledgements of one partition (KIP-932). Behaviour follows Apache Kafka 4.3.1."""

from __future__ import annotations

from random import Random

import pytest

from shareq.broker.share.core.ack_batches import validate_ack_batches
from shareq.broker.share.core.values import AckBatch, AckRanges
from shareq.protocol.errors import ErrorCode


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
    """RENEW requires both v2 of the request and IsRenewAck (KIP-1222)."""
    expected = ErrorCode.NONE if request_says and version_knows else ErrorCode.INVALID_REQUEST
    assert verdict((0, 9, [4]), renew_request=request_says, renew_version=version_knows) is expected
    assert verdict((0, 1, [1, 4]), renew_request=request_says, renew_version=version_knows) is expected
    assert verdict((0, 1, [1, 3]), renew_request=request_says, renew_version=version_knows) is ErrorCode.NONE
