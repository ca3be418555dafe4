"""Faults to plant in what the broker makes of its files; see `planted`. Seeds about storage meet them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Final

from shareq.broker.log import reader
from shareq.broker.log.damage import DamagedRange
from shareq.broker.log.files import Segment
from shareq.broker.log.partition_log import PartitionLog
from shareq.broker.log.promise import Promise
from shareq.broker.log.recovery import _Opening
from shareq.broker.share_partitions import SharePartitionManager
from shareq.protocol.records.batch import HEADER_SIZE, LENGTH_OVERHEAD, MAGIC
from tests.simulation.planted import LOST, Fault, replaced
from tests.support.mem_fs import MemFs

# -- what was promised of a log


def _promising(**known: Any) -> AbstractContextManager[object]:
    original = _Opening.__init__

    def init(self: _Opening, *arguments: Any) -> None:
        *others, promise = arguments
        assert isinstance(promise, Promise)
        original(self, *others, replace(promise, **known))  # type: ignore[call-arg]

    return replaced((_Opening, "__init__", init))


def synced_point_is_not_looked_at() -> AbstractContextManager[object]:
    return _promising(synced=0, same_boot=False, clean=False, end=None)


def damage_is_cut_off() -> AbstractContextManager[object]:
    return replaced((_Opening, "_is_unpromised", lambda _self, _offset: True))


def damage_takes_the_rest_of_its_segment() -> AbstractContextManager[object]:
    original = _Opening._scan

    def scan(self: _Opening, segment: Segment) -> Any:
        tail = original(self, segment)
        if tail is None and segment.damaged:
            first = segment.damaged[0]
            segment.damaged = [DamagedRange(first.first_offset, self.end, first.position, segment.size, first.fault)]
        return tail

    return replaced((_Opening, "_scan", scan))


def clean_shutdown_stays() -> AbstractContextManager[object]:
    original = MemFs.remove

    def remove(self: MemFs, path: str) -> None:
        if not path.endswith("clean-shutdown"):
            original(self, path)

    return replaced((MemFs, "remove", remove))


# -- what is read


def damaged_batches_are_served() -> AbstractContextManager[object]:
    def sound(data: bytes, offset: int, upto: int, *_others: object) -> tuple[list[reader.BatchSpan], int, str | None]:
        spans = list(_spans(data, offset, upto))
        return spans, spans[-1].position + spans[-1].size if spans else 0, None

    return replaced((reader, "_sound_batches", sound), (_Opening, "_scan", _scan_without_crc))


def _spans(data: bytes, offset: int, upto: int) -> Iterator[reader.BatchSpan]:
    at = 0
    while at + HEADER_SIZE <= len(data):
        base, length, magic, _crc, attributes, delta, producer = reader._SPAN.unpack_from(data, at)
        size = length + LENGTH_OVERHEAD
        if magic != MAGIC or length < 0 or at + size > len(data) or base + delta >= upto or base + delta < offset:
            return
        yield reader.BatchSpan(base, base + delta, at, size, attributes, producer)
        at, offset = at + size, base + delta + 1


def _scan_without_crc(self: _Opening, segment: Segment) -> None:
    self.scanned.segments.append(segment)
    segment.rebuild_map()
    self.end = (segment.map.last_offset() or segment.base_offset - 1) + 1


def damage_is_told_of_the_rest_of_the_log() -> AbstractContextManager[object]:
    original = PartitionLog.unreadable_range

    def unreadable_range(self: PartitionLog, offset: int) -> tuple[int, int] | None:
        found = original(self, offset)
        return None if found is None else (found[0], self.high_watermark)

    return replaced((PartitionLog, "unreadable_range", unreadable_range))


def share_groups_stop_at_damage() -> AbstractContextManager[object]:
    return replaced((SharePartitionManager, "skips_unreadable", lambda *_: False))


GONE: Final = "answered or delivered was"
ENDS: Final = "was answered"
UNREADABLE: Final = "cannot be read"

FAULTS: Final[dict[Fault, tuple[str, ...]]] = {
    synced_point_is_not_looked_at: (ENDS, GONE, "has offsets"),
    damage_is_cut_off: (ENDS, GONE, "has offsets"),
    damage_takes_the_rest_of_its_segment: (UNREADABLE,),
    clean_shutdown_stays: (GONE, UNREADABLE, ENDS, "has offsets"),
    damaged_batches_are_served: ("which nobody sent there", "MalformedMessage", GONE, "crc", "is now"),
    damage_is_told_of_the_rest_of_the_log: (UNREADABLE, LOST),
    share_groups_stop_at_damage: (LOST,),
}
