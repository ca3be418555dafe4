"""The places of the records in many batches, found by numpy.

A record has only its length, so the next one is found by walking. Many walks side by side cost little: all batches are
walked at once, and long batches in pieces. A piece starts where the bytes look like a record with two more behind it.
That is a guess; it is safe because the walk of the previous piece proves it by ending exactly there. After a wrong
guess, or for bad bytes, the batch is walked again from its start by `record_extents`, which also names the fault.
"""

from __future__ import annotations

from math import isqrt
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from shareq.protocol.errors import MalformedMessage
from shareq.protocol.records.record_codec import MIN_RECORD_BYTES, record_extents

__all__ = ["FEW_LANES", "Array", "Extents", "UnreadableBatch", "find_records", "varints"]

Array: TypeAlias = "np.ndarray[Any, Any]"

_MIN_LENGTH: Final = MIN_RECORD_BYTES - 1  # as the length counts: without itself
FEW_LANES: Final = 24
"""The most batches that are walked one after the other: a numpy step costs as much as this many Python steps."""
_BEYOND: Final = 2**40  # more than data has bytes, and can be added many times
_WIDER_FROM: Final = {7: np.uint32, 28: np.uint64}  # most numbers are small, and small types are quick
_LOOKED_THROUGH: Final = 2  # times the mean size of a record, for the start of a piece
_ZEROS_A_PIECE: Final = 512  # with more, looking at each takes longer than walking one by one
_WORTH_GUESSING: Final = 4096  # records; guessing has a fixed price
_STEP_IN_RECORDS: Final = 400  # a step of the walk costs as much as guessing does for so many records
_LENGTH_BYTES: Final = (1, 2, 3)  # of the lengths that are looked for: records of up to a megabyte
_GUESSED_AHEAD: Final = 2  # records behind a candidate that must look like some


class UnreadableBatch(Exception):
    """Records that do not match their batch's header; `batch` is its place in the given arrays."""

    def __init__(self, batch: int, reason: str) -> None:
        super().__init__(reason)
        self.batch = batch
        self.reason = reason


class Extents(NamedTuple):
    """The extent of each record: the position after its length, and its end, exclusive."""

    starts: Array
    ends: Array

    @classmethod
    def of(cls, count: int) -> Extents:
        """Return an empty array for the extents of this many records."""
        return cls(np.empty(count, np.int64), np.empty(count, np.int64))

    def put(self, first: int, extents: Extents) -> None:
        """Store the extents of the records from number `first` on."""
        rows = slice(first, first + extents.starts.size)
        self.starts[rows], self.ends[rows] = extents


def varints(data: Array, at: Array, max_bytes: int = 5) -> tuple[Array, Array]:
    """Return the zig-zag numbers at the positions `at`, and the positions after them.

    Positions beyond the data read as its last byte, and a number of more than `max_bytes` moves its position beyond
    everything: the caller has to check in the end that positions are not past a record's end, from where they never
    come back. Of a tenth byte only the lowest bit counts, as in Java.
    """
    byte = data.take(at, mode="clip")
    at = at + 1
    value = byte & 127
    going = byte > 127
    for shift in range(7, 7 * max_bytes, 7):
        if not going.any():
            break
        if shift in _WIDER_FROM:
            value = value.astype(_WIDER_FROM[shift])
        byte = data.take(at, mode="clip") * going
        at += going
        value |= (byte & 127).astype(value.dtype) << shift
        going = byte > 127
    else:
        at += going * _BEYOND
    signed = ((value >> 1) ^ -(value & 1)).view(f"i{value.itemsize}")
    return signed.astype(np.int64), at


def find_records(data: Array, starts: Array, ends: Array, counts: Array) -> Extents:
    """Return all records of the batches, in order.

    `data` is an array of bytes; the `counts[i]` > 0 records of batch i fill `starts[i]` to `ends[i]` (exclusive, int64,
    ascending, not empty). Raise `UnreadableBatch` if they do not.
    """
    lanes = _lanes(data, starts, ends, counts)
    batch_of = np.searchsorted(starts, lanes, side="right") - 1
    walk = _walk(data, lanes, np.minimum(ends.take(batch_of), np.append(lanes[1:], ends[-1])))
    lengths = np.bincount(walk.lane, minlength=lanes.size)
    wrong = np.bincount(batch_of, weights=lengths, minlength=starts.size) != counts
    wrong[batch_of[walk.stuck]] = True
    # the first record of a lane: those of the lanes before it, when each batch before it has as many as it says
    first_lanes = np.searchsorted(batch_of, np.arange(starts.size))
    before = np.cumsum(lengths) - lengths
    bases = np.cumsum(counts) - counts
    place = (before - (before[first_lanes] - bases).take(batch_of)).take(walk.lane) + walk.step
    if wrong.any():
        sound = ~wrong[batch_of].take(walk.lane)
        place, walk = place[sound], walk._replace(start=walk.start[sound], end=walk.end[sound])
    found = Extents.of(int(counts.sum()))
    found.starts[place] = walk.start
    found.ends[place] = walk.end
    for batch in np.flatnonzero(wrong).tolist():
        extents = _one_by_one(data, int(starts[batch]), int(ends[batch]), int(counts[batch]), batch)
        found.put(int(bases[batch]), extents)
    return found


class _Walk(NamedTuple):
    """The records of a walk (lane, number in it, extent), and the lanes that ended with an error."""

    lane: Array
    step: Array
    start: Array
    end: Array
    stuck: Array


def _walk(data: Array, at: Array, ends: Array) -> _Walk:
    """Walk over records from each position in `at` to exactly its end."""
    lane = np.arange(at.size)
    passed: list[tuple[Array, Array, Array, Array]] = []
    stuck: list[Array] = []
    step = 0
    while at.size > FEW_LANES:
        length, start = varints(data, at)
        end = start + length
        fits = (length >= _MIN_LENGTH) & (end <= ends)
        if not fits.all():
            stuck.append(lane[~fits])
            lane, start, end, ends = lane[fits], start[fits], end[fits], ends[fits]
        passed.append((lane, np.full(lane.size, step), start, end))
        going = end < ends
        if going.all():
            at = end
        else:
            lane, at, ends = lane[going], end[going], ends[going]
        step += 1
    view = memoryview(data)
    for number, position, last in zip(lane.tolist(), at.tolist(), ends.tolist(), strict=True):
        extents = _follow(view, position, last)
        count = extents.starts.size
        if not count or extents.ends[-1] != last:
            stuck.append(np.array([number]))
        passed.append((np.full(count, number), np.arange(step, step + count), *extents))
    lanes, steps, starts, last = (np.concatenate(arrays) for arrays in zip(*passed, strict=True))
    return _Walk(lanes, steps, starts, last, np.concatenate([np.empty(0, np.int64), *stuck]))


def _follow(data: memoryview, at: int, end: int) -> Extents:
    """Return the records from `at` up to `end`, or up to the first that does not fit."""
    starts: list[int] = []
    ends: list[int] = []
    while at < end:
        byte = data[at]
        length = byte & 127
        at += 1
        shift = 7
        while byte > 127 and at < end and shift <= 28:
            byte = data[at]
            length |= (byte & 127) << shift
            at += 1
            shift += 7
        after = at + (length >> 1)
        if byte > 127 or length & 1 or length < 2 * _MIN_LENGTH or after > end:
            break
        starts.append(at)
        ends.append(after)
        at = after
    return Extents(np.array(starts, np.int64), np.array(ends, np.int64))


def _one_by_one(data: Array, start: int, end: int, count: int, batch: int) -> Extents:
    try:
        extents = np.array(list(record_extents(data[start:end].tobytes(), 0, count)), np.int64)
    except IndexError:
        raise UnreadableBatch(batch, "record cut short") from None
    except MalformedMessage as error:
        raise UnreadableBatch(batch, str(error)) from None
    return Extents(*(extents.T + start))


def _lanes(data: Array, starts: Array, ends: Array, counts: Array) -> Array:
    """Return the positions to walk from: the starts of batches, and guesses inside long ones."""
    total = int(counts.sum())
    if total < _WORTH_GUESSING or _STEP_IN_RECORDS * int(counts.max()) < total:
        return starts
    records_a_piece = 4 + isqrt(total) // 5  # the price of steps grows with it, that of guesses falls
    mean = max(int((ends - starts).sum()) // total, MIN_RECORD_BYTES)
    guesses = _guess(data, starts, ends, mean * records_a_piece, _LOOKED_THROUGH * mean)
    return np.unique(np.concatenate([starts, guesses])) if guesses.size else starts


def _guess(data: Array, starts: Array, ends: Array, spacing: int, width: int) -> Array:
    """Guess at most one start of a record in each stretch of `width` bytes, every `spacing` bytes."""
    origin = int(starts[0]) + spacing
    pieces = (int(ends[-1]) - width - origin) // spacing + 1
    if pieces < 1:
        return np.empty(0, np.int64)
    stretches = np.lib.stride_tricks.as_strided(data[origin:], (pieces, width), (spacing, 1), writeable=False)
    zeros = np.flatnonzero(stretches == 0)
    if zeros.size > _ZEROS_A_PIECE * pieces:
        return np.empty(0, np.int64)
    piece, column = np.divmod(zeros, width)
    attributes = origin + piece * spacing + column
    # attributes are 0, and before them is the last byte of a length, which is below 128 and not 0
    likely = data.take(attributes - 1) - np.uint8(1) < 127
    piece, attributes = piece[likely], attributes[likely]
    batch = np.searchsorted(starts, attributes, side="right") - 1
    found = [
        _looks_like_records(data, attributes, size, starts.take(batch), ends.take(batch)) for size in _LENGTH_BYTES
    ]
    pieces_found = np.concatenate([piece[looks] for looks in found])
    guesses = np.concatenate([attributes[looks] - size for looks, size in zip(found, _LENGTH_BYTES, strict=True)])
    _, first = np.unique(pieces_found, return_index=True)
    return guesses[first]


def _looks_like_records(data: Array, attributes: Array, size: int, starts: Array, ends: Array) -> Array:
    """Return the positions that look like attributes of a record whose length takes `size` bytes, with records behind
    it.
    """
    at = attributes - size
    length, body = varints(data, np.maximum(at, 0))
    chosen = np.flatnonzero((at >= starts) & (body == attributes) & (length >= _MIN_LENGTH))
    ends, body, length = ends[chosen], body[chosen], length[chosen]
    delta = _offset_delta(data, body)
    for _ in range(_GUESSED_AHEAD):
        length, body = varints(data, body + length)
        next_delta = _offset_delta(data, body)
        looks = (length >= _MIN_LENGTH) & (body + length <= ends) & (next_delta == delta + 1)
        looks &= data.take(body, mode="clip") == 0
        chosen, ends, body, length, delta = chosen[looks], ends[looks], body[looks], length[looks], next_delta[looks]
    return chosen


def _offset_delta(data: Array, body: Array) -> Array:
    _, at = varints(data, body + 1, 10)
    return varints(data, at)[0]
