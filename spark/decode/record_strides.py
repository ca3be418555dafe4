"""The places of the records of a long batch with many in a row of one size.

Values of one size are common, and then lengths change only where the varint of an offset or of a time takes a byte
more. A length is read, the records behind it are assumed to be as long, and all their lengths are checked together: the
assumption holds, one after the other, for all up to the first that differs.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from shareq.protocol.errors import MalformedMessage
from shareq.protocol.primitives import read_zigzag
from shareq.protocol.records.record_codec import MIN_RECORD_BYTES
from shareq.spark.decode.record_scan import Array, Extents

__all__ = ["WORTH_A_TRY", "WORTH_A_TRY_OF_FEW", "find_by_strides"]

WORTH_A_TRY: Final = 1024
"""The records of a batch from which on strides are tried. Shorter batches are as quickly walked side by side."""
WORTH_A_TRY_OF_FEW: Final = 48
"""The records of a batch from which on strides are tried if there are few batches."""

_FIRST_LOOK: Final = 64  # records; then eight times as many each time
_TRIES: Final = 3  # runs
_LEAST_MEAN: Final = 20  # records of a run, after those tries: with fewer any other way is quicker


def find_by_strides(data: Array, at: int, end: int, count: int) -> Extents | None:
    """Return the `count` records that fill `data` from `at` to `end`.

    None when they do not, or when sizes vary too much.
    """
    runs: list[Array] = []
    ends: list[Array] = []
    view = memoryview(data)[:end]
    left = count
    while left:
        try:
            length, body = read_zigzag(view, at)
        except MalformedMessage:
            return None
        stride = body - at + length
        if length < MIN_RECORD_BYTES - 1 or at + stride > end:
            return None
        run = _run(data, at, body - at, stride, min(left, (end - at) // stride))
        starts = np.arange(body, body + run * stride, stride)
        runs.append(starts)
        ends.append(starts + length)
        at += run * stride
        left -= run
        if len(runs) >= _TRIES and count - left < _LEAST_MEAN * len(runs):
            return None
    return Extents(np.concatenate(runs), np.concatenate(ends)) if at == end else None


def _run(data: Array, at: int, width: int, stride: int, most: int) -> int:
    """Return how many consecutive records, at most `most`, have the length that `width` bytes at `at` give."""
    run, look = 1, _FIRST_LOOK
    while run < most:
        look = min(look, most - run)
        first = at + run * stride
        same = np.ones(look, np.bool_)
        for byte in range(width):
            same &= data[first + byte : first + byte + (look - 1) * stride + 1 : stride] == data[at + byte]
        if not same.all():
            return run + int(same.argmin())
        run += look
        look *= 8
    return run
