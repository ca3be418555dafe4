"""`.txnindex`: the aborted transactions whose markers are in one segment, in Apache Kafka's layout. Pure.

34 bytes an entry, by ascending last offset; a segment without any has no such file:

     0  int16  version, 0
     2  int64  producerId
    10  int64  firstOffset       of the transaction, perhaps in an earlier segment
    18  int64  lastOffset        the abort marker's
    26  int64  lastStableOffset  when the marker was written: the start of the oldest transaction still open, or the
                                 offset behind the marker

A read that ends below an entry's last stable offset need not look at later entries: their transactions began after
it. Nothing in the file shows that entries are missing at its end, so a lost file makes aborted records look
committed. So it is written durably before anything relies on it, and rebuilt from the log wherever the log is read
again.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import Final, NamedTuple

TXN_INDEX_SUFFIX: Final = ".txnindex"

_VERSION: Final = 0
_ENTRY: Final = Struct(">hqqqq")


class AbortedTransaction(NamedTuple):
    """An aborted transaction. Offsets are inclusive; `last_offset` is that of its marker."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


def entries_to_bytes(entries: Iterable[AbortedTransaction]) -> bytes:
    """Return a file's content."""
    return b"".join(_ENTRY.pack(_VERSION, *entry) for entry in entries)


def entries_from_bytes(data: bytes, base_offset: int, end_offset: int) -> list[AbortedTransaction] | None:
    """Return the entries in the file of the segment with offsets from `base_offset` to `end_offset` (exclusive).

    Return None if the file is cut short, has another version, or has offsets that are out of order or not the
    segment's.
    """
    if len(data) % _ENTRY.size:
        return None
    entries: list[AbortedTransaction] = []
    last = base_offset - 1
    for version, *fields in _ENTRY.iter_unpack(data):
        entry = AbortedTransaction(*fields)
        if version != _VERSION or not last < entry.last_offset < end_offset or not _is_sound(entry):
            return None
        last = entry.last_offset
        entries.append(entry)
    return entries


def _is_sound(entry: AbortedTransaction) -> bool:
    return (
        entry.producer_id >= 0
        and 0 <= entry.first_offset <= entry.last_offset
        and 0 <= entry.last_stable_offset <= entry.last_offset + 1
    )
