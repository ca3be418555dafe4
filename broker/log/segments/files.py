"""Segments as files, and the limit of open ones. Only this part of the log knows their paths.

A partition's folder:

    partition.metadata            the topic's id; written before anything else
    leader-epoch-checkpoint
    <base offset>.log             record batches
    <base offset>.index .timeindex    written when the segment is sealed, or the log is closed and it is not small
    <base offset>.txnindex        the same, where transactions were aborted
    <base offset>.checksums       CRCs of the three files above, see `index_checksums`
    *.cleaned .swap .deleted      segments that are being swapped, see `swap.py`
    <offset>.snapshot             producers as they were at that log end offset
"""

from __future__ import annotations

import logging
from bisect import bisect_right, insort
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from errno import EIO
from typing import Final

from shareq.broker.foundation.environment import File, Fs
from shareq.broker.foundation.pending import Pending
from shareq.broker.log.segments.cold_reads import WHOLE_FILE, Ahead, ColdReads, NotCached
from shareq.broker.log.segments.damage import DamagedRange, SoundWalk, covering, described, read_around
from shareq.broker.log.segments.index import MAX_RELATIVE_OFFSET, OffsetIndex, SegmentMap, TimeIndex
from shareq.broker.log.segments.index_checksums import CHECKSUMS_SUFFIX, format_checksums, parse_checksums
from shareq.broker.log.segments.segment import (
    INDEX_SUFFIX,
    LOG_SUFFIX,
    SNAPSHOT_SUFFIX,
    TIME_INDEX_SUFFIX,
    UNKNOWN,
    BatchWalk,
    file_name,
    offset_of_file,
)
from shareq.broker.log.segments.txn_index import (
    TXN_INDEX_SUFFIX,
    AbortedTransaction,
    entries_from_bytes,
    entries_to_bytes,
)
from shareq.protocol.records.batch import HEADER_SIZE, NO_TIMESTAMP, read_header
from shareq.protocol.records.checksum import crc32c

logger = logging.getLogger(__name__)

PARTITION_METADATA_FILE: Final = "partition.metadata"
LEADER_EPOCH_FILE: Final = "leader-epoch-checkpoint"

TEMPORARY_SUFFIX: Final = ".tmp"  # what `Fs.write_atomic` writes before it renames
CLEANED_SUFFIX: Final = ".cleaned"
SWAP_SUFFIX: Final = ".swap"
DELETED_SUFFIX: Final = ".deleted"
TRANSIENT_SUFFIXES: Final = (CLEANED_SUFFIX, SWAP_SUFFIX, DELETED_SUFFIX)
DEFAULT_OPEN_FILES: Final = 256
KEPT_SNAPSHOTS: Final = 2
INDEX_SUFFIXES: Final = (INDEX_SUFFIX, TIME_INDEX_SUFFIX, TXN_INDEX_SUFFIX, CHECKSUMS_SUFFIX)
SEALED_MAPS: Final = 32  # up to 2 MiB each, for a segment of 1 GiB
_INDEX_SLACK_BYTES: Final = 64 * 1024


class FilePool:
    """The files and maps that segments keep open and in memory, bounded over all logs.

    At most `limit` files are open: the least recently used one is closed for the next one, unless a sync of it is
    running. At most 32 maps of sealed segments are in memory: the one loaded first is dropped.

    While `never_waits` is set, a read of bytes that are not in memory raises NotCached. With `patient`, no read sets
    it.
    """

    def __init__(self, fs: Fs, limit: int = DEFAULT_OPEN_FILES) -> None:
        self.fs = fs
        self.cold = ColdReads(fs)
        self.starting = False  # while logs are being opened, sectors that the disk cannot read count as damage
        self.never_waits = False
        self.patient = False
        self._limit = limit
        self._open: deque[Segment] = deque()
        self._mapped: deque[Segment] = deque()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Let reads wait for the disk inside this block: during a start, or a walk through damage, which would
        otherwise begin again at each read.
        """
        before = self.never_waits, self.patient
        self.never_waits, self.patient = False, True
        try:
            yield
        finally:
            self.never_waits, self.patient = before

    def mapped(self, segment: Segment) -> None:
        """Note that a sealed segment has its map in memory; drop the oldest map if there are too many."""
        self._mapped.append(segment)
        if len(self._mapped) > SEALED_MAPS:
            self._mapped.popleft().drop_map()

    def opened(self, segment: Segment) -> None:
        """Note that `segment` has opened its file; close another one if there are too many."""
        self._open.append(segment)
        for _ in range(2 * len(self._open)):
            if len(self._open) <= self._limit:
                return
            oldest = self._open.popleft()
            if oldest.used or oldest.pins or oldest is segment:  # used since the last look: it stays for another round
                oldest.used = False
                self._open.append(oldest)
            else:
                oldest.close_file()

    def closed(self, segment: Segment) -> None:
        """Note that `segment` has closed its file itself."""
        with suppress(ValueError):
            self._open.remove(segment)


class Segment:
    """One segment of a log: a `.log` file and its indexes. Owned by its log.

    `size` is the valid, written part of the file; bytes behind it are about to be truncated. The first `synced`
    bytes are known to be on stable storage. While `pins` > 0, the file stays open. `map_proven`: the map was made
    from the log's bytes, not read from index files. `suffix` ends the `.log` file's name while the segment replaces
    others. `damaged` has the known unreadable parts, in order. `gaps`: offsets need not be contiguous. `end_offset`
    (exclusive) is the start of the next segment, None for the last one; up to `synced_end` its offsets are on stable
    storage, though a power loss may take the whole file while not `name_is_synced`.
    """

    __slots__ = (
        "_ahead",
        "_file",
        "_folder",
        "_interval",
        "_map",
        "_pool",
        "_sealed",
        "base_offset",
        "damaged",
        "end_offset",
        "exists",
        "gaps",
        "map_proven",
        "name_is_synced",
        "pins",
        "size",
        "suffix",
        "synced",
        "synced_end",
        "used",
    )

    def __init__(
        self, pool: FilePool, folder: str, base_offset: int, size: int, interval_bytes: int, suffix: str = ""
    ) -> None:
        self._pool = pool
        self._folder = folder
        self._interval = interval_bytes
        self._file: File | None = None
        self._map: SegmentMap | None = None
        self._ahead: Ahead | None = None  # while the disk keeps readers waiting
        self.base_offset = base_offset
        self.suffix = suffix
        self.size = size
        self._sealed = False
        self.map_proven = False
        self.damaged: list[DamagedRange] = []
        self.gaps = False
        self.end_offset: int | None = None
        self.exists = False  # a new segment has no file before its first write
        self.synced = size
        self.synced_end = base_offset
        self.name_is_synced = True
        self.pins = 0
        self.used = False

    @classmethod
    def found(cls, pool: FilePool, folder: str, base_offset: int, interval_bytes: int) -> Segment:
        """Return a segment whose file exists; all its bytes are believed for now."""
        segment = cls(pool, folder, base_offset, 0, interval_bytes)
        segment.exists = True
        segment.size = segment.synced = segment.file().size()
        return segment

    @property
    def limit(self) -> int:
        """The offset (exclusive) beyond which none of its batches reaches: the start of the next segment, or the
        limit of its indexes.
        """
        return self.base_offset + MAX_RELATIVE_OFFSET + 1 if self.end_offset is None else self.end_offset

    @property
    def log_path(self) -> str:
        return self.path(LOG_SUFFIX) + self.suffix

    def path(self, suffix: str) -> str:
        return f"{self._folder}/{file_name(self.base_offset, suffix)}"

    def file(self) -> File:
        """Return the open `.log` file. Raise OSError if it cannot be opened."""
        self.used = True
        file = self._file
        if file is None:
            file = self._file = self._pool.fs.open(self.log_path, create=not self.exists)
            self.exists = True
            self._pool.opened(self)
        return file

    def read_at(self, position: int, size: int) -> bytes:
        """Return up to `size` bytes from `position`, none beyond the valid part of the file. Raise NotCached (see
        `FilePool`).
        """
        size = min(size, self.size - position)
        try:
            file = self.file()
            return self._read_cached(file, position, size) if self._pool.never_waits else file.read_at(position, size)
        except OSError as error:
            if error.errno != EIO:
                raise
            return self._read_around(position, size, error)

    def _read_cached(self, file: File, position: int, size: int) -> bytes:
        """Return bytes from the page cache. If they are not there, raise NotCached, or wait for the disk if loading
        them failed, or was in vain too often.
        """
        data, cold = file.read_cached(position, size), self._pool.cold
        if data is None:
            path = self.log_path
            if cold.gives_up(path, position, size):
                return file.read_at(position, size)
            self._ahead = self._ahead or Ahead()
            self._ahead.expect(position, position + size)
            raise NotCached(path, position, size)
        if cold.tried:
            cold.tried.pop((self.log_path, position), None)
        return data

    def was_read(self, start: int, end: int) -> None:
        """Note that a reader has read these bytes, and is likely to continue behind them."""
        if self._ahead is not None:
            for position, size in self._ahead.went_on(start, end, self.size):
                self._pool.cold.load(self.log_path, position, size, ahead=True)

    def load(self, position: int, size: int) -> Pending[None] | None:
        """Return a pending that completes when these bytes are in memory; None if they are, or if every read waits
        for the disk.
        """
        size = min(size, self.size - position)
        if size <= 0 or self._pool.patient:
            return None
        try:
            if self.file().read_cached(position, size) is not None:
                return None
        except OSError:
            return None  # a read will report the error
        return self._pool.cold.load(self.log_path, position, size)

    def _read_around(self, position: int, size: int, error: OSError) -> bytes:
        """Return the bytes, with zeros for blocks that the disk cannot read, where no CRC will be right.

        Raise OSError if no byte of the file can be read; during a start, treat that as damage, too.
        """
        data, lost = read_around(self.file().read_at, position, size)
        if lost == size and not self._pool.starting:
            self.file().read_at(0 if position >= size else self.size - 1, 1)
        logger.error("%s: %d bytes from byte %d on cannot be read: %s", self.log_path, lost, position, error)
        return data

    def waiting(self) -> AbstractContextManager[None]:
        """Let reads wait for the disk; see `FilePool.waiting`."""
        return self._pool.waiting()

    def batches(self, position: int = 0, *, check_crc: bool = True) -> BatchWalk:
        """Return a walk of its batches from `position` on. The expected first offset is known only at the segment's
        beginning.
        """
        return BatchWalk(
            self.read_at,
            self.size,
            position=position,
            next_offset=UNKNOWN if position else self.base_offset,
            check_crc=check_crc,
            gaps=self.gaps,
            limit=self.limit,
        )

    def lose(self, damaged: DamagedRange) -> bool:
        """Note an unreadable part. Return False if it was known already."""
        if covering(self.damaged, damaged.first_offset) is not None:
            return False
        insort(self.damaged, damaged)
        return True

    def append(self, buffers: Sequence[bytes | bytearray | memoryview], size: int) -> None:
        """Write the buffers, `size` bytes in all. After an OSError, the caller must call `cut_back`."""
        self.file().append(buffers)
        self.size += size

    def cut_back(self) -> None:
        """Cut off the bytes behind `size` that a failed write left."""
        if self.exists:
            self.file().truncate(self.size)

    def cut_at(self, size: int) -> None:
        """Keep the first `size` bytes."""
        self.synced = 0
        self.size = size
        self.file().truncate(size)

    def sync(self) -> None:
        """Sync the file. Return once all written bytes are on stable storage, even if another sync is running."""
        if self.synced < self.size:
            self.file().sync()
            self.synced = self.size

    def sync_again(self) -> None:
        """Sync like `sync`, even if all bytes seem to be synced, because a background sync may not have reached
        them.

        An empty file is synced, too: otherwise bytes that were cut off could come back.
        """
        if self.exists:
            self.file().sync()
            self.synced = self.size

    def close_file(self) -> None:
        """Close the file; the next use opens it again."""
        if self._file is not None:
            file, self._file = self._file, None
            file.close()

    def close(self) -> None:
        """Close the file for good."""
        if self._file is not None:
            self._pool.closed(self)
            self.close_file()

    def first_timestamp(self, *, or_else: int) -> int:
        """Return the largest timestamp of its first batch; `or_else` if it has none. Raise OSError as the file does."""
        head = self.read_at(0, HEADER_SIZE) if self.exists else b""
        timestamp = read_header(head).max_timestamp if len(head) == HEADER_SIZE else NO_TIMESTAMP
        return or_else if timestamp == NO_TIMESTAMP else timestamp

    # -- what is where in the file

    @property
    def map(self) -> SegmentMap:
        """The places of the batches; loaded at first use, rebuilt from the log if the index files are corrupt."""
        if self._map is None:
            self._map = self._load_map()
            self.map_proven = False
            if self._map is None:
                self._map = self.rebuild_map()
                if self._sealed:
                    self.write_indexes(sync=False)
            if self._sealed:
                self._pool.mapped(self)
        return self._map

    def load_map(self) -> Pending[None] | None:
        """Return a pending that completes when more of the index files is in memory; the caller then calls this
        again. Return None if `map` can be used.
        """
        pool = self._pool
        pool.never_waits = not pool.patient
        try:
            self.map  # noqa: B018  # is made by that
        except NotCached as missing:
            return pool.cold.read(missing).arrived
        except OSError:
            return None  # the next use of the map will report the error
        finally:
            pool.never_waits = False
        return None

    def seal(self) -> None:
        """Note that no batch will be added, so that the map need not stay in memory."""
        self._sealed = True
        if self._map is not None:
            self._map.forget_tail()
            self._pool.mapped(self)

    def drop_map(self) -> None:
        """Drop the map of its batches until the next use."""
        self._map = None

    def set_map(self, segment_map: SegmentMap, *, proven: bool) -> None:
        self._map = segment_map
        self.map_proven = proven

    def new_map(self) -> SegmentMap:
        """Return an empty map, to be filled by a walk of the file."""
        return SegmentMap(self.base_offset, self._interval)

    def rebuild_map(self) -> SegmentMap:
        """Walk the sound batches, and return a new map of them; note the damage. Waits for the disk."""
        segment_map = self.new_map()
        walk = SoundWalk(self.batches())
        with self.waiting():
            for position, header in walk:
                segment_map.add(header.last_offset, position, header.size, header.newest_timestamp)
        self.set_map(segment_map, proven=True)
        for lost in walk.losses(self.end_offset, segment_map.last_offset()):
            if self.lose(lost):
                logger.error("%s: %s", self.log_path, described(lost))
        return segment_map

    def load_indexes(self) -> SegmentMap | None:
        """Return the map in the index files; None if one is missing or does not belong to this log.

        The segment's own `map` stays as it is.
        """
        known = self._checksums()
        try:
            offset_entries = self._read_index(INDEX_SUFFIX, known)
            time_entries = self._read_index(TIME_INDEX_SUFFIX, known)
        except FileNotFoundError:
            return None
        offsets = times = None
        if offset_entries is not None and time_entries is not None:
            sound = INDEX_SUFFIX in known, TIME_INDEX_SUFFIX in known
            offsets = OffsetIndex.from_bytes(offset_entries, self.base_offset, self.size, sound=sound[0])
            times = TimeIndex.from_bytes(time_entries, self.base_offset, sound=sound[1])
        if offsets is None or times is None:
            logger.warning("%s: corrupt index files, rebuilding", self.log_path)
            return None
        return SegmentMap(self.base_offset, self._interval, offsets, times)

    def _read_index(self, suffix: str, known: Mapping[str, int]) -> bytes | None:
        """Return an index file's content; None if its checksum is known and does not match.

        Raise FileNotFoundError, OSError.
        """
        content = self._read_file(self.path(suffix))
        return content if suffix not in known or crc32c(content) == known[suffix] else None

    def _checksums(self) -> dict[str, int]:
        """Return the CRCs of the index files by suffix; an empty dict if they were never written, or cannot be read."""
        path = self.path(CHECKSUMS_SUFFIX)
        try:
            return parse_checksums(self._read_file(path))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            logger.warning("%s: cannot be read, the index files are believed without: %s", path, error)
            return {}

    def _read_file(self, path: str) -> bytes:
        """Return the content of a small file beside the log. Raise FileNotFoundError, OSError or NotCached."""
        pool = self._pool
        if not pool.never_waits:
            return pool.fs.read_bytes(path)
        content, cold = pool.fs.read_bytes_cached(path), pool.cold
        if content is None:
            if cold.gives_up(path, 0, WHOLE_FILE):
                return pool.fs.read_bytes(path)
            cold.load(self.log_path, 0, 1, ahead=True)  # the log and all these files are opened next
            for suffix in INDEX_SUFFIXES:
                cold.load(self.path(suffix), 0, WHOLE_FILE, ahead=True)
            raise NotCached(path, 0, WHOLE_FILE)
        if cold.tried:
            cold.tried.pop((path, 0), None)
        return content

    def _write_checksums(self, checksums: Mapping[str, int], *, sync: bool) -> None:
        self._pool.fs.write_atomic(self.path(CHECKSUMS_SUFFIX), format_checksums(checksums), sync=sync)

    def _load_map(self) -> SegmentMap | None:
        segment_map = self.load_indexes()
        if segment_map is None:
            return None
        # An index of a time when the segment was shorter is valid, but walking from its last entry would take long.
        start = segment_map.offsets.last_position()
        if self.size - start > self._interval + _INDEX_SLACK_BYTES:
            walk = BatchWalk(self.read_at, self.size, position=start, next_offset=self.base_offset, check_crc=False)
            for position, header in walk:
                if self.size - position - header.size > self._interval + _INDEX_SLACK_BYTES:
                    return None
                break
        if segment_map.max_timestamp < 0:
            return None  # without a single time entry: Apache Kafka writes one whenever there is a timestamp
        return segment_map

    def write_indexes(self, *, sync: bool) -> None:
        """Write both index files of a segment that gets no batches now. After a failure they are only rebuilt later."""
        segment_map = self._map or self.rebuild_map()
        segment_map.finish_times()
        fs = self._pool.fs
        contents = {INDEX_SUFFIX: segment_map.offsets.to_bytes(), TIME_INDEX_SUFFIX: segment_map.times.to_bytes()}
        try:
            for suffix, content in contents.items():
                fs.write_atomic(self.path(suffix), content, sync=sync)
            known = self._checksums()
            known.update({suffix: crc32c(content) for suffix, content in contents.items()})
            self._write_checksums(known, sync=sync)
        except OSError as error:
            logger.warning("%s: indexes not written, they will be rebuilt: %s", self.log_path, error)

    def write_aborted(self, entries: Sequence[AbortedTransaction]) -> None:
        """Write the `.txnindex` to stable storage; remove it if there are no entries. Raise OSError: then the file
        may be missing.
        """
        fs, path = self._pool.fs, self.path(TXN_INDEX_SUFFIX)
        known = self._checksums()
        if entries:
            content = entries_to_bytes(entries)
            fs.write_atomic(path, content, sync=True)
            self.write_aborted_checksum(content)
            return
        if known.pop(TXN_INDEX_SUFFIX, None) is not None:
            self._write_checksums(known, sync=True)
        if fs.exists(path):
            fs.remove(path)
            fs.sync_dir(self._folder)

    def write_aborted_checksum(self, content: bytes) -> None:
        """Write the checksum that the `.txnindex` has, or will have. A file with another one is rebuilt. Raise
        OSError.
        """
        self._write_checksums({**self._checksums(), TXN_INDEX_SUFFIX: crc32c(content)}, sync=True)

    @property
    def has_aborted(self) -> bool:
        """True if a `.txnindex` exists, or existed when the checksums were written."""
        return TXN_INDEX_SUFFIX in self._checksums()

    def load_aborted(self, end_offset: int) -> list[AbortedTransaction] | None:
        """Return the `.txnindex` of a segment that ends at `end_offset` (exclusive); None if it is corrupt."""
        try:
            content = self._read_index(TXN_INDEX_SUFFIX, self._checksums())
        except FileNotFoundError:
            content = None
        entries = None if content is None else entries_from_bytes(content, self.base_offset, end_offset)
        if entries is None:
            logger.warning("%s: missing or corrupt, rebuilding it from the log", self.path(TXN_INDEX_SUFFIX))
        return entries

    def remove(self) -> None:
        """Remove the segment's files, the log first: a start removes files without a log."""
        self.synced = self.size
        self.close()
        remove_quietly(self._pool.fs, self.log_path)
        for suffix in INDEX_SUFFIXES:
            remove_quietly(self._pool.fs, self.path(suffix))


def list_offsets(names: Sequence[str], suffix: str) -> list[int]:
    """Return the offsets in the names of files with that suffix, ascending."""
    return sorted(offset for name in names if (offset := offset_of_file(name, suffix)) is not None)


def remove_quietly(fs: Fs, path: str) -> None:
    """Remove a file that is no longer needed; log a failure."""
    try:
        fs.remove(path)
    except FileNotFoundError:
        pass
    except OSError as error:
        logger.warning("%s: not removed: %s", path, error)


def snapshot_path(folder: str, offset: int) -> str:
    """Return the path of the producers' snapshot for that log end offset."""
    return f"{folder}/{file_name(offset, SNAPSHOT_SUFFIX)}"


def write_snapshot(fs: Fs, folder: str, offset: int, content: bytes, recovery_point: int, *, sync: bool) -> None:
    """Write the producers' snapshot for that log end offset. After a failure the next start only takes longer.

    Remove earlier snapshots, except the latest one and the one from which recovery would start.
    """
    try:
        fs.write_atomic(snapshot_path(folder, offset), content, sync=sync)
        snapshots = list_offsets(fs.list_dir(folder), SNAPSHOT_SUFFIX)
        needless = min(len(snapshots) - KEPT_SNAPSHOTS, bisect_right(snapshots, recovery_point) - 1)
        for old in snapshots[: max(needless, 0)]:
            remove_quietly(fs, snapshot_path(folder, old))
    except OSError as error:
        logger.warning("%s: producer snapshot not written: %s", folder, error)
