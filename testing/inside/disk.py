"""The system's files without waiting for the disk, and a file system that seems to be full."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shareq.broker.foundation.environment import DiskSpace, File, SyncErrors
from shareq.broker.foundation.os_fs import OsFile, OsFs


class _UnsyncedFile(OsFile):
    """A file whose content survives the end of the process, but no loss of power."""

    __slots__ = ()

    def sync(self) -> None:
        pass


class TestFs(OsFs):
    """The `Fs` of a test's broker. Unless `durable`, nothing is synced: a test's own folder need not survive a power
    loss.

    `full`: the file system reports that no byte is left, but still stores what the broker writes.
    """

    __test__ = False  # no class of tests

    def __init__(self, hand_back: Callable[[Callable[[], None]], object], *, durable: bool) -> None:
        super().__init__(hand_back)
        self._hand_to_loop = hand_back
        self._durable = durable
        self.full = False

    def open(self, path: str, *, create: bool = False) -> File:
        return super().open(path, create=create) if self._durable else _UnsyncedFile(path, create=create)

    def write_atomic(self, path: str, data: bytes, *, sync: bool = False) -> None:
        super().write_atomic(path, data, sync=sync and self._durable)

    def sync_dir(self, path: str) -> None:
        if self._durable:
            super().sync_dir(path)

    def sync_all(self, path: str) -> bool:
        return super().sync_all(path) if self._durable else True

    def sync_soon(
        self,
        files: Sequence[File],
        on_done: Callable[[SyncErrors], None],
        *,
        folders: Sequence[str] = (),
        bulk: bool = False,
    ) -> None:
        if self._durable:
            super().sync_soon(files, on_done, folders=folders, bulk=bulk)
        else:
            self._hand_to_loop(lambda: on_done({}))

    def disk_space(self, path: str) -> DiskSpace:
        space = super().disk_space(path)
        return space._replace(usable_bytes=0) if self.full else space
