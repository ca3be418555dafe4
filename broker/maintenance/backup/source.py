"""The data folder that a backup reads: its logs, their ends, and their open files.

Nothing is written. A broker may append, roll, clean and delete meanwhile: open files stay the same, and changed
names are noticed by the folder's modification time. This time has a resolution of some milliseconds, so a listing
made soon after a change is not trusted for long.
"""

from __future__ import annotations

import errno
import os
import re
import time
from collections.abc import Collection
from contextlib import suppress
from typing import Final, NamedTuple

from shareq.broker.log.segments.files import INDEX_SUFFIXES, LEADER_EPOCH_FILE, PARTITION_METADATA_FILE, SWAP_SUFFIX
from shareq.broker.log.segments.segment import LOG_SUFFIX, SNAPSHOT_SUFFIX, BatchWalk, offset_of_file
from shareq.broker.maintenance.backup.moment import Sight
from shareq.broker.metadata.topic_names import INTERNAL_TOPICS

_PARTITION_FOLDER: Final = re.compile(r"([a-zA-Z0-9._-]+)-(0|[1-9][0-9]{0,9})")
_FRESH_NS: Final = 100_000_000  # a folder changed within it may change again without another time of change
_HOLD_ATTEMPTS: Final = 20
_NO_SEGMENT: Final = -1
_SEGMENT_SUFFIXES: Final = (LOG_SUFFIX, *INDEX_SUFFIXES)
_OPEN_FLAGS: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW


class ChangedMeanwhileError(Exception):
    """Error: a log was cleaned, or a file replaced, so that the chosen moment can no longer be copied. Names the
    path.
    """


def partition_of(name: str) -> tuple[str, int] | None:
    """Return topic and partition of a partition's folder; None for any other name."""
    match = _PARTITION_FOLDER.fullmatch(name)
    return None if match is None else (match[1], int(match[2]))


class Seen(NamedTuple):
    """The attributes by which a file is known to be unchanged: device, inode, bytes, time of change in ns."""

    device: int
    inode: int
    size: int
    changed_ns: int


class HeldFile:
    """One file to copy: its first `size` bytes. It is held open if there are enough descriptors, and otherwise
    opened when needed.
    """

    __slots__ = ("_fd", "name", "path", "seen", "size")

    def __init__(self, path: str, name: str, limit: int | None = None) -> None:
        """Open the file. `name` is relative to the data folder. Raise OSError if it cannot be opened, except for
        lack of descriptors.
        """
        self.path = path
        self.name = name
        self._fd: int | None = None
        try:
            self._fd = os.open(path, _OPEN_FLAGS)
            status = os.fstat(self._fd)
        except OSError as error:
            if error.errno not in (errno.EMFILE, errno.ENFILE):
                raise
            status = os.stat(path, follow_symlinks=False)
        self.seen = Seen(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
        self.size = status.st_size if limit is None else min(limit, status.st_size)

    def read_at(self, position: int, size: int) -> bytes:
        """Return up to `size` bytes from `position`. Raise ChangedMeanwhileError if the file has been replaced, and
        OSError.
        """
        return os.pread(self._descriptor(), size, position)

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _descriptor(self) -> int:
        if self._fd is None:
            try:
                self._fd = os.open(self.path, _OPEN_FLAGS)
            except FileNotFoundError as error:
                raise ChangedMeanwhileError(self.path) from error
            status = os.fstat(self._fd)
            if (status.st_dev, status.st_ino) != self.seen[:2]:
                raise ChangedMeanwhileError(self.path)
        return self._fd


class HeldLog(NamedTuple):
    """The files of one partition at the moment of the backup. `active` is the segment that may end with a torn
    write.
    """

    name: str
    files: list[HeldFile]
    active: HeldFile | None

    def close(self) -> None:
        for file in self.files:
            file.close()


class _Listing(NamedTuple):
    """The names in a partition's folder with their inodes. `changed_ns` is the folder's time of change."""

    changed_ns: int
    listed_ns: int
    inodes: dict[str, int]
    base_offset: int

    def is_current(self, changed_ns: int) -> bool:
        return changed_ns == self.changed_ns and self.changed_ns < self.listed_ns - _FRESH_NS


class DataFolder:
    """The logs of a data folder as `Watched`, and their files. Owns the descriptors of active segments."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._listings: dict[str, _Listing] = {}
        self._active: dict[str, int] = {}  # descriptors

    # -- looking

    def look_at_all(self) -> dict[str, Sight]:
        """Return the state of every existing log. Raise OSError as the file system does."""
        with os.scandir(self.path) as entries:
            names = [entry.name for entry in entries if partition_of(entry.name) and _is_folder(entry)]
        for gone in self._listings.keys() - set(names):
            self._forget(gone)
        return self.look_at(sorted(names))

    def look_at(self, names: Collection[str]) -> dict[str, Sight]:
        """Look at these logs; leave out those whose folder was deleted."""
        sights = {}
        for name in names:
            with suppress(FileNotFoundError):
                sights[name] = self._look(name)
        return sights

    def _look(self, name: str) -> Sight:
        changed_ns = os.stat(f"{self.path}/{name}", follow_symlinks=False).st_mtime_ns
        listing = self._listings.get(name)
        if listing is None or not listing.is_current(changed_ns):
            listing = self._list(name)
        fd = self._active.get(name)
        if fd is None:
            return Sight(listing.changed_ns, _NO_SEGMENT, (0, 0), 0)
        status = os.fstat(fd)
        return Sight(listing.changed_ns, listing.base_offset, (status.st_dev, status.st_ino), status.st_size)

    def _list(self, name: str) -> _Listing:
        folder = f"{self.path}/{name}"
        listed_ns = time.time_ns()
        changed_ns = os.stat(folder, follow_symlinks=False).st_mtime_ns
        with os.scandir(folder) as entries:
            inodes = {entry.name: entry.inode() for entry in entries if entry.is_file(follow_symlinks=False)}
        bases = [base for each in inodes if (base := offset_of_file(each, LOG_SUFFIX)) is not None]
        old = self._listings.get(name)
        listing = _Listing(changed_ns, listed_ns, inodes, max(bases, default=_NO_SEGMENT))
        if old is None or old.base_offset != listing.base_offset or old.inodes != inodes:
            self._close_active(name)
            if bases:
                self._active[name] = os.open(f"{folder}/{listing.base_offset:020d}{LOG_SUFFIX}", _OPEN_FLAGS)
        self._listings[name] = listing
        return listing

    def is_plain(self, name: str, before: Sight | None, after: Sight | None) -> bool:
        """Return True if the new batches belong to no transaction and no coordinator.

        Return False if they cannot be found any more.
        """
        partition = partition_of(name)
        if partition is None or partition[0] in INTERNAL_TOPICS:
            return False
        if after is None or after.base_offset == _NO_SEGMENT:
            return True  # deleted, or nothing in it
        first, start = (_NO_SEGMENT, 0) if before is None else (before.base_offset, before.size)
        bases = sorted(
            base
            for each in self._listings[name].inodes
            if (base := offset_of_file(each, LOG_SUFFIX)) is not None and first <= base <= after.base_offset
        )
        if first != _NO_SEGMENT and bases[:1] != [first]:
            return False
        try:
            return all(self._is_plain_from(name, base, start if base == first else 0) for base in bases)
        except OSError:
            return False

    def _is_plain_from(self, name: str, base_offset: int, start: int) -> bool:
        file = HeldFile(f"{self.path}/{name}/{base_offset:020d}{LOG_SUFFIX}", name)
        try:
            walk = BatchWalk(file.read_at, file.size, position=start, next_offset=base_offset, check_crc=False)
            return not any(header.is_transactional or header.is_control for _, header in walk) and walk.fault is None
        finally:
            file.close()

    # -- holding

    def hold(self, name: str, sight: Sight) -> HeldLog | None:
        """Return the log's open files as of `sight`; None if the folder is missing: its topic was deleted.

        Raise ChangedMeanwhileError if the cleaner has replaced a segment of that sight, and OSError.
        """
        folder = f"{self.path}/{name}"
        before = self._listings[name]
        if before.changed_ns != sight.listing:
            raise ChangedMeanwhileError(folder)  # deleted since that moment: its content then is unknown
        for _ in range(_HOLD_ATTEMPTS):
            try:
                listing = self._list(name)
                self._check_same_log(name, sight, before.inodes, listing.inodes)
                held = self._open_files(name, sight, listing.inodes)
                if _are_still(held):
                    return held
                held.close()
            except FileNotFoundError:
                if not os.path.lexists(folder):
                    return None
        raise ChangedMeanwhileError(folder)

    def _check_same_log(self, name: str, sight: Sight, before: dict[str, int], now: dict[str, int]) -> None:
        """Raise ChangedMeanwhileError if a segment has become another file. Old ones may be deleted and new ones
        added.
        """
        ours = {
            base
            for each in before
            if (base := offset_of_file(each, LOG_SUFFIX)) is not None and base <= sight.base_offset
        }
        left = {base for base in ours if f"{base:020d}{LOG_SUFFIX}" in now}
        replaced = any(
            inode != before[each] for each, inode in now.items() if each in before and each.endswith(LOG_SUFFIX)
        )
        if replaced or (left and left != {base for base in ours if base >= min(left)}):
            raise ChangedMeanwhileError(f"{self.path}/{name}")

    def _open_files(self, name: str, sight: Sight, inodes: dict[str, int]) -> HeldLog:
        held = HeldLog(name, [], None)
        try:
            for each in sorted(inodes):
                if not _is_wanted(each, sight.base_offset):
                    continue
                path, relative = f"{self.path}/{name}/{each}", f"{name}/{each}"
                if offset_of_file(each, LOG_SUFFIX) == sight.base_offset:
                    active = HeldFile(path, relative, sight.size)
                    held = held._replace(active=active)
                    held.files.append(active)
                    if active.seen[:2] != sight.identity:
                        raise ChangedMeanwhileError(path)
                else:
                    held.files.append(HeldFile(path, relative))
        except BaseException:
            held.close()
            raise
        return held

    # -- descriptors

    def close(self) -> None:
        for name in list(self._listings):
            self._forget(name)

    def _forget(self, name: str) -> None:
        self._close_active(name)
        self._listings.pop(name, None)

    def _close_active(self, name: str) -> None:
        fd = self._active.pop(name, None)
        if fd is not None:
            os.close(fd)


def _is_wanted(name: str, active_base: int) -> bool:
    """Return True if a file of a partition's folder belongs in a backup. Of the active segment, only the log does."""
    if name in (PARTITION_METADATA_FILE, LEADER_EPOCH_FILE):
        return True
    swapped = name.removesuffix(SWAP_SUFFIX)
    for suffix in _SEGMENT_SUFFIXES:
        base = offset_of_file(swapped, suffix)
        if base is not None:
            return base < active_base or (base == active_base and suffix == LOG_SUFFIX)
    snapshot = offset_of_file(name, SNAPSHOT_SUFFIX)
    return snapshot is not None and snapshot <= active_base


def _are_still(held: HeldLog) -> bool:
    """Return True if every name still belongs to the file opened under it, so that all of them existed at one
    instant.
    """
    for file in held.files:
        status = os.stat(file.path, follow_symlinks=False)
        if (status.st_dev, status.st_ino) != file.seen[:2]:
            return False
    return True


def _is_folder(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir(follow_symlinks=False)
