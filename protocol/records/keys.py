"""The keys of a batch's records, as hashes: enough to see which records share one."""

from __future__ import annotations

from struct import Struct
from typing import Final, NamedTuple

from shareq.protocol.errors import MalformedMessage
from shareq.protocol.passes.records import key_hashes
from shareq.protocol.records.batch import CODEC_MASK, CONTROL, HEADER_SIZE, LENGTH_OVERHEAD, read_header, records_view

_fields: Final = Struct(">qi9xh34xi").unpack_from  # BaseOffset, Length, Attributes and RecordsCount of a batch header


class KeyHashes(NamedTuple):
    """Offsets of records that have a key, ascending, and in the same place of the other list the hash of each key."""

    offsets: list[int]
    hashes: list[int]


def add_key_hashes(data: bytes, position: int, found: KeyHashes) -> None:
    """Append the hash of the key of each record of the batch at `position` of `data`, which lies behind those before.

    The batch is whole. Records without a key are left out, and so are those of a control batch, and unreadable ones.
    The hash is this process's own of bytes: SipHash with a secret of each start, 64 bits, unless PYTHONHASHSEED says
    otherwise.
    """
    base_offset, length, attributes, count = _fields(data, position)
    if attributes & CONTROL:
        return
    if not attributes & CODEC_MASK:
        end = position + length + LENGTH_OVERHEAD
        key_hashes(data, position + HEADER_SIZE, end, count, base_offset, found.offsets, found.hashes)
        return
    try:
        records = bytes(records_view(data, position, read_header(data, position)))
    except MalformedMessage:  # a consumer cannot read it either
        return
    key_hashes(records, 0, len(records), count, base_offset, found.offsets, found.hashes)
