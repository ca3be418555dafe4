"""The records of a batch that are older than a time."""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import Final

from shareq.protocol.errors import MalformedMessage
from shareq.protocol.passes.records import older
from shareq.protocol.records.batch import (
    CODEC_MASK,
    DELETE_HORIZON,
    HEADER_SIZE,
    LENGTH_OVERHEAD,
    LOG_APPEND_TIME,
    read_header,
    records_view,
)

# BaseOffset, Length, Attributes, LastOffsetDelta, BaseTimestamp, MaxTimestamp and RecordsCount of a batch header.
_fields: Final = Struct(">qi9xhiqq14xi").unpack_from
_ALL: Final = (1 << 63) - 1


def records_older(data: bytes, position: int, least_ms: int) -> Sequence[tuple[int, int]]:
    """Return the offsets (ranges, inclusive, ascending) of the batch's records with a time before `least_ms`.

    The batch at `position` of `data` is complete. Its header decides where it can: if the largest time is before
    `least_ms`, all records are; if that is not, and neither is the first record's, none is looked at. A batch without
    times (-1) is never old, nor is one that cannot be read.
    """
    base_offset, length, attributes, last_delta, base_ms, newest_ms, count = _fields(data, position)
    first_is_old = base_ms < least_ms or attributes & DELETE_HORIZON  # then the field is not the first record's time
    if newest_ms < 0 or (newest_ms >= least_ms and (attributes & LOG_APPEND_TIME or not first_is_old)):
        return ()
    if newest_ms < least_ms:
        if count == last_delta + 1:
            return [(base_offset, base_offset + last_delta)]
        below = _ALL
    else:
        below = least_ms - base_ms
    offsets: list[int] = []
    if not attributes & CODEC_MASK:
        older(data, position + HEADER_SIZE, position + length + LENGTH_OVERHEAD, count, base_offset, below, offsets)
    else:
        try:
            records = bytes(records_view(data, position, read_header(data, position)))
        except MalformedMessage:  # a consumer cannot read it either
            return ()
        older(records, 0, len(records), count, base_offset, below, offsets)
    return _ranges(offsets)


def _ranges(offsets: Sequence[int]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for offset in offsets:
        if found and found[-1][1] == offset - 1:
            found[-1] = (found[-1][0], offset)
        else:
            found.append((offset, offset))
    return found
