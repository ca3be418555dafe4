"""A record batch with some of its records: what a consumer gets of a large batch of which few are for it.

As the cleaner does it (`retain`), a record keeps its bytes, and the batch its base offset, LastOffsetDelta, times,
producer's fields and flags: so each record has the offset, time, key, value and headers that it has in the whole batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from shareq.protocol.errors import MalformedMessage
from shareq.protocol.records.batch import (
    CODEC_MASK,
    HEADER_SIZE,
    LENGTH_OVERHEAD,
    Compression,
    encode_batch,
    read_header,
    records_view,
)
from shareq.protocol.records.compression import compress
from shareq.protocol.records.walk import pick

__all__ = ["MOST_COMPRESSED", "Cut", "cut"]

MOST_COMPRESSED: Final = 256 * 1024
"""Bytes of records that are compressed again at most: some milliseconds of gzip."""


class Cut(NamedTuple):
    """What came of it. `batch` is None where the whole batch has to do, and empty when no record is wanted.

    `opened`: how many bytes of compressed records were made readable for it.
    """

    batch: bytearray | None
    opened: int


def cut(data: bytes, position: int, wanted: Sequence[int], max_opened: int) -> Cut:
    """The batch at `position` of `data`, which is whole and sound, with the records of the `wanted` offsets alone: the
    first and the last (both inclusive) of ranges, in turn; ascending, disjoint, within the batch.

    Of a compressed batch, records are left uncompressed where that is not larger than the whole batch, else compressed
    as they were. The whole batch has to do when the result would not be smaller, when its records cannot be read, and
    when they are larger than `max_opened` bytes when decompressed.
    """
    header = read_header(data, position)
    size, base_offset = header.length + LENGTH_OVERHEAD, header.base_offset
    start, end, source, opened = position + HEADER_SIZE, position + size, data, 0
    codec = header.attributes & CODEC_MASK
    if codec != Compression.NONE:
        try:
            source = bytes(records_view(data, position, header, max_opened))
        except MalformedMessage:  # what a consumer cannot read either, or too much
            return Cut(None, max_opened)
        start, end, opened = 0, len(source), len(source)
    picked = pick(source, start, end, header.records_count, [offset - base_offset for offset in wanted])
    if picked is None:
        return Cut(None, opened)
    count, parts = picked
    if not count:
        return Cut(bytearray(), opened)
    attributes, payload = header.attributes & ~CODEC_MASK, b"".join(parts)
    if len(payload) + HEADER_SIZE >= size and codec != Compression.NONE and len(payload) <= MOST_COMPRESSED:
        attributes, payload = header.attributes, compress(Compression(codec), payload)
    if len(payload) + HEADER_SIZE >= size:
        return Cut(None, opened)
    return Cut(encode_batch(header._replace(attributes=attributes, records_count=count), payload), opened)
