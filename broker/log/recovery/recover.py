"""Opening of a partition's folder: it finds the valid bytes, the log end offset, and the state of the producers.

Which bytes are valid depends on the promises (`promise.Promise`):

    clean stop     the files are complete; only the batches behind the last index entry are walked. Unreadable bytes
                   are damage, never a write that was cut off
    same boot      the process was killed: every completed write is in the files. One batch that runs past the end of
                   the file is a write that was cut off, and is removed; all else that is unsound is damage
    another boot   the machine lost its power: what is unsound below the synced offset is damage. From there on the
                   log is cut at the first unsound byte, whatever follows it; sound batches behind it are kept aside
    nothing known  an unsound end is cut, unless something sound follows it

Damage stays in the file as it is. The rest of the log is readable, and the log end offset never goes back below what
was promised. `<base offset>.log.<position>.cut` holds the removed bytes.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from shareq.broker.foundation.environment import Fs
from shareq.broker.log.producer_state import ProducerStates
from shareq.broker.log.promises.clean_shutdown import LogEnd
from shareq.broker.log.promises.manifest import chain_of
from shareq.broker.log.promises.promise import Promise
from shareq.broker.log.recovery.cut_bytes import keep_aside, set_segment_aside
from shareq.broker.log.recovery.producers import ScannedProducers, load_producers
from shareq.broker.log.segments.damage import DamagedRange, SoundWalk, believed_end, described
from shareq.broker.log.segments.files import (
    INDEX_SUFFIXES,
    TEMPORARY_SUFFIX,
    TRANSIENT_SUFFIXES,
    FilePool,
    Segment,
    list_offsets,
    remove_quietly,
)
from shareq.broker.log.segments.found_damage import miss_the_end
from shareq.broker.log.segments.segment import (
    LOG_SUFFIX,
    SNAPSHOT_SUFFIX,
    BatchWalk,
    file_name,
    is_sound_at,
    runs_past_the_end,
    valid_batch_after,
)
from shareq.broker.log.segments.txn_index import TXN_INDEX_SUFFIX

logger = logging.getLogger(__name__)

_LOGGED_RANGES: Final = 20  # of one log


@dataclass(slots=True)
class RecoveredLog:
    """The log found in a folder. `log_end_offset` is exclusive; `segments` are in order, and the last one is the
    active one.

    `missing`: ranges of offsets that no segment has. With `seal_last`, nothing is appended to the last segment,
    because it ends with damage.
    """

    segments: list[Segment]
    log_start_offset: int
    log_end_offset: int
    producers: ProducerStates
    scanned: list[Segment] = field(default_factory=list)  # read byte by byte, perhaps cut
    missing: list[DamagedRange] = field(default_factory=list)
    seal_last: bool = False


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
    """Open the segments of a partition's folder, judging their bytes by the log's promise. Raise OSError for an
    unreadable file.
    """
    opening = _Opening(pool, folder, interval_bytes, log_start_offset, promise)
    if not promise.clean or not opening.trust():
        opening.check_from(0 if promise.clean else promise.checked_below)
    opening.log_damage()
    producers = opening.load_producers()
    producers.remove_expired(now_wall_ms, producer_expiration_ms)
    return RecoveredLog(
        segments=opening.segments,
        log_start_offset=opening.log_start_offset,
        log_end_offset=opening.end,
        producers=producers,
        scanned=[segment for segment in opening.scanned.segments if segment in opening.segments],
        missing=opening.missing,
        seal_last=opening.seal_last,
    )


def without_folder(folder: str, log_start_offset: int, log_end_offset: int) -> RecoveredLog:
    """Return a log without any record, although all up to `log_end_offset` (exclusive) were on stable storage."""
    missing: list[DamagedRange] = []
    logger.error("%s: the folder of a partition is missing", folder)
    if log_end_offset > log_start_offset:
        missing.append(DamagedRange(log_start_offset, log_end_offset, 0, 0, "missing"))
        logger.error("%s: %s", folder, described(missing[0]))
    return RecoveredLog([], log_start_offset, log_end_offset, ProducerStates(), missing=missing)


class _Tail(NamedTuple):
    """The position in a segment from which on nothing counts. `offset` is the offset expected there."""

    position: int
    offset: int
    fault: str


def open_as_stopped(
    pool: FilePool, folder: str, end: LogEnd, *, interval_bytes: int, log_start_offset: int
) -> RecoveredLog | None:
    """Return a plain log as a clean stop left it (see `LogEnd`), without reading its other files.

    Return None if the segment is not as the stop left it, or the log does not start in it: then `recover_log` is
    needed. Raise OSError if it cannot be read.
    """
    if not end.active <= log_start_offset <= end.end:
        return None
    segment = Segment(pool, folder, end.active, end.active_size, interval_bytes)
    segment.exists = True
    try:
        if segment.file().size() != end.active_size:
            return None
    except FileNotFoundError:
        return None
    segment_map = segment.new_map()
    walk = BatchWalk(segment.read_at, segment.size, next_offset=segment.base_offset, check_crc=False)
    for position, header in walk:
        segment_map.add(header.last_offset, position, header.size, header.newest_timestamp)
    segment.set_map(segment_map, proven=True)
    if walk.fault is not None or walk.next_offset != end.end:
        segment.close()
        return None
    return RecoveredLog([segment], log_start_offset, end.end, ProducerStates())


class _Opening:
    """One folder while it is opened. `segments` are in order; `end` is the log end offset found so far."""

    def __init__(
        self, pool: FilePool, folder: str, interval_bytes: int, log_start_offset: int, promise: Promise
    ) -> None:
        self._fs: Fs = pool.fs
        self._folder = folder
        self._promise = promise
        self.log_start_offset = log_start_offset
        names = self._finish_cleaning(self._fs.list_dir(folder))
        self._snapshots = list_offsets(names, SNAPSHOT_SUFFIX)
        self._txn_indexes = set(list_offsets(names, TXN_INDEX_SUFFIX))
        self._sweep(names)
        self.segments = [Segment.found(pool, folder, base, interval_bytes) for base in list_offsets(names, LOG_SUFFIX)]
        self._drop_deleted()
        self.missing: list[DamagedRange] = []
        self.seal_last = False
        self.scanned = ScannedProducers()
        self.end = 0
        self._begin()

    def _begin(self) -> None:
        """Let the log start at its first segment, unless it is known to start earlier."""
        first = self.segments[0].base_offset if self.segments else self.log_start_offset
        if not self._promise.start_is_known:
            self.log_start_offset = max(self.log_start_offset, first)
        self.missing.clear()
        self.end = first
        if first > self.log_start_offset:
            self._miss(self.log_start_offset, first)
        for segment, following in zip(self.segments, self.segments[1:], strict=False):
            segment.end_offset = following.base_offset
        for segment in self.segments:
            segment.gaps = self._promise.gaps
        known = chain_of(segment.base_offset for segment in self.segments)
        self._chain_is_known = self._promise.chain in (None, known)

    def _finish_cleaning(self, names: list[str]) -> list[str]:
        """Finish or undo what an interrupted cleaner did. Return the names in the folder after that."""
        if not any(name.endswith(TRANSIENT_SUFFIXES) for name in names):
            return names
        from shareq.broker.log.segments.swap import finish_interrupted  # rarely needed

        finish_interrupted(self._fs, self._folder, names)
        return self._fs.list_dir(self._folder)

    def _sweep(self, names: list[str]) -> None:
        """Remove what a crash left behind: half-written files, and indexes without their segment."""
        bases = set(list_offsets(names, LOG_SUFFIX))
        orphans = [name for name in names if name.endswith(TEMPORARY_SUFFIX)]
        for suffix in INDEX_SUFFIXES:
            orphans += [file_name(base, suffix) for base in list_offsets(names, suffix) if base not in bases]
        for name in orphans:
            remove_quietly(self._fs, f"{self._folder}/{name}")

    def _drop_deleted(self) -> None:
        """Finish a deletion of old segments: those that end at or before the log start offset."""
        while len(self.segments) > 1 and self.segments[1].base_offset <= self.log_start_offset:
            self.segments.pop(0).remove()

    # -- after a clean stop

    def trust(self) -> bool:
        """Open the files as a clean stop left them. Return False if they are not in that state."""
        for segment in self.segments[:-1]:
            self._pass_over(segment)
        promised = self._promise.end
        if (not self.segments or self._walk_active(self.segments[-1])) and promised in (None, self.end):
            self._start_over_behind()
            return True
        logger.warning("%s: not as a clean shutdown leaves it, checking every byte", self._folder)
        self._begin()
        return False

    def _walk_active(self, segment: Segment) -> bool:
        """Find the end of the last segment, from the headers behind its last index entry. Return False if it is not
        sound.
        """
        segment_map = segment.load_indexes() or segment.new_map()
        position = segment_map.offsets.last_position()
        walk = BatchWalk(
            segment.read_at,
            segment.size,
            position=position,
            next_offset=segment.base_offset,
            check_crc=False,
            limit=segment.limit,
        )
        for at, header in walk:
            if at == position and len(segment_map.offsets) and not segment_map.offsets.ends_with(header.last_offset):
                return False
            segment_map.add(header.last_offset, at, header.size, header.newest_timestamp)
        segment.set_map(segment_map, proven=False)
        self.end = max(self.end, walk.next_offset)
        return walk.fault is None

    def _pass_over(self, segment: Segment) -> None:
        """Pass over a segment that need not be read. It ends where the next one begins, unless a segment in between
        is missing.
        """
        if not self._chain_is_known:
            miss_the_end(segment)
        self.end = segment.end_offset or self.end

    # -- after anything else

    def check_from(self, checked_below: int) -> None:
        """Read every segment that ends above `checked_below`, and the last one."""
        for at, segment in enumerate(self.segments):
            limit = segment.end_offset
            if limit is not None and limit <= checked_below:
                self._pass_over(segment)
                continue
            tail = self._scan(segment)
            if tail is not None:
                self._cut(at, tail)
                break
            if limit is not None and self.end < limit:
                if self._is_unpromised(self.end):
                    self._cut(at, _Tail(segment.size, self.end, f"offsets up to {limit - 1} are missing"))
                    break
                self._miss(self.end, limit)
                self.end = limit
        self._keep_promised_end()
        self._start_over_behind()

    def _scan(self, segment: Segment) -> _Tail | None:
        """Check the whole segment; note the places of its batches and of damage, and set `end` to the segment's end.

        Return the tail if one has to be cut off.
        """
        scanned = self.scanned
        scanned.segments.append(segment)
        segment_map = segment.new_map()
        walk = SoundWalk(segment.batches())
        tail: _Tail | None = None
        for position, header in walk:
            if walk.damaged:
                tail = tail or self._tail_in(walk.damaged)
                if tail is not None and position >= tail.position:
                    break
            segment_map.add(header.last_offset, position, header.size, header.newest_timestamp)
            if header.producer_id >= 0:
                scanned.any = True
                if header.is_control:
                    scanned.with_markers.add(segment)
        segment.set_map(segment_map, proven=True)
        tail = tail or self._tail_in(walk.damaged)
        segment.damaged = [lost for lost in walk.damaged if tail is None or lost.position < tail.position]
        self.end = walk.next_offset if tail is None else tail.offset
        if tail is None and walk.fault is not None:
            tail = self._judge_end(segment, _Tail(walk.position, walk.next_offset, walk.fault))
        return tail

    def _is_unpromised(self, offset: int) -> bool:
        """Return True if nothing from `offset` on was promised to be kept."""
        promise = self._promise
        return not promise.clean and not promise.same_boot and promise.synced is not None and offset >= promise.synced

    def _tail_in(self, damaged: list[DamagedRange]) -> _Tail | None:
        for lost in damaged:
            if self._is_unpromised(lost.first_offset):
                return _Tail(lost.position, lost.first_offset, lost.fault)
        return None

    def _judge_end(self, segment: Segment, tail: _Tail) -> _Tail | None:
        """Return the tail if it has to be cut off; None if it is damage, which stays. No sound batch follows in the
        segment.
        """
        promise = self._promise
        is_last = segment is self.segments[-1]
        if not promise.clean:
            if promise.same_boot:
                to_cut = is_last and runs_past_the_end(segment.read_at, segment.size, tail.position)
            elif promise.synced is not None:
                to_cut = tail.offset >= promise.synced
            else:
                to_cut = not self._is_followed(segment)
            if to_cut:
                return tail
        end, at = segment.end_offset, segment.size
        if end is None:
            end, at = self._end_of_damage(segment, tail)
            self.seal_last = True
        segment.damaged.append(DamagedRange(tail.offset, end, tail.position, at, tail.fault))
        self.end = end
        return _Tail(at, end, tail.fault) if at < segment.size else None

    def _end_of_damage(self, segment: Segment, tail: _Tail) -> tuple[int, int]:
        """Return the log end offset if the last segment ends with damage, and how many of its bytes are kept."""
        promise, size = self._promise, segment.size
        if promise.clean and promise.end is not None:
            return max(promise.end, tail.offset), size
        if promise.same_boot or promise.clean or promise.synced is None:
            return believed_end(segment.read_at, size, tail.position, tail.offset), size
        walk = BatchWalk(segment.read_at, size, position=tail.position, next_offset=tail.offset, check_crc=False)
        for at, header in walk:
            if header.base_offset >= promise.synced:  # it was never promised
                return promise.synced, at
        return promise.synced, size

    def _is_followed(self, segment: Segment) -> bool:
        """Return True if a later segment has a sound batch."""
        later = self.segments[self.segments.index(segment) + 1 :]
        return any(_has_sound_batch(other) for other in later)

    def _cut(self, at: int, tail: _Tail) -> None:
        """Cut off the end of the segment, and remove the segments after it. A copy of sound parts is kept."""
        segment, later = self.segments[at], self.segments[at + 1 :]
        position = tail.position
        is_sound = _has_sound_batch(segment, position, tail.offset) or any(map(_has_sound_batch, later))
        kept = [keep_aside(self._fs, segment, position)] if is_sound and position < segment.size else []
        if position < segment.size or not later:
            logger.warning(
                "%s: %s at byte %d (offset %d): removing the last %d bytes, a write that was cut off",
                segment.log_path,
                tail.fault,
                position,
                tail.offset,
                segment.size - position,
            )
        segment.cut_at(position)
        segment.end_offset = None
        for other in later:
            if is_sound and other.size:
                kept.append(set_segment_aside(self._fs, other))
            else:
                other.remove()
        del self.segments[at + 1 :]
        if kept:
            logger.warning(
                "%s: sound records behind offset %d were written without being synced and do not count; kept in %s",
                self._folder,
                tail.offset,
                ", ".join(kept),
            )

    def _keep_promised_end(self) -> None:
        """Move the log end offset up to the promised one, even if less of the log was found."""
        promise = self._promise
        promised = max(promise.synced or 0, (promise.end or 0) if promise.clean else 0)
        if promise.clean or promise.same_boot:
            promised = max(promised, promise.active or 0)
        if self.end < promised and promised > self.log_start_offset:
            self._miss(max(self.end, self.log_start_offset), promised)
            self.end = promised
            if self.segments and not self.segments[-1].size:
                self.segments.pop().remove()  # batches of other offsets are about to follow
            self.seal_last = bool(self.segments)

    def _start_over_behind(self) -> None:
        """Let an empty log begin at the log start offset, if all found records are below it."""
        if self.end < self.log_start_offset:
            for segment in self.segments:
                segment.remove()
            self.segments, self.scanned.segments = [], []
            self.end = self.log_start_offset

    def _miss(self, first_offset: int, next_offset: int) -> None:
        self.missing.append(DamagedRange(first_offset, next_offset, 0, 0, "missing"))

    def log_damage(self) -> None:
        """Log one error line for each unreadable range, for the first ones."""
        lost = [(segment.log_path, damaged) for segment in self.segments for damaged in segment.damaged]
        lost += [(self._folder, missing) for missing in self.missing]
        for path, damaged in lost[:_LOGGED_RANGES]:
            logger.error("%s: %s", path, described(damaged))
        if len(lost) > _LOGGED_RANGES:
            logger.error("%s: %d more ranges of offsets cannot be read", self._folder, len(lost) - _LOGGED_RANGES)

    def load_producers(self) -> ProducerStates:
        return load_producers(
            self._fs,
            self._folder,
            self.segments,
            self.end,
            self.scanned,
            snapshots=self._snapshots,
            txn_indexes=self._txn_indexes,
        )


def _has_sound_batch(segment: Segment, position: int = -1, offset: int | None = None) -> bool:
    due = segment.base_offset if offset is None else offset
    if is_sound_at(segment.read_at, segment.size, max(position, 0)) is not None:
        return True
    return valid_batch_after(segment.read_at, segment.size, position, due) is not None
