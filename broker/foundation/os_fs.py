"""The file system of the operating system. POSIX: vectored writes, positioned reads, fdatasync, flock."""

from __future__ import annotations

import fcntl
import os
import queue
import stat
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Final

from shareq.broker.foundation.environment import DiskSpace, File, SyncErrors

Buffer = bytes | bytearray | memoryview

# Records and keys of users are in them: other users of the machine have no business there.
_FOLDER_MODE: Final = 0o700
_FILE_MODE: Final = 0o600

_MAX_BUFFERS: Final = os.sysconf("SC_IOV_MAX") if hasattr(os, "sysconf") else 16
_TEMPORARY_SUFFIX: Final = ".tmp"
_TEMPORARY_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
_SYNC_THREADS: Final = 4  # file systems write what is synced at once in one transaction, and flush the disk once for it
_sync_data: Final = getattr(os, "fdatasync", os.fsync)  # macOS has no fdatasync

_BOOT_ID_FILE: Final = "/proc/sys/kernel/random/boot_id"  # Linux


class OsFile:
    """One open file. Owned by the loop's thread; only its sync may run on another one."""

    __slots__ = ("_close_wanted", "_fd", "_path", "_size", "_syncs")

    def __init__(self, path: str, *, create: bool) -> None:
        flags = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | (os.O_CREAT if create else 0)
        self._fd = os.open(path, flags, _FILE_MODE)
        self._path = path
        self._size = os.fstat(self._fd).st_size
        self._syncs = 0  # under way on other threads
        self._close_wanted = False

    @property
    def path(self) -> str:
        return self._path

    def size(self) -> int:
        return self._size

    def append(self, buffers: Sequence[Buffer]) -> None:
        """Write all buffers at the end. After an OSError the end is undefined until `truncate`."""
        if len(buffers) == 1:
            total = len(buffers[0])
            written = os.write(self._fd, buffers[0])
        else:
            total = sum(map(len, buffers))
            written = os.writev(self._fd, buffers[:_MAX_BUFFERS])
        self._size += written
        if written < total:
            self._append_rest(buffers, written)

    def _append_rest(self, buffers: Sequence[Buffer], written: int) -> None:
        """Go on after a partial write: more buffers than one call takes, a signal, a disk that is nearly full."""
        left = [memoryview(buffer) for buffer in buffers]
        while True:
            while left and written >= len(left[0]):
                written -= len(left.pop(0))
            if not left:
                return
            left[0] = left[0][written:]
            written = os.writev(self._fd, left[:_MAX_BUFFERS])
            self._size += written

    def read_at(self, position: int, size: int) -> bytes:
        """Up to `size` bytes from `position`; shorter only at the end of the file."""
        data = os.pread(self._fd, size, position)
        if len(data) == size or not data:
            return data
        parts = [data]
        got = len(data)
        while got < size:
            part = os.pread(self._fd, size - got, position + got)
            if not part:
                break
            parts.append(part)
            got += len(part)
        return b"".join(parts)

    def truncate(self, size: int) -> None:
        os.ftruncate(self._fd, size)
        self._size = size

    def sync(self) -> None:
        _sync_data(self._fd)

    def close(self) -> None:
        """Close the file, but not under a sync: then when that is over."""
        if self._syncs:
            self._close_wanted = True
        elif self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def sync_begins(self) -> None:
        self._syncs += 1

    def sync_ended(self) -> None:
        self._syncs -= 1
        if self._close_wanted and not self._syncs:
            self._close_wanted = False
            self.close()


class OsFs:
    """`Fs` over the operating system.

    `hand_back` runs a call on the loop's thread, from any thread (`loop.call_soon_threadsafe`); syncs in the background
    end with it.
    """

    def __init__(self, hand_back: Callable[[Callable[[], None]], object]) -> None:
        self._urgent = _SyncThreads("shareq-sync", hand_back, _SYNC_THREADS)
        self._bulk = _SyncThreads("shareq-sync-bulk", hand_back, 1)
        self._locks: dict[str, int] = {}  # descriptors by folder

    def open(self, path: str, *, create: bool = False) -> File:
        """Open for reading and appending. FileNotFoundError when absent and not `create`."""
        return OsFile(path, create=create)

    def read_bytes(self, path: str) -> bytes:
        with open(path, "rb", buffering=0) as file:
            return file.readall()

    def write_atomic(self, path: str, data: bytes, *, sync: bool = False) -> None:
        """Replace the file's content; with `sync` durably, before the rename and after it."""
        temporary = path + _TEMPORARY_SUFFIX
        fd = os.open(temporary, _TEMPORARY_FLAGS, _FILE_MODE)
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(fd, view) :]
            if sync:
                os.fsync(fd)
        except OSError:
            with suppress(OSError):
                os.unlink(temporary)
            raise
        finally:
            os.close(fd)
        os.replace(temporary, path)
        if sync:
            self.sync_dir(os.path.dirname(path) or ".")

    def exists(self, path: str) -> bool:
        return os.path.lexists(path)

    def is_folder(self, path: str) -> bool:
        return _has_type(path, stat.S_ISDIR)

    def is_file(self, path: str) -> bool:
        return _has_type(path, stat.S_ISREG)

    def list_dir(self, path: str) -> list[str]:
        """Names in a folder, sorted."""
        return sorted(os.listdir(path))

    def make_dirs(self, path: str) -> None:
        os.makedirs(path, mode=_FOLDER_MODE, exist_ok=True)

    def rename(self, source: str, target: str) -> None:
        os.replace(source, target)

    def remove(self, path: str) -> None:
        os.unlink(path)

    def remove_dir(self, path: str) -> None:
        os.rmdir(path)

    def sync_all(self, path: str) -> bool:
        """Linux: syncfs, on the descriptor of the folder's lock if there is one: it reports errors since it was
        opened (5.8 and later).
        """
        try:
            import ctypes  # at a stop alone

            syncfs = ctypes.CDLL(None, use_errno=True).syncfs
        except (ImportError, OSError, AttributeError):
            return False
        fd = self._locks.get(path)
        own = os.open(path, os.O_RDONLY | os.O_CLOEXEC) if fd is None else None
        try:
            if syncfs(own if own is not None else fd):
                code = ctypes.get_errno()
                raise OSError(code, os.strerror(code), path)
        finally:
            if own is not None:
                os.close(own)
        return True

    def allocate(self, path: str, size: int) -> None:
        """Have a file with blocks of its own up to `size` bytes. Where the system cannot promise them, with zeros."""
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _FILE_MODE)
        try:
            before = os.fstat(fd).st_size
            if size > before:
                try:
                    _allocate(fd, before, size - before)
                except OSError:
                    os.ftruncate(fd, before)
                    raise
        finally:
            os.close(fd)

    def disk_space(self, path: str) -> DiskSpace:
        """Return the space of the file system that holds a file or folder."""
        reported = os.statvfs(path)
        return DiskSpace(reported.f_frsize * reported.f_blocks, reported.f_frsize * reported.f_bavail)

    def sync_dir(self, path: str) -> None:
        _sync_folder(path)

    def lock(self, path: str) -> Callable[[], None]:
        """Take an exclusive lock; it ends with the process in any case. BlockingIOError if a process has it."""
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _FILE_MODE)
        try:
            # A user who may open it could hold the lock. Former releases made it so; whose it is not may not change it.
            with suppress(PermissionError):
                os.fchmod(fd, _FILE_MODE)
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(fd)
            raise

        folder = os.path.dirname(path)
        self._locks[folder] = fd

        def release() -> None:
            self._locks.pop(folder, None)
            os.close(fd)

        return release

    def boot_id(self) -> str:
        """Return the kernel's boot id; "" on systems other than Linux."""
        try:
            return self.read_bytes(_BOOT_ID_FILE).decode("ascii").strip()
        except (OSError, ValueError):
            return ""

    def sync_soon(
        self,
        files: Sequence[File],
        on_done: Callable[[SyncErrors], None],
        *,
        folders: Sequence[str] = (),
        bulk: bool = False,
    ) -> None:
        """Sync files and folders on other threads, several at once, then call back on the loop with what failed.

        With `bulk` one after the other: that leaves the disk to what is not.
        """
        own = [file for file in files if isinstance(file, OsFile)]
        (self._bulk if bulk else self._urgent).sync(own, folders, on_done)

    def close(self) -> None:
        """End the worker threads when their jobs are done."""
        self._urgent.close()
        self._bulk.close()


class _SyncJob:
    """The job of one `sync_soon`. Threads take its syncs one by one; it ends with the last of them."""

    __slots__ = ("_errors", "_files", "_left", "_lock", "_on_done", "_syncs")

    def __init__(self, files: Sequence[OsFile], folders: Sequence[str], on_done: Callable[[SyncErrors], None]) -> None:
        self._files = files
        self._on_done = on_done
        self._syncs: deque[tuple[str, Callable[[], None]]] = deque((file.path, file.sync) for file in files)
        self._syncs.extend((path, partial(_sync_folder, path)) for path in folders)
        self._left = len(self._syncs)
        self._errors: dict[str, OSError] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """Return the number of syncs that no thread has taken yet."""
        return len(self._syncs)

    def run_one(self) -> bool:
        """Make one of the syncs, unless all are taken; True if it was the last to end."""
        try:
            path, sync = self._syncs.popleft()
        except IndexError:
            return False
        error = None
        try:
            sync()
        except OSError as failure:
            error = failure
        with self._lock:
            if error is not None:
                self._errors[path] = error
            self._left -= 1
            return self._left == 0

    def end(self) -> None:
        """Report the end. Runs on the loop's thread."""
        for file in self._files:
            file.sync_ended()
        self._on_done(self._errors)


class _SyncThreads:
    """Up to `most` threads that sync, each there from the first job on that has work for it.

    A thread that finds more to do in a job than its own share wakes the next one: the loop's thread wakes one alone.
    """

    def __init__(self, name: str, hand_back: Callable[[Callable[[], None]], object], most: int) -> None:
        self._name = name
        self._hand_back = hand_back
        self._most = most
        self._jobs: queue.SimpleQueue[_SyncJob | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []

    def sync(self, files: Sequence[OsFile], folders: Sequence[str], on_done: Callable[[SyncErrors], None]) -> None:
        job = _SyncJob(files, folders, on_done)
        if not len(job):
            self._hand_back(job.end)
            return
        for file in files:
            file.sync_begins()
        while len(self._threads) < min(len(job), self._most):
            thread = threading.Thread(target=self._work, name=self._name, daemon=True)
            self._threads.append(thread)
            thread.start()
        self._jobs.put(job)

    def close(self) -> None:
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join()
        self._threads.clear()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            if len(job) > 1:
                self._jobs.put(job)
            while len(job):
                if job.run_one():
                    with suppress(RuntimeError):  # the loop is closed: no caller waits any more
                        self._hand_back(job.end)


def open_to_others(path: str) -> str:
    """Return the mode of a folder that users may enter who are neither its owner nor of its group, as chmod writes it;
    "" where they may not. OSError.
    """
    mode = stat.S_IMODE(os.stat(path).st_mode)
    return f"{mode:04o}" if mode & 0o007 and os.name == "posix" else ""


def _sync_folder(path: str) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _allocate(fd: int, position: int, size: int) -> None:
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(fd, position, size)
        return
    zeros = bytes(65_536)  # macOS
    for at in range(position, position + size, len(zeros)):
        os.pwrite(fd, zeros[: position + size - at], at)


def _has_type(path: str, is_type: Callable[[int], bool]) -> bool:
    try:
        return is_type(os.lstat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
