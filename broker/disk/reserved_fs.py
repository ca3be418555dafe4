"""A file system whose writes to a full disk use the reserve.

If a write fails for lack of room, it is undone, the part of the reserve that its purpose may use is freed (`use_of`
in `policy`), and the write is repeated. Clients' records get nothing from the reserve: writes to their files are
passed on unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from shareq.broker.disk.policy import Use, is_full, use_of
from shareq.broker.disk.reserve import Reserve
from shareq.broker.foundation.environment import DiskSpace, File, Fs, SyncErrors

T = TypeVar("T")


class _ReservedFile:
    """An open file whose appends may use the reserve."""

    __slots__ = ("_reserve", "_use", "inner", "read_at", "read_cached")

    def __init__(self, inner: File, use: Use, reserve: Reserve) -> None:
        self.inner = inner
        self.read_at = inner.read_at
        self.read_cached = inner.read_cached
        self._use = use
        self._reserve = reserve

    @property
    def path(self) -> str:
        return self.inner.path

    def size(self) -> int:
        return self.inner.size()

    def append(self, buffers: Sequence[bytes | bytearray | memoryview]) -> None:
        before = self.inner.size()
        try:
            self.inner.append(buffers)
        except OSError as error:
            if not is_full(error) or not self._reserve.give_up(self._use):
                raise
            self.inner.truncate(before)
            self.inner.append(buffers)

    def truncate(self, size: int) -> None:
        self.inner.truncate(size)

    def sync(self) -> None:
        self.inner.sync()

    def close(self) -> None:
        self.inner.close()


class ReservedFs:
    """An `Fs` over another one, for paths in one data folder. Calls for other paths are passed on unchanged."""

    def __init__(self, inner: Fs, data_dir: str, reserve: Reserve) -> None:
        self._inner = inner
        self._prefix = f"{data_dir}/"
        self._reserve = reserve
        self.read_bytes = inner.read_bytes
        self.read_bytes_cached = inner.read_bytes_cached
        self.load_soon = inner.load_soon
        self.exists = inner.exists
        self.is_folder = inner.is_folder
        self.is_file = inner.is_file
        self.list_dir = inner.list_dir

    def open(self, path: str, *, create: bool = False) -> File:
        use = self._use_of(path)
        file = self._with_room(use, lambda: self._inner.open(path, create=create))
        return file if use is Use.CLIENTS else _ReservedFile(file, use, self._reserve)

    def write_atomic(self, path: str, data: bytes, *, sync: bool = False) -> None:
        self._with_room(self._use_of(path), lambda: self._inner.write_atomic(path, data, sync=sync))

    def make_dirs(self, path: str) -> None:
        self._with_room(self._use_of(f"{path}/"), lambda: self._inner.make_dirs(path))

    def rename(self, source: str, target: str) -> None:
        self._with_room(self._use_of(target), lambda: self._inner.rename(source, target))

    def remove(self, path: str) -> None:
        self._inner.remove(path)

    def remove_dir(self, path: str) -> None:
        self._inner.remove_dir(path)

    def sync_dir(self, path: str) -> None:
        self._inner.sync_dir(path)

    def sync_all(self, path: str) -> bool:
        return self._inner.sync_all(path)

    def allocate(self, path: str, size: int) -> None:
        self._inner.allocate(path, size)

    def disk_space(self, path: str) -> DiskSpace:
        return self._inner.disk_space(path)

    def lock(self, path: str) -> Callable[[], None]:
        return self._inner.lock(path)

    def boot_id(self) -> str:
        return self._inner.boot_id()

    def sync_soon(
        self,
        files: Sequence[File],
        on_done: Callable[[SyncErrors], None],
        *,
        folders: Sequence[str] = (),
        bulk: bool = False,
    ) -> None:
        own = [file.inner if isinstance(file, _ReservedFile) else file for file in files]
        self._inner.sync_soon(own, on_done, folders=folders, bulk=bulk)

    def _use_of(self, path: str) -> Use:
        return use_of(path.removeprefix(self._prefix)) if path.startswith(self._prefix) else Use.CLIENTS

    def _with_room(self, use: Use, write: Callable[[], T]) -> T:
        try:
            return write()
        except OSError as error:
            if not is_full(error) or not self._reserve.give_up(use):
                raise
            return write()
