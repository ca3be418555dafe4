"""Faults to plant in the broker's handling of its files; see `planted`. Seeds about storage meet them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Final

from devtools.in_memory.mem_fs import MemFs
from shareq.broker.log.cleaner import cleaning
from shareq.broker.log.cleaner.candidates import Source
from shareq.broker.log.cleaner.cleaning import CleaningPass
from shareq.broker.log.opening.start_files import StartFiles
from shareq.broker.log.partition_log import PartitionLog
from shareq.broker.log.promises.promise import Promise
from shareq.broker.log.promises.stable_storage import StableStorage
from shareq.broker.log.recovery.recover import _Opening
from shareq.broker.log.segments import reader, swap
from shareq.broker.log.segments.damage import DamagedRange
from shareq.broker.log.segments.files import Segment
from shareq.broker.log.segments.found_damage import HeaderWalk
from shareq.broker.log.segments.segment import BatchWalk
from shareq.broker.log.segments.segment_list import SegmentList
from shareq.broker.share.partitions import SharePartitionManager
from shareq.protocol.records.batch import HEADER_SIZE, LENGTH_OVERHEAD, MAGIC, BatchHeader
from tests.simulation.planted import LOST
from tests.support.planting import Fault, Function, in_place_of, replaced

# -- what was promised of a log


def _promising(**known: Any) -> AbstractContextManager[object]:
    original = _Opening.__init__

    def init(self: _Opening, *arguments: Any) -> None:
        *others, promise = arguments
        assert isinstance(promise, Promise)
        original(self, *others, promise._replace(**known))  # type: ignore[call-arg]

    return replaced((_Opening, "__init__", init))


def synced_point_is_not_looked_at() -> AbstractContextManager[object]:
    return _promising(synced=0, same_boot=False, clean=False, end=None)


def damage_is_cut_off() -> AbstractContextManager[object]:
    return replaced((_Opening, "_is_unpromised", lambda _self, _offset: True))


@in_place_of(_Opening, "_scan")
def damage_takes_the_rest_of_its_segment(original: Function, self: _Opening, segment: Segment) -> Any:
    tail = original(self, segment)
    if tail is None and segment.damaged:
        first = segment.damaged[0]
        segment.damaged = [DamagedRange(first.first_offset, self.end, first.position, segment.size, first.fault)]
    return tail


@in_place_of(MemFs, "remove")
def clean_shutdown_stays(original: Function, self: MemFs, path: str) -> None:
    if not path.endswith("clean-shutdown"):
        original(self, path)


def log_ends_where_its_files_do() -> AbstractContextManager[object]:
    return replaced((_Opening, "_keep_promised_end", lambda _self: None))


@in_place_of(StartFiles, "promise_of")
def logs_without_a_promise_have_damage_alone(
    original: Function, self: StartFiles, *arguments: Any, **options: Any
) -> Any:
    promise = original(self, *arguments, **options)
    return promise if promise.synced else promise._replace(synced=None)


@in_place_of(HeaderWalk, "__iter__")
def sequences_of_damaged_batches_count(_original: Function, self: HeaderWalk) -> Iterator[tuple[int, BatchHeader]]:
    self._walk = BatchWalk(self._segment.read_at, self._segment.size, position=self.position, check_crc=False)
    yield from self._walk


# -- what is promised


def unsynced_records_are_promised() -> AbstractContextManager[object]:
    original = PartitionLog.manifest_row
    return replaced((PartitionLog, "manifest_row", lambda self: original(self)._replace(synced=self.log_end_offset)))


def nothing_is_promised() -> AbstractContextManager[object]:
    original = PartitionLog.manifest_row
    return replaced((PartitionLog, "manifest_row", lambda self: original(self)._replace(synced=0)))


def names_are_not_synced() -> AbstractContextManager[object]:
    return replaced((StableStorage, "take_new_names", lambda _self: None))


def failed_sync_is_forgotten_at_the_next_start() -> AbstractContextManager[object]:
    return replaced((PartitionLog, "sync_failed", PartitionLog.go_offline))


def replaced_segments_come_back() -> AbstractContextManager[object]:
    """Plant the fault that replaced segments come back, and the cleaner cleans them although their ends are old.

    The check of their ends alone prevents most of the harm.
    """
    original, go_through = swap.finish, CleaningPass._go_through
    finish = partial(original, sync=False)

    def of_any_end(self: CleaningPass, source: Source, first_offset: int, take: Any) -> object:
        return go_through(self, Source(source.segment, 2**62), first_offset, take)

    return replaced(
        (cleaning, "finish", lambda *arguments, **_: finish(*arguments)),
        (swap, "finish", finish),
        (CleaningPass, "_go_through", of_any_end),
    )


# -- what is read


@in_place_of(Segment, "_read_around")
def unreadable_blocks_are_errors(
    _original: Function, _self: Segment, _position: int, _size: int, error: OSError
) -> bytes:
    raise error


@in_place_of(reader, "_damaged")
def half_a_header_is_the_end(original: Function, segment: Segment, position: int, offset: int, fault: str) -> Any:
    return reader.EMPTY if segment.size - position < HEADER_SIZE else original(segment, position, offset, fault)


def damage_that_is_met_is_not_noted() -> AbstractContextManager[object]:
    return replaced((reader, "look_closer", lambda _segment, _position: False), (SegmentList, "miss", lambda *_: None))


@in_place_of(_Opening, "_begin")
def any_offset_is_believed(original: Function, self: _Opening) -> None:
    original(self)
    for segment in self.segments:
        segment.gaps, segment.end_offset = True, None


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


@in_place_of(PartitionLog, "unreadable_range")
def damage_is_reported_for_the_rest_of_the_log(
    original: Function, self: PartitionLog, offset: int
) -> tuple[int, int] | None:
    found = original(self, offset)
    return None if found is None else (found[0], self.high_watermark)


def share_groups_stop_at_damage() -> AbstractContextManager[object]:
    return replaced((SharePartitionManager, "skips_unreadable", lambda *_: False))


GONE: Final = "answered or delivered was"
ENDS: Final = "ends at"
UNREADABLE: Final = "cannot be read"
REUSED: Final = "it was"
TWICE: Final = "more than once"
BACK: Final = "became"
LIVE: Final = "replayed"

FAULTS: Final[dict[Fault, tuple[str, ...]]] = {
    synced_point_is_not_looked_at: (ENDS, GONE, "has offsets"),
    damage_is_cut_off: (ENDS, GONE, "has offsets"),
    damage_takes_the_rest_of_its_segment: (UNREADABLE,),
    clean_shutdown_stays: (GONE, UNREADABLE, ENDS, "has offsets"),
    damaged_batches_are_served: ("which nobody sent there", "MalformedMessage", GONE, "crc", "is now"),
    damage_is_reported_for_the_rest_of_the_log: (UNREADABLE, LOST),
    share_groups_stop_at_damage: (LOST,),
    log_ends_where_its_files_do: (ENDS,),
    logs_without_a_promise_have_damage_alone: (UNREADABLE,),
    sequences_of_damaged_batches_count: (REUSED, TWICE),
    unsynced_records_are_promised: (UNREADABLE,),
    nothing_is_promised: ("is not promised",),
    names_are_not_synced: (GONE, ENDS),
    failed_sync_is_forgotten_at_the_next_start: (BACK, LIVE),
    replaced_segments_come_back: (BACK, LIVE, LOST),
    unreadable_blocks_are_errors: ("read failed", "KAFKA_STORAGE_ERROR"),
    half_a_header_is_the_end: (UNREADABLE,),
    damage_that_is_met_is_not_noted: ("knows of no damage",),
    any_offset_is_believed: ("has offsets", REUSED),
}
