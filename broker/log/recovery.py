"""Opening a partition's folder: which bytes are believed, where the log ends, what its producers did.

After a clean shutdown the files are what was written: only the batches behind the last index entry are walked. After
anything else every byte from the recovery point on is read and its CRC checked. Bytes at the end that are no sound
batch are a write that was cut off, and are removed. Unsound bytes with a sound batch behind them are damage: nobody
but the operator may decide to give up what follows, so the log is not opened at all.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Set
from dataclasses import dataclass, field
from functools import partial

from shareq.broker.environment import Fs
from shareq.broker.log.files import (
    TEMPORARY_SUFFIX,
    TRANSIENT_SUFFIXES,
    FilePool,
    Segment,
    list_offsets,
    remove_quietly,
    snapshot_path,
)
from shareq.broker.log.producer_state import ProducerStates
from shareq.broker.log.promise import Promise
from shareq.broker.log.segment import (
    INDEX_SUFFIX,
    LOG_SUFFIX,
    SNAPSHOT_SUFFIX,
    TIME_INDEX_SUFFIX,
    BatchWalk,
    file_name,
    valid_batch_after,
)
from shareq.broker.log.transactions import AbortedTransactions
from shareq.broker.log.txn_index import TXN_INDEX_SUFFIX, AbortedTransaction

__all__ = ["CorruptLogError", "RecoveredLog", "recover_log"]

logger = logging.getLogger(__name__)


class CorruptLogError(Exception):
    """A log is damaged in its middle. Names the file, the position and the offset; the broker does not start."""

    def __init__(self, path: str, position: int, offset: int, fault: str, follows: str) -> None:
        super().__init__(
            f"{path}: damaged at byte {position} (offset {offset}): {fault}; sound batches follow ({follows}). "
            f"Not starting, because they would be lost. Restore the file, or cut it at byte {position} and remove "
            "the later segments of this folder to give up everything from that offset on."
        )
        self.path = path
        self.position = position
        self.offset = offset


@dataclass(slots=True)
class RecoveredLog:
    """What was found in a folder. `log_end_offset` is exclusive; `segments` in order, the last one is active."""

    segments: list[Segment]
    log_end_offset: int
    producers: ProducerStates
    scanned: list[Segment] = field(default_factory=list)  # read byte by byte, perhaps cut


def recover_log(
    pool: FilePool,
    folder: str,
    *,
    interval_bytes: int,
    log_start_offset: int,
    promise: Promise,
    now_wall_ms: int,
    producer_expiration_ms: int,
) -> RecoveredLog:
    """Open the segments of a partition's folder, believing what its promise says.

    Raises `CorruptLogError`, and OSError when a file cannot be read.
    """
    opening = _Opening(pool, folder, interval_bytes, log_start_offset)
    if not promise.clean or not opening.trust():
        opening.check_from(0 if promise.clean else promise.checked_below)
    opening.load_producers()
    opening.producers.remove_expired(now_wall_ms, producer_expiration_ms)
    return RecoveredLog(opening.segments, opening.end, opening.producers, opening.scanned)


class _Opening:
    """One folder while it is opened: `segments` in order, `end` the log end offset found so far."""

    def __init__(self, pool: FilePool, folder: str, interval_bytes: int, log_start_offset: int) -> None:
        self._fs: Fs = pool.fs
        self._folder = folder
        self._log_start_offset = log_start_offset
        names = self._finish_cleaning(self._fs.list_dir(folder))
        self._snapshots = list_offsets(names, SNAPSHOT_SUFFIX)
        self._txn_indexes = set(list_offsets(names, TXN_INDEX_SUFFIX))
        self._sweep(names)
        self.segments = [Segment.found(pool, folder, base, interval_bytes) for base in list_offsets(names, LOG_SUFFIX)]
        self._drop_deleted()
        self.end = self.segments[0].base_offset if self.segments else log_start_offset
        self.producers = ProducerStates()
        self.scanned: list[Segment] = []
        self._producers_seen = False  # in the scanned segments
        self._markers_seen: set[Segment] = set()
        self._fault: tuple[int, str | None] = (0, None)  # where the last scan ended, and why

    def _finish_cleaning(self, names: list[str]) -> list[str]:
        """Where the cleaner was interrupted, finish what it did or undo it; the names in the folder after that."""
        if not any(name.endswith(TRANSIENT_SUFFIXES) for name in names):
            return names
        from shareq.broker.log.cleaner.swap import finish_interrupted  # rarely needed

        fault = finish_interrupted(self._fs, self._folder, names)
        if fault is not None:
            raise CorruptLogError(*fault, "in the segments that it replaces, or it has replaced them")
        return self._fs.list_dir(self._folder)

    def _sweep(self, names: list[str]) -> None:
        """Remove what a crash left behind: half-written files, and indexes whose segment is gone."""
        bases = set(list_offsets(names, LOG_SUFFIX))
        orphans = [name for name in names if name.endswith(TEMPORARY_SUFFIX)]
        for suffix in (INDEX_SUFFIX, TIME_INDEX_SUFFIX, TXN_INDEX_SUFFIX):
            orphans += [file_name(base, suffix) for base in list_offsets(names, suffix) if base not in bases]
        for name in orphans:
            remove_quietly(self._fs, f"{self._folder}/{name}")

    def _drop_deleted(self) -> None:
        """Finish a deletion of old segments: those that end at or before the log start offset."""
        while len(self.segments) > 1 and self.segments[1].base_offset <= self._log_start_offset:
            self.segments.pop(0).remove()

    def trust(self) -> bool:
        """Take the files as a clean shutdown left them. False when they cannot be that."""
        for segment in self.segments[1:]:
            self.end = segment.base_offset
        if not self.segments or self._walk_active(self.segments[-1]):
            self._start_over_behind()
            return True
        logger.warning("%s: not as a clean shutdown leaves it, checking every byte", self._folder)
        self.end = self.segments[0].base_offset
        return False

    def _walk_active(self, segment: Segment) -> bool:
        """Find the end of the last segment by the headers behind its last index entry."""
        segment_map = segment.load_indexes() or segment.new_map()
        position = segment_map.offsets.last_position()
        walk = BatchWalk(
            segment.read_at, segment.size, position=position, next_offset=segment.base_offset, check_crc=False
        )
        for at, header in walk:
            if at == position and len(segment_map.offsets) and not segment_map.offsets.ends_with(header.last_offset):
                return False
            segment_map.add(header.last_offset, at, header.size, header.newest_timestamp)
        segment.set_map(segment_map, proven=False)
        self.end = max(self.end, walk.next_offset)
        return walk.fault is None

    def check_from(self, recovery_point: int) -> None:
        """Read every segment that ends above the recovery point, and the last one; cut off a torn tail."""
        for at, segment in enumerate(self.segments):
            if segment.base_offset < self.end:
                raise CorruptLogError(
                    segment.log_path, 0, self.end, "overlaps the segment before it", "in this segment"
                )
            last = at == len(self.segments) - 1
            if not last and self.segments[at + 1].base_offset <= recovery_point:
                self.end = self.segments[at + 1].base_offset
            elif not self._scan(segment):
                self._cut(at)
                break
        self._start_over_behind()

    def _scan(self, segment: Segment) -> bool:
        """Check the whole segment and note where its batches are. False when `end` is not the end of the file."""
        self.scanned.append(segment)
        segment_map = segment.new_map()
        walk = BatchWalk(segment.read_at, segment.size, next_offset=segment.base_offset)
        for position, header in walk:
            segment_map.add(header.last_offset, position, header.size, header.newest_timestamp)
            if header.producer_id >= 0:
                self._producers_seen = True
                if header.is_control:
                    self._markers_seen.add(segment)
        segment.set_map(segment_map, proven=True)
        self.end = walk.next_offset
        self._fault = (walk.position, walk.fault)
        return walk.fault is None

    def _cut(self, at: int) -> None:
        """Remove the unsound end of the segment and the segments after it, if they hold nothing that is sound."""
        segment = self.segments[at]
        position, fault = self._fault
        follows = valid_batch_after(segment.read_at, segment.size, position, self.end)
        if follows is not None:
            raise CorruptLogError(segment.log_path, position, self.end, fault or "", f"at byte {follows}")
        for later in self.segments[at + 1 :]:
            if valid_batch_after(later.read_at, later.size, -1, later.base_offset) is not None:
                raise CorruptLogError(segment.log_path, position, self.end, fault or "", f"in {later.log_path}")
        logger.warning(
            "%s: %s at byte %d (offset %d): removing the last %d bytes, a write that was cut off",
            segment.log_path,
            fault,
            position,
            self.end,
            segment.size - position,
        )
        segment.cut_at(position)
        for later in self.segments[at + 1 :]:
            later.remove()
        del self.segments[at + 1 :]

    def _start_over_behind(self) -> None:
        """Everything was below the log start offset: the log is empty and begins there."""
        if self.end < self._log_start_offset:
            for segment in self.segments:
                segment.remove()
            self.segments, self.scanned = [], []
            self.end = self._log_start_offset

    def load_producers(self) -> None:
        """The producers as they were at the end, and the transactions that were aborted.

        Replays the batches behind a snapshot: the newest one, unless aborted transactions have to be found in segments
        before it.
        """
        scanned = set(self.scanned)
        known = self._known_aborted(scanned)
        missing = [segment for segment in self.segments if segment not in known]
        start = self._load_snapshot(min((segment.base_offset for segment in missing), default=self.end))
        scanned_from = self.scanned[0].base_offset if self.scanned else self.end
        if start < self.end and (start < scanned_from or self._producers_seen):
            for segment, end_offset in self._with_ends():
                if end_offset > start:
                    self._replay(segment, start)
        found, self.producers.aborted = self.producers.aborted, AbortedTransactions()
        for segment, end_offset in self._with_ends():
            entries = known[segment] if segment in known else found.ending_in(segment.base_offset, end_offset)
            if segment in scanned or segment in missing:
                segment.write_aborted(entries)
            for entry in entries:
                self.producers.aborted.add(entry)

    def _known_aborted(self, scanned: Set[Segment]) -> dict[Segment, list[AbortedTransaction]]:
        """The aborted transactions of every segment that has no marker, or a file that can be believed."""
        known: dict[Segment, list[AbortedTransaction]] = {}
        for segment, end_offset in self._with_ends():
            entries: list[AbortedTransaction] | None = []
            if segment in scanned:
                entries = None if segment in self._markers_seen else []
            elif segment.base_offset in self._txn_indexes:
                entries = segment.load_aborted(end_offset)
            if entries is not None:
                known[segment] = entries
        return known

    def _with_ends(self) -> Iterator[tuple[Segment, int]]:
        """The segments, and where each of them ends (exclusive)."""
        ends = [segment.base_offset for segment in self.segments[1:]]
        return zip(self.segments, [*ends, self.end], strict=False)  # there may be no segment at all

    def _load_snapshot(self, latest: int) -> int:
        """Take the newest producer snapshot up to `latest`; the offset from which batches are still to be replayed."""
        for offset in reversed(self._snapshots):
            path = snapshot_path(self._folder, offset)
            if offset <= latest:
                producers = ProducerStates.from_snapshot(self._fs.read_bytes(path))
                if producers is not None:
                    self.producers = producers
                    return offset
                logger.warning("%s: no producer snapshot that can be believed", path)
            if offset <= latest or offset > self.end:
                remove_quietly(self._fs, path)
        return self.segments[0].base_offset if self.segments else self.end

    def _replay(self, segment: Segment, start: int) -> None:
        position, _ = segment.map.start_of(start)
        walk = BatchWalk(
            segment.read_at, segment.size, position=position, next_offset=segment.base_offset, check_crc=False
        )
        for _, header in walk:
            if header.base_offset >= start and header.producer_id >= 0:
                self.producers.replay(header, partial(walk.batch, header))
        self.producers.written()
