"""The broker of a soak: a file controls its wall clock and its disk, and it may have a planted fault.

`python -m tests.campaign.soak.planted serve ...` with the file's path in SHAREQ_SOAK, and a fault's name in
SHAREQ_PLANTED. The file has three numbers (`Levers`): two that the broker reads each time it asks for the time and each
time it syncs, and one that it writes: how long its loop has waited for the disk.
"""

from __future__ import annotations

import mmap
import os
import threading
import time
from collections.abc import Callable, Sequence
from enum import Enum
from functools import wraps
from pathlib import Path
from struct import Struct
from typing import Any, Final

LEVERS: Final = "SHAREQ_SOAK"
FAULT: Final = "SHAREQ_PLANTED"
_NUMBERS: Final = Struct("<qqq")
_ONE: Final = Struct("<q")
_DISK_AT: Final = 16
LEAKED_A_SECOND: Final = 2_000_000


class Fault(Enum):
    LEAK = "writes to logs leave memory behind, 2 MB a second"
    DESCRIPTOR = "writes to logs leave files open, three a second at most"
    STALL = "a write to a log holds the loop for 0.5 s, every two seconds"
    LOST = "some records are answered, and others stand in their place"


_EVERY_S: Final = {Fault.LEAK: 0.1, Fault.DESCRIPTOR: 0.3, Fault.STALL: 2.0}


class Levers:
    """The control file: the wall clock's offset and a sync's extra time in ms, the loop's wait for the disk in ns."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(bytes(_NUMBERS.size))
        with open(path, "r+b") as file:
            self._map = mmap.mmap(file.fileno(), _NUMBERS.size)

    @property
    def clock_ms(self) -> int:
        return int(_NUMBERS.unpack_from(self._map)[0])

    @property
    def sync_ms(self) -> int:
        return int(_NUMBERS.unpack_from(self._map)[1])

    @property
    def disk_ns(self) -> int:
        return int(_NUMBERS.unpack_from(self._map)[2])

    def set_disk_ns(self, value: int) -> None:
        _ONE.pack_into(self._map, _DISK_AT, value)

    def set(self, *, clock_ms: int | None = None, sync_ms: int | None = None) -> None:
        clock = self.clock_ms if clock_ms is None else clock_ms
        sync = self.sync_ms if sync_ms is None else sync_ms
        _ONE.pack_into(self._map, 0, clock)
        _ONE.pack_into(self._map, 8, sync)


def _obey(levers: Levers) -> None:
    from shareq.broker.foundation import os_fs
    from shareq.broker.foundation.os_clock import LoopClock

    plain_sync: Callable[[int], None] = vars(os_fs)["_sync_data"]

    def wall_ms(_clock: LoopClock) -> int:
        return time.time_ns() // 1_000_000 + levers.clock_ms

    def sync_data(fd: int) -> None:
        if levers.sync_ms:
            time.sleep(levers.sync_ms / 1000)
        plain_sync(fd)

    _replace(LoopClock, "wall_ms", wall_ms)
    _replace(os_fs, "_sync_data", sync_data)


class DiskWait:
    """A meter of the time for which the thread that created it waits for the disk.

    That is the duration of calls, less the time in which the thread worked or waited for a processor.
    """

    def __init__(self, levers: Levers, clock_ns: Callable[[], int] = time.monotonic_ns) -> None:
        self._levers = levers
        self._clock_ns = clock_ns
        self._thread = threading.get_ident()
        self._schedule = os.open(f"/proc/self/task/{threading.get_native_id()}/schedstat", os.O_RDONLY)
        self._inside = False
        self._waited_ns = 0

    def measured(self, plain: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function whose calls in the thread are measured, without the measured functions that it calls."""

        @wraps(plain)
        def call(*arguments: Any, **named: Any) -> Any:
            if self._inside or threading.get_ident() != self._thread:
                return plain(*arguments, **named)
            self._inside = True
            began_ns, worked_ns = self._clock_ns(), self.busy_ns()
            try:
                return plain(*arguments, **named)
            finally:
                self._inside = False
                self._waited_ns += max(0, self._clock_ns() - began_ns - (self.busy_ns() - worked_ns))
                self._levers.set_disk_ns(self._waited_ns)

        return call

    def busy_ns(self) -> int:
        worked, waited, _ = os.pread(self._schedule, 100, 0).split()
        return int(worked) + int(waited)


def measure_disk(levers: Levers) -> None:
    """Measure every call of the broker that touches the disk in the calling thread, syncs and commits of metadata
    included.
    """
    from shareq.broker.foundation.os_fs import OsFile, OsFs
    from shareq.broker.metadata.sqlite import SqliteMetaDb

    disk = DiskWait(levers)
    for owner, names in (
        (OsFile, ("append", "read_at", "truncate", "sync", "close")),
        (OsFs, ("open", "read_bytes", "write_atomic", "list_dir", "make_dirs", "rename", "remove", "remove_dir")),
        (OsFs, ("sync_all", "allocate", "disk_space", "sync_dir")),
        (SqliteMetaDb, ("commit",)),
    ):
        for name in names:
            _replace(owner, name, disk.measured(getattr(owner, name)))


def _plant(fault: Fault) -> None:
    from shareq.broker.foundation.os_fs import OsFile

    plain: Callable[[OsFile, Sequence[Any]], None] = OsFile.append
    kept: list[Any] = []
    last_s = time.monotonic()

    def append(file: OsFile, buffers: Sequence[Any]) -> None:
        nonlocal last_s
        passed_s = time.monotonic() - last_s
        if fault is Fault.LOST:
            if "/plain-" in file.path and file.path.endswith(".log"):
                buffers = [swapped(b"".join(map(bytes, buffers)))]
        elif passed_s > _EVERY_S[fault]:
            last_s += passed_s
            if fault is Fault.LEAK:
                kept.append(os.urandom(int(passed_s * LEAKED_A_SECOND)))
            elif fault is Fault.DESCRIPTOR:
                kept.append(os.open(file.path, os.O_RDONLY))
            else:
                time.sleep(0.5)
        plain(file, buffers)

    _replace(OsFile, "append", append)


def swapped(data: bytes) -> bytes:
    """Return the batches with the plain producer's values replaced by others of the same size, and correct CRCs."""
    from shareq.protocol.records.checksum import crc32c

    written, at = bytearray(data), 0
    while at + 12 <= len(data):
        end = at + 12 + int.from_bytes(data[at + 8 : at + 12], "big")
        body = data[at + 21 : end].replace(b"plain.", b"ghost.")
        written[at + 17 : at + 21] = crc32c(body).to_bytes(4, "big")
        written[at + 21 : end] = body
        at = end
    return bytes(written)


def _replace(owner: object, name: str, value: object) -> None:
    assert hasattr(owner, name), f"{owner} has no {name}: it has to be planted elsewhere"
    setattr(owner, name, value)


if __name__ == "__main__":
    _levers = Levers(Path(os.environ[LEVERS]))
    _obey(_levers)
    measure_disk(_levers)
    if FAULT in os.environ:
        _plant(Fault[os.environ[FAULT]])
    from shareq.ops.cli.main import main

    main()
