"""The broker of a soak: its wall clock and its disk do what a file says, and it may have a planted fault.

`python -m tests.soak.planted serve ...` with the file's path in SHAREQ_SOAK, and a fault's name in SHAREQ_PLANTED. The
file has two numbers (`Levers`), which the broker reads each time it asks for the time and each time it syncs.
"""

from __future__ import annotations

import mmap
import os
import time
from collections.abc import Callable, Sequence
from enum import Enum
from pathlib import Path
from struct import Struct
from typing import Any, Final

LEVERS: Final = "SHAREQ_SOAK"
FAULT: Final = "SHAREQ_PLANTED"
_NUMBERS: Final = Struct("<qq")


class Fault(Enum):
    """What is wrong with the broker."""

    LEAK = "each write to a log leaves memory behind"
    DESCRIPTOR = "some writes to a log leave an open file behind"
    STALL = "some writes to a log hold the loop for 0.25 s"
    LOST = "some batches are answered and cannot be read"


class Levers:
    """The file: how far the broker's wall clock is off, in ms, and how much longer a sync takes, in ms."""

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

    def set(self, *, clock_ms: int | None = None, sync_ms: int | None = None) -> None:
        """Move one or both; the other stays."""
        clock = self.clock_ms if clock_ms is None else clock_ms
        sync = self.sync_ms if sync_ms is None else sync_ms
        _NUMBERS.pack_into(self._map, 0, clock, sync)


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


def _plant(fault: Fault) -> None:
    from shareq.broker.foundation.os_fs import OsFile

    plain: Callable[[OsFile, Sequence[Any]], None] = OsFile.append
    kept: list[Any] = []
    count = 0

    def append(file: OsFile, buffers: Sequence[Any]) -> None:
        nonlocal count
        count += 1
        if fault is Fault.LEAK:
            kept.append(bytearray(os.urandom(1 << 14)))
        elif fault is Fault.DESCRIPTOR and count % 100 == 0:
            kept.append(os.open(file.path, os.O_RDONLY))
        elif fault is Fault.STALL and count % 2_000 == 0:
            time.sleep(0.25)
        elif fault is Fault.LOST and count % 20 == 0 and "/plain-" in file.path and file.path.endswith(".log"):
            buffers = [hidden(b"".join(map(bytes, buffers)))]
        plain(file, buffers)

    _replace(OsFile, "append", append)


def hidden(batch: bytes) -> bytes:
    """The batch as one of control records, which no consumer sees, with a checksum that is right."""
    from shareq.protocol.records.checksum import crc32c

    body = bytearray(batch[21:])
    body[1] |= 0x20
    return batch[:17] + crc32c(bytes(body)).to_bytes(4, "big") + bytes(body)


def _replace(owner: object, name: str, value: object) -> None:
    assert hasattr(owner, name), f"{owner} has no {name}: it has to be planted elsewhere"
    setattr(owner, name, value)


if __name__ == "__main__":
    _obey(Levers(Path(os.environ[LEVERS])))
    if FAULT in os.environ:
        _plant(Fault[os.environ[FAULT]])
    from shareq.broker.cli import main

    main()
