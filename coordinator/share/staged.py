"""Acknowledgements that wait for the end of a transaction: an addition of shareq to the records of
`__share_group_state` (ADR 23).

    value of ShareSnapshot and ShareUpdate    tag 29554 (0x7372): int8 1, then for each range of offsets int64
                                              FirstOffset, int64 LastOffset, int16 DeliveryCount, int8 Type, int64
                                              ProducerId, int16 ProducerEpoch

A snapshot has all ranges. An update has new ones, and a row of type -1 when a transaction has ended: then all ranges of
this producer up to this epoch are removed. The state batches show such records as available with this delivery count;
only as long as that is so does the range hold. Apache Kafka and earlier releases of shareq skip the tag: the records
are then available, and delivered again.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from struct import Struct
from typing import Final, NamedTuple

from shareq.protocol.primitives import Tags
from shareq.protocol.share import AcknowledgeType

TAG: Final = 0x7372
_VERSION: Final = b"\1"
_ROW: Final = Struct(">qqhbqh")
STAGED_BYTES: Final = _ROW.size
OVERHEAD_BYTES: Final = 16  # tag, length, version
_ENDED: Final = -1
TYPES: Final = frozenset((AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT))
"""The acknowledge types that can be staged."""


class Staged(NamedTuple):
    """An acknowledgement of the offsets `first_offset..last_offset` (both inclusive), delivered `delivery_count` times,
    which takes effect when the producer's transaction is committed.
    """

    first_offset: int
    last_offset: int
    delivery_count: int
    acknowledge_type: int
    producer_id: int
    producer_epoch: int

    @property
    def is_end(self) -> bool:
        """True if this is no range, but the end of the producer's transaction."""
        return self.acknowledge_type == _ENDED


NONE_STAGED: Final[tuple[Staged, ...]] = ()


def end_of(producer_id: int, producer_epoch: int) -> Staged:
    """Return the row that removes all ranges of the producer up to this epoch."""
    return Staged(0, 0, 0, _ENDED, producer_id, producer_epoch)


def is_of(row: Staged, producer_id: int, producer_epoch: int) -> bool:
    """Return True if the end of the producer's transaction in this epoch also ends this acknowledgement."""
    return row.producer_id == producer_id and row.producer_epoch <= producer_epoch


def changed(rows: Sequence[Staged], changes: Iterable[Staged]) -> list[Staged]:
    """Return the ranges (ascending, disjoint) after these changes, which are in the order of the log."""
    after = list(rows)
    for row in changes:
        if row.is_end:
            after = [each for each in after if not is_of(each, row.producer_id, row.producer_epoch)]
        else:
            _put(after, row)
    return after


def _put(rows: list[Staged], row: Staged) -> None:
    """Add a range in place of whatever it overlaps; extend the range before if they are alike and adjoin."""
    low = bisect_left(rows, (row.first_offset,))
    if low and rows[low - 1].last_offset >= row.first_offset:
        low -= 1
    high = bisect_left(rows, (row.last_offset + 1,), low)
    left = [
        each._replace(first_offset=first, last_offset=last)
        for each in rows[low:high]
        for first, last in (
            (each.first_offset, min(each.last_offset, row.first_offset - 1)),
            (max(each.first_offset, row.last_offset + 1), each.last_offset),
        )
        if first <= last
    ]
    if low and rows[low - 1].last_offset + 1 == row.first_offset and rows[low - 1][2:] == row[2:]:
        low -= 1
        row = row._replace(first_offset=rows[low].first_offset)
    rows[low:high] = sorted([*left, row])


def is_sound(row: Staged) -> bool:
    """Return True if a share partition's leader can have written this row."""
    if row.producer_id < 0 or row.producer_epoch < 0:
        return False
    return row.is_end or (
        0 <= row.first_offset <= row.last_offset and row.delivery_count >= 0 and row.acknowledge_type in TYPES
    )


def tags_of(rows: Sequence[Staged]) -> Tags:
    """Return the rows as tags of a record's value."""
    return ((TAG, _VERSION + b"".join(_ROW.pack(*row) for row in rows)),) if rows else ()


def staged_in(tags: Tags) -> Sequence[Staged]:
    """Return the rows among a record's unknown tags.

    If one of them is invalid, none counts, and the records are available now.
    """
    body = next((value for tag, value in tags if tag == TAG), b"")
    if body[:1] != _VERSION or (len(body) - 1) % STAGED_BYTES:
        return NONE_STAGED
    rows = [Staged._make(row) for row in _ROW.iter_unpack(body[1:])]
    return rows if all(map(is_sound, rows)) else NONE_STAGED
