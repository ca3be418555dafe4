"""The page cache: reads of what it contains, and threads that load missing parts into it.

Linux reports what is in it (`RWF_NOWAIT`: ext4, XFS, btrfs). Elsewhere reads wait for the disk.
"""

from __future__ import annotations

import errno
import os
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from io import BytesIO
from typing import Final

_NO_WAIT: Final = getattr(os, "RWF_NOWAIT", None) if hasattr(os, "preadv") else None
_UNKNOWN: Final = frozenset({errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL})
"""Errors of a file system, or a kernel, that cannot report what is in memory."""

_SENDS: Final = hasattr(os, "sendfile") and hasattr(os, "posix_fadvise")  # Linux; macOS sends to sockets alone

_THREADS: Final = 4
_AHEAD_THREADS: Final = 2  # more of them would only take the disk from reads that are waited for
_PIECE_BYTES: Final = 1024 * 1024
_SENT_BYTES: Final = 8 * 1024 * 1024


class SystemDoesNotSay(Exception):  # no error: reads wait there
    """Error: the system does not report which parts of a file are in memory."""


def read_cached(fd: int, position: int, size: int) -> bytes | None:
    """Return exactly these bytes of a file, all of which exist, if the page cache has them; else None.

    Raise SystemDoesNotSay, OSError.
    """
    if _NO_WAIT is None:
        raise SystemDoesNotSay
    buffer = BytesIO(_bytes_to_fill(size))  # not copied behind the read
    try:
        with buffer.getbuffer() as view:
            got = os.preadv(fd, (view,), position, _NO_WAIT)
    except BlockingIOError:
        return None
    except OSError as error:
        if error.errno in _UNKNOWN:
            raise SystemDoesNotSay from error
        raise
    return buffer.getvalue() if got == size else None


_FILLED_AT_ONCE: Final = 64 * 1024
"""The largest buffer that is made of zeros, in bytes.

Filling a larger one with zeros would take as long as reading into it.
"""


def _bytes_to_fill(size: int) -> bytes:
    """Return so many bytes of any content, to which there is no other reference."""
    return bytes(size) if size < _FILLED_AT_ONCE else _maker_of_bytes()(None, size)


@cache
def _maker_of_bytes() -> Callable[[None, int], bytes]:
    try:
        import ctypes

        make = ctypes.pythonapi.PyBytes_FromStringAndSize  # of no string: the bytes are for the caller to write
    except (ImportError, AttributeError):
        return lambda _none, size: bytes(size)
    make.restype = ctypes.py_object
    make.argtypes = (ctypes.c_void_p, ctypes.c_ssize_t)
    return make


class Loads:
    """Threads that read into the page cache. Each is started by a job for which no other thread is free.

    A thread opens the file by its name, so it does not depend on the loop's own descriptor; it keeps none of the
    bytes that it reads. `hand_back` runs a call on the loop's thread.
    """

    def __init__(self, hand_back: Callable[[Callable[[], None]], object]) -> None:
        self._hand_back = hand_back
        self._waited_for = _Readers("shareq-read", _THREADS)
        self._ahead = _Readers("shareq-read-ahead", _AHEAD_THREADS)

    def add(
        self, path: str, position: int, size: int, on_done: Callable[[OSError | None], None], *, ahead: bool
    ) -> None:
        """Read these bytes, or as many as exist, then call `on_done`."""
        (self._ahead if ahead else self._waited_for).put(partial(self._load, path, position, size, on_done))

    def close(self) -> None:
        """End the threads after the jobs that they have begun. Other jobs are dropped."""
        self._waited_for.close()
        self._ahead.close()

    def _load(self, path: str, position: int, size: int, on_done: Callable[[OSError | None], None]) -> None:
        failure: OSError | None = None
        try:
            load(path, position, size)
        except OSError as error:
            failure = error
        with suppress(RuntimeError):  # the loop is closed: no caller waits any more
            self._hand_back(partial(on_done, failure))


class _Readers:
    """Up to `most` threads that take jobs from one queue."""

    def __init__(self, name: str, most: int) -> None:
        self._name = name
        self._most = most
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._closed = False

    def put(self, job: Callable[[], None]) -> None:
        self._jobs.put(job)
        if len(self._threads) < self._most:
            thread = threading.Thread(target=self._work, name=self._name, daemon=True)
            self._threads.append(thread)
            thread.start()

    def close(self) -> None:
        self._closed = True
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join()
        self._threads.clear()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None and not self._closed:
            job()


def load(path: str, position: int, size: int) -> None:
    """Read these bytes of a file, or as many as it has, into the page cache. Raise OSError."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(fd, position, size, os.POSIX_FADV_WILLNEED)  # all at once, not piece by piece
        if not (_SENDS and _send_nowhere(fd, position, position + size)):
            end = position + size
            while position < end and (read := len(os.pread(fd, min(_PIECE_BYTES, end - position), position))):
                position += read
    finally:
        os.close(fd)


def _send_nowhere(fd: int, position: int, end: int) -> bool:
    """Have the system read these bytes without copying them. Return False if it cannot.

    This takes a tenth of the CPU time, and takes the interpreter's lock, for which the loop would wait, less often.
    """
    nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    try:
        while position < end and (sent := os.sendfile(nowhere, fd, position, min(_SENT_BYTES, end - position))):
            position += sent
    except OSError as error:
        if error.errno in _UNKNOWN:
            return False
        raise
    finally:
        os.close(nowhere)
    return True
