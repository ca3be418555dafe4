"""The file system of the operating system. POSIX: vectored writes, positioned reads, fdatasync, flock."""

from __future__ import annotations

import fcntl
import os
import queue
import stat
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Final

from shareq.broker.foundation.environment import DiskSpace, File, SyncErrors
from shareq.broker.foundation.os_reads import Loads, SystemDoesNotSay, read_cached

Buffer = bytes | bytearray | memoryview

# They contain records and keys of users, which other users of the machine must not read.
_FOLDER_MODE: Final = 0o700
_FILE_MODE: Final = 0o600

_MAX_BUFFERS: Final = os.sysconf("SC_IOV_MAX") if hasattr(os, "sysconf") else 16
_TEMPORARY_SUFFIX: Final = ".tmp"
_TEMPORARY_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
_SYNC_THREADS: Final = 4  # file systems write simultaneous syncs in one transaction, with one flush of the disk
_SLOW_SYNC_THREADS: Final = 64  # where the disk takes its time, as many files are synced at once
_SLOW_S: Final = 0.001  # a sync that takes longer is worth a thread
_sync_data: Final = getattr(os, "fdatasync", os.fsync)  # macOS has no fdatasync

_BOOT_ID_FILE: Final = "/proc/sys/kernel/random/boot_id"  # Linux


class OsFile:
    """One open file. Owned by the loop's thread; only its sync may run on another one."""

    __slots__ = ("_close_wanted", "_fd", "_path", "_says", "_size", "_syncs")

    def __init__(self, path: str, *, create: bool) -> None:
        flags = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | (os.O_CREAT if create else 0)
        self._fd = os.open(path, flags, _FILE_MODE)
        self._path = path
        self._size = os.fstat(self._fd).st_size
        self._syncs = 0  # under way on other threads
        self._close_wanted = False
        self._says = True  # the system says what is in memory, as far as is known

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
        """Continue after a partial write: more buffers than one call accepts, a signal, or a nearly full disk."""
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
        """Return up to `size` bytes from `position`, fewer only at the end of the file."""
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

    def read_cached(self, position: int, size: int) -> bytes | None:
        """Return the same bytes if the page cache has all of them, else None. If the system cannot report that, wait
        for the disk.
        """
        if self._says:
            try:
                return read_cached(self._fd, position, min(size, max(self._size - position, 0)))
            except SystemDoesNotSay:
                self._says = False
        return self.read_at(position, size)

    def truncate(self, size: int) -> None:
        os.ftruncate(self._fd, size)
        self._size = size

    def sync(self) -> None:
        _sync_data(self._fd)

    def close(self) -> None:
        """Close the file; during a sync, only when that has ended."""
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

    `hand_back` runs a call on the loop's thread, from any thread (`loop.call_soon_threadsafe`); the ends of
    background syncs are reported with it.
    """

    def __init__(self, hand_back: Callable[[Callable[[], None]], object]) -> None:
        self._urgent = _SyncThreads("shareq-sync", hand_back, _SYNC_THREADS, _SLOW_SYNC_THREADS)
        self._bulk = _SyncThreads("shareq-sync-bulk", hand_back, 1, 1)
        self._loads = Loads(hand_back)
        self._locks: dict[str, int] = {}  # descriptors by folder

    def open(self, path: str, *, create: bool = False) -> File:
        return OsFile(path, create=create)

    def read_bytes(self, path: str) -> bytes:
        with open(path, "rb", buffering=0) as file:
            return file.readall()

    def read_bytes_cached(self, path: str) -> bytes | None:
        """Return the content if the page cache has all of it, else None."""
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return read_cached(fd, 0, os.fstat(fd).st_size)
        except SystemDoesNotSay:
            return self.read_bytes(path)
        finally:
            os.close(fd)

    def load_soon(
        self, path: str, position: int, size: int, on_done: Callable[[OSError | None], None], *, ahead: bool = False
    ) -> None:
        """Have threads read the bytes into the page cache; see `Loads`."""
        self._loads.add(path, position, size, on_done, ahead=ahead)

    def write_atomic(self, path: str, data: bytes, *, sync: bool = False) -> None:
        """Replace the file's content; with `sync`, sync the content before the rename and the name after it."""
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
        """Call syncfs (Linux) on the descriptor of the folder's lock, if there is one: it reports errors since that
        was opened (5.8 and later).
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
        """Create a file if it is missing, and reserve blocks for `size` bytes; if the system cannot do that, write
        zeros.
        """
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
        reported = os.statvfs(path)
        return DiskSpace(reported.f_frsize * reported.f_blocks, reported.f_frsize * reported.f_bavail)

    def sync_dir(self, path: str) -> None:
        _sync_folder(path)

    def lock(self, path: str) -> Callable[[], None]:
        """Lock a file exclusively until it is released, or the process ends. Raise BlockingIOError if another
        process has the lock.
        """
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _FILE_MODE)
        try:
            # A user who can open it could hold the lock. Earlier releases allowed that; only the owner can change that.
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
        """Sync files and folders on other threads, several at once, then call `on_done` on the loop with the errors.

        With `bulk`, sync one after the other, so that other syncs find the disk less busy.
        """
        own = [file for file in files if isinstance(file, OsFile)]
        (self._bulk if bulk else self._urgent).sync(own, folders, on_done)

    def close(self) -> None:
        """End the worker threads when their jobs are done."""
        self._urgent.close()
        self._bulk.close()
        self._loads.close()


class _SyncJob:
    """The job of one `sync_soon`. Threads run its syncs one by one; it ends with the last of them."""

    __slots__ = ("_errors", "_files", "_left", "_lock", "_on_done", "syncs")

    def __init__(self, files: Sequence[OsFile], folders: Sequence[str], on_done: Callable[[SyncErrors], None]) -> None:
        self._files = files
        self._on_done = on_done
        self.syncs: list[tuple[str, Callable[[], None]]] = [(file.path, file.sync) for file in files]
        self.syncs += [(path, partial(_sync_folder, path)) for path in folders]
        self._left = len(self.syncs)
        self._errors: dict[str, OSError] = {}
        self._lock = threading.Lock()

    def run(self, path: str, sync: Callable[[], None]) -> bool:
        """Run one of the syncs; return True if it was the last to end."""
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
        """Report the end to the caller. Runs on the loop's thread."""
        for file in self._files:
            file.sync_ended()
        self._on_done(self._errors)


class _SyncThreads:
    """Threads that sync, each started when it is first needed: up to `few`, or up to `many` while the disk is slow.

    The loop's thread wakes only one thread; a thread that finds more work than its own sync wakes the next. Syncs
    that end while the loop is busy are handed back to it in one call.
    """

    def __init__(
        self,
        name: str,
        hand_back: Callable[[Callable[[], None]], object],
        few: int,
        many: int,
        now_s: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._name = name
        self._hand_back = hand_back
        self._few = few
        self._many = many
        self._now_s = now_s
        self._todo: deque[tuple[_SyncJob, str, Callable[[], None]]] = deque()
        self._wake: queue.SimpleQueue[bool] = queue.SimpleQueue()  # False: no more
        self._ended: deque[_SyncJob] = deque()
        self._lock = threading.Lock()
        self._awake = 0  # threads that are woken and have not found all work taken
        self._slow = False
        self._closed = False
        self._threads: list[threading.Thread] = []

    def sync(self, files: Sequence[OsFile], folders: Sequence[str], on_done: Callable[[SyncErrors], None]) -> None:
        job = _SyncJob(files, folders, on_done)
        if not job.syncs:
            self._hand_back(job.end)
            return
        for file in files:
            file.sync_begins()
        self._todo.extend((job, path, sync) for path, sync in job.syncs)
        self._wake_one()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            threads, self._threads = self._threads, []
        for _ in threads:
            self._wake.put(False)
        for thread in threads:
            thread.join()

    def _wake_one(self) -> None:
        with self._lock:
            if self._closed or self._awake >= (self._many if self._slow else self._few):
                return
            self._awake += 1
            if self._awake > len(self._threads):
                thread = threading.Thread(target=self._work, name=self._name, daemon=True)
                self._threads.append(thread)
                thread.start()
        self._wake.put(True)

    def _work(self) -> None:
        while self._wake.get():
            while (taken := self._take()) is not None:
                job, path, sync = taken
                if self._todo:
                    self._wake_one()
                began = self._now_s()
                ended = job.run(path, sync)
                self._slow = self._now_s() - began >= _SLOW_S
                if ended:
                    self._hand_back_ended(job)

    def _take(self) -> tuple[_SyncJob, str, Callable[[], None]] | None:
        """Return a sync to run; None if all are taken, after which this thread sleeps."""
        with self._lock:
            if self._todo:
                return self._todo.popleft()
            self._awake -= 1
            return None

    def _hand_back_ended(self, job: _SyncJob) -> None:
        with self._lock:
            self._ended.append(job)
            if len(self._ended) > 1:
                return  # the loop has been called, and takes this one, too
        with suppress(RuntimeError):  # the loop is closed: no caller waits any more
            self._hand_back(self._end)

    def _end(self) -> None:
        with self._lock:
            ended = list(self._ended)
            self._ended.clear()
        failure: Exception | None = None
        for job in ended:
            try:
                job.end()
            except Exception as error:
                failure = failure or error
        if failure is not None:
            raise failure


def open_to_others(path: str) -> str:
    """Return the mode of a folder, as chmod writes it, if other users than its owner and group may enter it;
    otherwise "". Raise OSError.
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
