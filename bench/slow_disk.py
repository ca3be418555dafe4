"""`python -m bench.slow_disk serve ...`: shareq on a disk with slow reads, in whichever thread they are made.

Bytes that a file had when it was first seen must be read from the disk once, even if the page cache has them; a read
that includes such bytes takes longer.
"""

from __future__ import annotations

import errno
import os
import sys
import threading
import time
from typing import Any, Final

from shareq.__main__ import main

SLOW_S: Final = float(os.environ.get("SHAREQ_BENCH_SLOW_MS", "30")) / 1_000
BLOCK: Final = 128 * 1024

_pread, _preadv, _sendfile = os.pread, os.preadv, os.sendfile


class _Disk:
    """The blocks of each file that are on the disk alone."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cold: dict[tuple[int, int], set[int]] = {}

    def cold(self, fd: int, position: int, size: int, *, warm_now: bool) -> bool:
        """Return whether any of the bytes is only on the disk; with `warm_now` they are cached afterwards."""
        found = os.fstat(fd)
        with self._lock:
            blocks = self._cold.setdefault((found.st_dev, found.st_ino), set(range(found.st_size // BLOCK + 1)))
            wanted = blocks.intersection(range(position // BLOCK, (position + size) // BLOCK + 1))
            if warm_now:
                blocks -= wanted
            return bool(wanted)


_disk = _Disk()


def _slow_pread(fd: int, size: int, position: int) -> bytes:
    if _disk.cold(fd, position, size, warm_now=True):
        time.sleep(SLOW_S)
    return _pread(fd, size, position)


def _slow_preadv(fd: int, buffers: Any, position: int, flags: int = 0) -> int:
    if _disk.cold(fd, position, sum(len(each) for each in buffers), warm_now=False):
        raise BlockingIOError(errno.EAGAIN, "on the disk")
    return _preadv(fd, buffers, position, flags)


def _slow_sendfile(out_fd: int, in_fd: int, offset: int | None, count: int) -> int:
    assert offset is not None
    if _disk.cold(in_fd, offset, count, warm_now=True):
        time.sleep(SLOW_S)
    return _sendfile(out_fd, in_fd, offset, count)


if __name__ == "__main__":
    os.pread, os.preadv, os.sendfile = _slow_pread, _slow_preadv, _slow_sendfile
    sys.exit(main(prog_name="shareq"))
