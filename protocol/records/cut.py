"""A record batch with some of its records: the part of a large batch for a consumer that needs few of them.

As the cleaner does it (`retain`), a record keeps its bytes, and the batch its base offset, LastOffsetDelta, times,
producer's fields and flags: so each record has the offset, time, key, value and headers that it has in the whole batch.
"""

from __future__ import annotations

from struct import Struct
from typing import Final, NamedTuple

from shareq.protocol.errors import MalformedMessage
from shareq.protocol.passes.records import ahead, pick
from shareq.protocol.records.batch import (
    CODEC_MASK,
    HEADER_SIZE,
    LENGTH_OVERHEAD,
    Compression,
    read_header,
    records_view,
    with_records,
)
from shareq.protocol.records.compression import compress

_FIELDS: Final = Struct(">8xi9xh34xi")  # Length, Attributes and RecordsCount of a batch header
MOST_COMPRESSED: Final = 256 * 1024
"""The most bytes of records that are compressed again: some milliseconds of gzip."""


class Cut(NamedTuple):
    """The outcome of a cut. `batch` is None if the whole batch has to be used, and empty if no record is wanted.

    `opened`: the number of bytes that were decompressed.
    """

    batch: bytes | None
    opened: int


def cut(
    data: bytes, position: int, wanted: list[int], max_opened: int, marks: dict[int, tuple[int, int]] | None = None
) -> Cut:
    """Return the batch at `position` of `data`, reduced to the records with the `wanted` offset deltas.

    The batch must be complete and sound. `wanted` has the first and the last delta (both inclusive) of each range in
    turn; ranges are ascending, without overlaps, and within the batch.

    The wanted records of a compressed batch stay uncompressed if the result is smaller than the whole batch; otherwise
    up to `MOST_COMPRESSED` bytes of them are compressed again. The whole batch is returned if the result would not be
    smaller, if its records cannot be read, or if they have more than `max_opened` bytes when decompressed.

    `marks` belongs to the caller and to this `data`: by `position`, it has the first wanted record of an earlier call
    and its position. A search for a later record begins there.
    """
    length, all_attributes, count = _FIELDS.unpack_from(data, position)
    size = length + LENGTH_OVERHEAD
    start, end, source, opened, index = position + HEADER_SIZE, position + size, data, 0, 0
    codec = all_attributes & CODEC_MASK
    if codec:
        try:
            source = bytes(records_view(data, position, read_header(data, position), max_opened))
        except MalformedMessage:  # what a consumer cannot read either, or too much
            return Cut(None, max_opened)
        start, end, opened = 0, len(source), len(source)
    elif marks is not None:
        mark = marks.get(position)
        if mark is not None and mark[0] <= wanted[0]:
            index, start = mark
        index, start = marks[position] = ahead(source, start, end, count, wanted[0], index)
    picked = pick(source, start, end, count, wanted, index)
    if picked is None:
        return Cut(None, opened)
    count, parts = picked
    if not count:
        return Cut(b"", opened)
    attributes, payload = all_attributes & ~CODEC_MASK, b"".join(parts)
    if codec and len(payload) + HEADER_SIZE >= size and len(payload) <= MOST_COMPRESSED:
        attributes, payload = all_attributes, compress(Compression(codec), payload)
    if len(payload) + HEADER_SIZE >= size:
        return Cut(None, opened)
    return Cut(with_records(data, position, attributes, count, payload), opened)
