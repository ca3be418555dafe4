"""The hashes of the keys of a batch's records, which show which records have the same key."""

from __future__ import annotations

from struct import Struct
from typing import Final, NamedTuple

from shareq.protocol.errors import MalformedMessage
from shareq.protocol.passes.records import key_hashes
from shareq.protocol.records.batch import CODEC_MASK, CONTROL, HEADER_SIZE, LENGTH_OVERHEAD, read_header, records_view

_fields: Final = Struct(">qi9xh34xi").unpack_from  # BaseOffset, Length, Attributes and RecordsCount of a batch header


class KeyHashes(NamedTuple):
    """The ascending offsets of records that have a key, and, at the same index of the other list, the hash of the
    key.
    """

    offsets: list[int]
    hashes: list[int]


def add_key_hashes(data: bytes, position: int, found: KeyHashes) -> None:
    """Append the hash of each record's key in the batch at `position` of `data`.

    The batch is complete, and follows those of earlier calls. Records without a key, of control batches, and unreadable
    ones are left out. The hash is Python's for bytes: SipHash, 64 bits, with a new secret in each process unless
    PYTHONHASHSEED is set.
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
