"""The fields of many records at once, as numpy arrays; `protocol/records/record_codec.py` has the layout of a record.

Positions are indexes into the given data. A field's length is not checked when it is read: positions only move forward,
so the check at the end of a record finds every length that is too large, and no read goes beyond the data.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from shareq.protocol.errors import MalformedMessage
from shareq.protocol.primitives import read_zigzag
from shareq.spark.decode.record_scan import Array, varints

__all__ = ["BadRecord", "Contents", "Field", "HeaderLists", "Stamps", "read_contents", "read_headers", "read_stamps"]

_FEW_ROWS: Final = 16  # so many records are read one after the other: many headers then cost no pass each
_ENDS_ELSEWHERE: Final = "its fields do not end where it ends"


class BadRecord(Exception):
    """An unreadable record; `row` is its place in the given arrays."""

    def __init__(self, row: int, reason: str) -> None:
        super().__init__(reason)
        self.row = row
        self.reason = reason


class Stamps(NamedTuple):
    """The fields of a record before its key; the deltas are to its batch's base. `at` is where the key starts."""

    timestamp_delta: Array
    offset_delta: Array
    at: Array


class Field(NamedTuple):
    """The places of keys or of values. A null has length -1 and `size` 0."""

    at: Array
    length: Array

    @property
    def size(self) -> Array:
        return np.maximum(self.length, 0)


class Contents(NamedTuple):
    """The keys, values and headers of records: `header_counts` headers of each record start at `headers_at`."""

    keys: Field
    values: Field
    header_counts: Array
    headers_at: Array


class HeaderLists(NamedTuple):
    """The headers of all records one after the other; `counts[i]` of them belong to record i."""

    counts: Array
    keys: Field
    values: Field


def read_stamps(data: Array, starts: Array) -> Stamps:
    """Return timestamp and offset of the records whose bodies, attributes included, begin at `starts`."""
    timestamp_delta, at = varints(data, starts + 1, 10)
    offset_delta, at = varints(data, at)
    return Stamps(timestamp_delta, offset_delta, at)


def read_contents(data: Array, at: Array, ends: Array) -> Contents:
    """Return keys and values of the records whose keys start at `at` and which end at `ends`. Raises `BadRecord`."""
    keys, at = _field(data, at)
    values, at = _field(data, at)
    counts, at = varints(data, at)
    _check((keys.length < -1) | (values.length < -1) | (counts < 0), "a length below -1")
    _check((at > ends) | ((at != ends) & (counts == 0)), _ENDS_ELSEWHERE)
    _check(counts > (ends - at) // 2, "more headers than it has bytes for")
    return Contents(keys, values, counts, at)


def read_headers(data: Array, counts: Array, at: Array, ends: Array) -> HeaderLists:
    """Return the headers that start at `at`; a record ends with its last header. Raises `BadRecord`.

    Make one pass for the first header of all records, one for the second of those with more, and so on.
    """
    first = np.cumsum(counts) - counts
    key_at, key_length, value_at, value_length = np.zeros((4, int(counts.sum())), np.int64)
    rows = np.flatnonzero(counts)
    at = at[rows]
    number = 0
    while rows.size > _FEW_ROWS:
        key, at = _field(data, at)
        value, at = _field(data, at)
        _check((key.length < 0) | (value.length < -1) | (at > ends[rows]), "a header that is none", rows)
        place = first[rows] + number
        key_at[place], key_length[place], value_at[place], value_length[place] = *key, *value
        number += 1
        going = counts[rows] > number
        _check(~going & (at != ends[rows]), _ENDS_ELSEWHERE, rows)
        rows, at = rows[going], at[going]
    for row, position in zip(rows.tolist(), at.tolist(), strict=True):
        place = slice(int(first[row]) + number, int(first[row] + counts[row]))
        fields = _headers_of_one(data[position : ends[row]].tobytes(), int(counts[row]) - number, row)
        key_at[place], key_length[place], value_at[place], value_length[place] = np.array(fields, np.int64).T
        key_at[place] += position
        value_at[place] += position
    return HeaderLists(counts, Field(key_at, key_length), Field(value_at, value_length))


def _headers_of_one(data: bytes, count: int, row: int) -> list[tuple[int, int, int, int]]:
    """Return position and length of the key and the value of each of `count` headers, which fill `data`."""
    fields: list[tuple[int, int, int, int]] = []
    at = 0
    try:
        for _ in range(count):
            key_length, key_at = read_zigzag(data, at)
            value_length, value_at = read_zigzag(data, key_at + max(key_length, 0))
            at = value_at + max(value_length, 0)
            if key_length < 0 or value_length < -1:
                raise BadRecord(row, "a header that is none")
            fields.append((key_at, key_length, value_at, value_length))
    except MalformedMessage as error:
        raise BadRecord(row, str(error)) from None
    if at != len(data):
        raise BadRecord(row, _ENDS_ELSEWHERE)
    return fields


def _field(data: Array, at: Array) -> tuple[Field, Array]:
    length, at = varints(data, at)
    return Field(at, length), at + np.maximum(length, 0)


def _check(bad: Array, reason: str, rows: Array | None = None) -> None:
    if bad.any():
        place = int(bad.argmax())
        raise BadRecord(place if rows is None else int(rows[place]), reason)
