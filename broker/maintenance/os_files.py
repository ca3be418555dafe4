"""The operating system's files for maintenance: opened only for reading; a data folder's lock; a copy of its
database.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from shareq.broker.data_folder.sqlite_record import META_DB_FILE, SqliteRecord
from shareq.broker.foundation.environment import File
from shareq.broker.foundation.os_fs import OsFs
from shareq.broker.maintenance.errors import MaintenanceError

_LOCK_FILE: Final = ".lock"
_COPIED: Final = (META_DB_FILE, f"{META_DB_FILE}-wal")


class _ReadOnlyFile:
    """An open file that cannot be written."""

    def __init__(self, path: str) -> None:
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        self._path = path

    @property
    def path(self) -> str:
        return self._path

    def size(self) -> int:
        return os.fstat(self._fd).st_size

    def read_at(self, position: int, size: int) -> bytes:
        return os.pread(self._fd, size, position)

    read_cached = read_at

    def close(self) -> None:
        os.close(self._fd)

    def append(self, buffers: Sequence[bytes | bytearray | memoryview]) -> None:
        raise OSError(errno.EROFS, "opened for reading", self._path)

    def truncate(self, size: int) -> None:
        raise OSError(errno.EROFS, "opened for reading", self._path)

    def sync(self) -> None:
        raise OSError(errno.EROFS, "opened for reading", self._path)


class ReadOnlyFs(OsFs):
    """The operating system's file system, with files opened only for reading."""

    def __init__(self) -> None:
        super().__init__(lambda call: call())

    def open(self, path: str, *, create: bool = False) -> File:
        """Open a file for reading. Raise OSError if `create` is True."""
        if create:
            raise OSError(errno.EROFS, "opened for reading", path)
        return _ReadOnlyFile(path)


@contextmanager
def lock_for_maintenance(data_dir: str) -> Iterator[None]:
    """Keep brokers out inside this block. No file is created. Raise MaintenanceError if a broker uses the folder."""
    try:
        fd = os.open(f"{data_dir}/{_LOCK_FILE}", os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        yield
        return
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise MaintenanceError(
            f"{data_dir}: a broker is using it; stop it first, or check a backup of it: shareq backup, shareq restore",
            usage=True,
        ) from error
    finally:
        os.close(fd)


@contextmanager
def copied_database(data_dir: str) -> Iterator[Callable[[], SqliteRecord]]:
    """Copy `meta.db` to another place for this block, because SQLite changes a database's files even when it only
    reads.
    """
    with tempfile.TemporaryDirectory(prefix="shareq-") as folder:
        for name in _COPIED:
            if os.path.isfile(f"{data_dir}/{name}"):
                shutil.copyfile(f"{data_dir}/{name}", f"{folder}/{name}")
        record = SqliteRecord(f"{folder}/{META_DB_FILE}", "copy")
        try:
            yield lambda: record
        finally:
            record.close()
