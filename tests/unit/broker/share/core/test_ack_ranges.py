"""Acknowledgements of one type each, kept without an object for each of them."""

from __future__ import annotations

from shareq.broker.share.core.values import AckBatch, AckRanges

BATCHES = [AckBatch(0, 9, (1,)), AckBatch(12, 12, (2,)), AckBatch(13, 20, (-3,)), AckBatch(40, 41, (1,))]
RANGES = AckRanges([0, 9, 1, 12, 12, 2, 13, 20, -3, 40, 41, 1])


def test_they_look_like_batches() -> None:
    assert len(RANGES) == 4
    assert list(RANGES) == BATCHES
    assert [RANGES[at] for at in range(-4, 4)] == BATCHES * 2
    assert all(type(each) is AckBatch for each in RANGES)
    assert not AckRanges([])


def test_a_part_of_them_is_such_ranges_again() -> None:
    for first in range(5):
        for end in range(6):
            part = RANGES[first:end]
            assert isinstance(part, AckRanges)
            assert list(part) == BATCHES[first:end]
