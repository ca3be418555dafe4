"""The manifest on disk: changes are appended and synced within a second, and from time to time a snapshot replaces
the file.

An append is a plain write, which survives the end of the process. If a power loss takes the appends of the last
second, the promises are only understated. After each sync a line states how much of the file is on stable storage.

    DATA/log-manifest        see `manifest`
    DATA/log-manifest.new    the next snapshot, until it is on stable storage
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from contextlib import suppress
from functools import partial
from typing import Final

from shareq.broker.foundation.environment import Clock, File, Fs, SyncErrors
from shareq.broker.foundation.loop.timer import Timer
from shareq.broker.log.promises.manifest import (
    LogRow,
    Manifest,
    boot_line,
    gone_line,
    parse_manifest,
    row_line,
    snapshot,
    synced_line,
)

logger = logging.getLogger(__name__)

MANIFEST_FILE: Final = "log-manifest"
SYNC_DELAY_MS: Final = 1000
LEAST_APPENDED_BYTES: Final = 256 * 1024  # before the next snapshot; at least twice that snapshot's size

TopicPartition = tuple[str, int]


class ManifestFile:
    """The manifest's file. Owned by the manager of logs. Nothing is written before `begin`. After a failed write,
    the whole file is written again.

    A start and a stop write with `fs`. In between, `bare_fs` is used, which releases nothing of the reserve of a
    full disk, since deletions and acknowledgements need it more.
    """

    def __init__(self, fs: Fs, clock: Clock, data_dir: str, bare_fs: Fs | None = None) -> None:
        self._fs = fs
        self._bare_fs = bare_fs or fs
        self._clock = clock
        self._data_dir = data_dir
        self._path = f"{data_dir}/{MANIFEST_FILE}"
        self._rows: dict[TopicPartition, LogRow] = {}
        self._pending: list[bytes] = []
        self._file: File | None = None
        self._next: File | None = None  # the next snapshot, while it is synced
        self._since_next: list[bytes] = []
        self._appended = 0
        self._limit = LEAST_APPENDED_BYTES
        self._timer = Timer(clock)
        self._failed = False

    def load(self) -> Manifest | None:
        """Return the file's content; None if it is missing, or nothing in it can be believed. Raise OSError."""
        try:
            data = self._fs.read_bytes(self._path)
        except FileNotFoundError:
            return None
        found = parse_manifest(data, self._fs.boot_id())
        if found is None:
            logger.error("%s: cannot be read; what was promised of the logs is not known", self._path)
        elif not found.is_whole:
            logger.error("%s: damaged lines are left out; less may be promised of some logs than was", self._path)
        return found

    def begin(self, found: Manifest | None, rows: Mapping[TopicPartition, LogRow]) -> None:
        """Write the present promises of the logs to the file, once the logs are open. Raise OSError if that fails."""
        boot_id = self._fs.boot_id()
        self._rows = dict(rows)
        if found is None or not found.is_whole or found.cut_off or set(found.rows) - set(rows):
            self._rewrite(self._fs)
            return
        lines = [boot_line(boot_id)] if found.boot_id != boot_id else []
        lines += [row_line(key, row) for key, row in rows.items() if found.rows.get(key) != row]
        self._file = self._bare_fs.open(self._path)
        self._appended = self._file.size()
        if lines:
            self._pending = lines
            self.write()

    def note(self, key: TopicPartition, row: LogRow) -> None:
        """Note the new promises of a log, for the next `write`."""
        if self._rows.get(key) != row:
            self._rows[key] = row
            self._pending.append(row_line(key, row))

    def forget(self, keys: Collection[TopicPartition]) -> None:
        """Note that these logs were deleted; `write` writes that."""
        for key in keys:
            if self._rows.pop(key, None) is not None:
                self._pending.append(gone_line(key))

    def write(self) -> None:
        """Write the noted changes."""
        if not self._pending or self._file is None:
            return
        data = b"".join(self._pending)
        self._pending.clear()
        try:
            if self._failed:
                self._rewrite(self._bare_fs)
                return
            self._append(data)
        except OSError as error:
            self._warn_once(error)
            return
        if self._next is not None:
            self._since_next.append(data)
        elif self._appended > self._limit:
            self._make_snapshot()
        self._sync_later()

    def close(self, *, clean: bool) -> None:
        """Close the file. With `clean` it becomes a snapshot on stable storage, and OSError is raised if that fails."""
        self._timer.stop()
        try:
            if clean and self._file is not None:
                self._write_snapshot(self._fs)
            else:
                self.write()
        finally:
            for file in (self._file, self._next):
                if file is not None:
                    file.close()
            self._file = self._next = None

    def _append(self, data: bytes) -> None:
        assert self._file is not None
        self._file.append([data])
        self._appended += len(data)

    def _sync(self) -> None:
        """Sync the written lines to stable storage, off the loop.

        If a sync fails, no later one writes the same bytes: then the file is rewritten, until that succeeds.
        """
        self._timer.stop()
        if self._file is None:
            return
        if not self._failed:
            on_done = partial(self._synced, self._file, self._appended)
            self._fs.sync_soon([self._file], on_done, folders=[self._data_dir], bulk=True)
            return
        try:
            self._rewrite(self._bare_fs)
        except OSError as error:
            self._not_synced(error)

    def _synced(self, file: File, size: int, errors: SyncErrors) -> None:
        """Add the line that the file's first `size` bytes are on stable storage, unless another file has taken its
        place.
        """
        if self._file is None:
            return
        if errors:
            self._not_synced(next(iter(errors.values())))
        elif file is self._file and not self._failed:
            try:
                self._append(synced_line(size))
            except OSError as error:
                self._not_synced(error)

    def _not_synced(self, error: OSError) -> None:
        self._warn_once(error)
        self._sync_later()

    def _sync_later(self) -> None:
        if self._timer.due_ms is None:
            self._timer.after(SYNC_DELAY_MS, self._sync)

    def _warn_once(self, error: OSError) -> None:
        if not self._failed:
            logger.warning("%s: not written, a start will know less of what was promised: %s", self._path, error)
        self._failed = True

    def _rewrite(self, fs: Fs) -> None:
        """Write a new file at once. Raise OSError if that fails."""
        self._write_snapshot(fs)
        if self._next is not None:  # the next snapshot lacks the lines written just now
            self._next.close()
            self._next = None
        self._failed = False
        old, self._file = self._file, self._bare_fs.open(self._path)
        if old is not None:
            old.close()
        self._appended = self._file.size()
        self._limit = max(LEAST_APPENDED_BYTES, 3 * self._appended)

    def _write_snapshot(self, fs: Fs) -> None:
        self._pending.clear()
        fs.write_atomic(self._path, snapshot(self._fs.boot_id(), self._rows), sync=True)

    def _make_snapshot(self) -> None:
        """Write a new file off the loop, while changes are still written to the old one as well."""
        path = f"{self._path}.new"
        try:
            with suppress(FileNotFoundError):
                self._fs.remove(path)
            file = self._bare_fs.open(path, create=True)
        except OSError as error:
            logger.warning("%s: no new snapshot: %s", path, error)
            self._limit *= 2
            return
        self._next, self._since_next = file, []
        try:
            file.append([snapshot(self._fs.boot_id(), self._rows)])
        except OSError as error:
            self._end_snapshot(file, error)
            return
        self._fs.sync_soon(
            [file], lambda errors: self._end_snapshot(file, next(iter(errors.values()), None)), bulk=True
        )

    def _end_snapshot(self, file: File, error: OSError | None) -> None:
        if self._next is not file:
            return  # closed meanwhile
        self._next = None
        try:
            if error is not None:
                raise error
            if self._since_next:
                file.append([b"".join(self._since_next)])
            self._bare_fs.rename(f"{self._path}.new", self._path)
        except OSError as failure:
            logger.warning("%s.new: %s", self._path, failure)
            file.close()
            self._limit *= 2
            return
        old, self._file = self._file, file
        if old is not None:
            old.close()
        self._appended = file.size()
        self._limit = max(LEAST_APPENDED_BYTES, 3 * self._appended)
        if self._since_next:  # these lines may have been synced in the old file, but not in this one
            self._sync()
