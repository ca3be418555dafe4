"""Times before which records are not delivered again: an addition of shareq to the records of `__share_group_state`.

    value of ShareSnapshot and ShareUpdate    tag 29553 (0x7371): int8 1, then for each range of offsets int64
                                              FirstOffset, int64 LastOffset, int64 NotBeforeMs, int16 DeliveryCount

The times are milliseconds since the epoch. A time holds for those offsets of its range that are available and have
exactly this delivery count. If an offset is in two ranges, the one with the higher count holds, then the one with the
later time. Apache Kafka and earlier releases of shareq skip the tag: the records are then available at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from struct import Struct
from typing import Final, NamedTuple

from shareq.coordinator.share.state_batches import StateBatch, combine, merge_into
from shareq.protocol.primitives import Tags

TAG: Final = 0x7371
_VERSION: Final = b"\1"
_ROW: Final = Struct(">qqqh")
_AVAILABLE: Final = 0
DELAY_BYTES: Final = _ROW.size
_OVERHEAD_BYTES: Final = 16  # tag, length, version


class Delay(NamedTuple):
    """A time for the offsets `first_offset..last_offset` (both inclusive): while they are available with
    `delivery_count`, they are not delivered before `not_before_ms`.
    """

    first_offset: int
    last_offset: int
    not_before_ms: int
    delivery_count: int


NO_DELAYS: Final[tuple[Delay, ...]] = ()


def combined(delays: Iterable[Delay], start_offset: int = -1) -> list[Delay]:
    """Return the delays as an ascending list without overlaps, without offsets below `start_offset` (-1: all are
    kept).
    """
    return [Delay._make(row) for row in combine([StateBatch._make(delay) for delay in delays], start_offset)]


# A share partition's delays, those of records that have gone on since included, are kept as rows: they combine as state
# batches do, with the time in the place of the state (the greatest count holds, then the latest time), so they are
# such.


def rows_of(delays: Iterable[Delay]) -> list[StateBatch]:
    """Return the delays as an ascending list of rows without overlaps."""
    return combine([StateBatch._make(delay) for delay in delays])


def in_force(
    rows: Sequence[StateBatch], batches: Sequence[StateBatch], now_ms: int, more: Sequence[Delay] = NO_DELAYS
) -> tuple[Delay, ...]:
    """Return the parts of `rows`, with `more` merged in, that hold for `batches` (combined) and whose times are after
    `now_ms`.
    """
    if more:
        rows = list(rows)
        merge_into(rows, rows_of(more), -1)
    return tuple(_in_force(rows, batches, now_ms))


def _in_force(rows: Iterable[StateBatch], batches: Sequence[StateBatch], now_ms: int) -> Iterator[Delay]:
    at = 0  # batches below this index end below the row
    for first, last, time, count in rows:
        if time <= now_ms:
            continue
        while at < len(batches) and batches[at].last_offset < first:
            at += 1
        index = at
        while index < len(batches) and batches[index].first_offset <= last:
            low, high, state, delivered = batches[index]
            if state == _AVAILABLE and delivered == count:
                yield Delay(max(first, low), min(last, high), time, count)
            index += 1


def is_sound(delay: Delay) -> bool:
    """Return True if a share partition's leader can have written this delay."""
    return 0 <= delay.first_offset <= delay.last_offset and delay.not_before_ms >= 0 and delay.delivery_count >= 0


def tags_of(delays: Sequence[Delay], room: int) -> Tags:
    """Return the delays as tags of a record's value. If `room`, in bytes, is too small, only the first ones are in it:
    the other records are available at once.
    """
    delays = delays[: max(room - _OVERHEAD_BYTES, 0) // DELAY_BYTES]
    return ((TAG, _VERSION + b"".join(_ROW.pack(*delay) for delay in delays)),) if delays else ()


def delays_in(tags: Tags) -> Sequence[Delay]:
    """Return the delays among a record's unknown tags.

    If one of them is invalid, none counts, and the records are available now.
    """
    body = next((value for tag, value in tags if tag == TAG), b"")
    if body[:1] != _VERSION or (len(body) - 1) % DELAY_BYTES:
        return NO_DELAYS
    delays = [Delay._make(row) for row in _ROW.iter_unpack(body[1:])]
    return delays if all(map(is_sound, delays)) else NO_DELAYS
