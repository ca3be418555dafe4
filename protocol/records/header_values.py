"""The values of one header of a batch's records."""

from __future__ import annotations

from struct import Struct
from typing import Final, NamedTuple

from shareq.protocol.errors import MalformedMessage
from shareq.protocol.passes.records import header_values
from shareq.protocol.records.batch import CODEC_MASK, CONTROL, HEADER_SIZE, LENGTH_OVERHEAD, read_header, records_view

_fields: Final = Struct(">qi9xh34xi").unpack_from  # BaseOffset, Length, Attributes and RecordsCount of a batch header


class HeaderValues(NamedTuple):
    """The ascending offsets of records that have the header, and, at the same index of the other list, its first
    value.
    """

    offsets: list[int]
    values: list[bytes]


def add_header_values(data: bytes, position: int, name: bytes, found: HeaderValues) -> None:
    """Append the header's value of each record of the batch at `position` of `data` that has it; null is appended as no
    bytes.

    The batch is complete, and follows those of earlier calls. Records of control batches, and unreadable ones, have no
    value. If the header's name does not occur in the batch's bytes, no record is read.
    """
    base_offset, length, attributes, count = _fields(data, position)
    if attributes & CONTROL:
        return
    if not attributes & CODEC_MASK:
        begin, end = position + HEADER_SIZE, position + length + LENGTH_OVERHEAD
        header_values(data, begin, end, count, base_offset, name, found.offsets, found.values)
        return
    try:
        records = bytes(records_view(data, position, read_header(data, position)))
    except MalformedMessage:  # a consumer cannot read it either
        return
    header_values(records, 0, len(records), count, base_offset, name, found.offsets, found.values)
