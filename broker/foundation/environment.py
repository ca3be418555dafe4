"""The only door to time, chance and disk.

Production passes the monotonic clock, a seeded-by-the-OS generator and `OsFs`; the simulation passes a virtual clock,
`random.Random(seed)` and an in-memory disk. Nothing else in the broker may ask for any of the three.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Final, NamedTuple, Protocol

from shareq.broker.foundation.turn_budget import TurnBudget


class TimerHandle(Protocol):
    """A call that has been scheduled and not yet made."""

    def cancel(self) -> None:
        """Drop the call; harmless when it has been made or dropped already."""


class Clock(Protocol):
    """Time, and calls back at a time. One thread: every callback runs on the broker's loop."""

    @property
    def stands_still(self) -> bool:
        """Return whether no time passes while code runs: work is counted then, where it would be measured."""

    def wall_ms(self) -> int:
        """Milliseconds since the epoch, which may jump. Only for timestamps of records, and for dates set by others."""

    def now_ms(self) -> int:
        """Monotonic milliseconds from an arbitrary start. For every deadline."""

    def now_ns(self) -> int:
        """Monotonic nanoseconds from another arbitrary start, finer than `now_ms`. For measuring durations."""

    def call_soon(self, callback: Callable[[], None]) -> None:
        """Call back in the next loop tick, after everything that is ready now."""

    def call_at(self, when_ms: int, callback: Callable[[], None]) -> TimerHandle:
        """Call back at or after `when_ms` on the `now_ms` scale."""


class File(Protocol):
    """One open file. Positions are bytes from its start."""

    @property
    def path(self) -> str: ...

    def size(self) -> int: ...

    def append(self, buffers: Sequence[bytes | bytearray | memoryview]) -> None:
        """Write all buffers at the end (one vectored write where the platform has it).

        Raises OSError when not everything was written; the end of the file is then undefined and the caller truncates.
        """

    def read_at(self, position: int, size: int) -> bytes:
        """Up to `size` bytes from `position`; shorter only at the end of the file. May wait for the disk."""

    def read_cached(self, position: int, size: int) -> bytes | None:
        """Return the same without waiting for the disk; None if some of it is not in memory.

        If the system does not report what is in memory, the call waits.
        """

    def truncate(self, size: int) -> None: ...

    def sync(self) -> None:
        """Return when every byte written before is on stable storage (fdatasync)."""

    def close(self) -> None: ...


SyncErrors = Mapping[str, OSError]
"""The errors by the path of the file or folder that could not be synced."""


class DiskSpace(NamedTuple):
    """A file system: its size, and the bytes that this process may still write."""

    total_bytes: int
    usable_bytes: int


class Fs(Protocol):
    """A file system. Paths are '/'-separated strings; errors are OSError."""

    def open(self, path: str, *, create: bool = False) -> File:
        """Open for reading and appending. FileNotFoundError when absent and not `create`."""

    def read_bytes(self, path: str) -> bytes: ...

    def read_bytes_cached(self, path: str) -> bytes | None:
        """Return a file's content without waiting for the disk; None as `File.read_cached`."""

    def load_soon(
        self, path: str, position: int, size: int, on_done: Callable[[OSError | None], None], *, ahead: bool = False
    ) -> None:
        """Read bytes of a file into memory, off the loop; then call back on the loop with the error, if any.

        So `read_cached` gives them, unless the memory was needed otherwise. With `ahead`, whatever is not has
        precedence.
        """

    def write_atomic(self, path: str, data: bytes, *, sync: bool = False) -> None:
        """Replace the file's content: temporary file, then rename; `sync` makes content and rename durable first."""

    def exists(self, path: str) -> bool: ...

    def is_folder(self, path: str) -> bool:
        """Return True if the path itself is a folder. A symbolic link is none, whatever it points to."""

    def is_file(self, path: str) -> bool:
        """Return True if the path itself is an ordinary file. A symbolic link is none."""

    def list_dir(self, path: str) -> list[str]:
        """Names in a folder, sorted."""

    def make_dirs(self, path: str) -> None: ...

    def rename(self, source: str, target: str) -> None:
        """Rename a file or folder; an existing target file is replaced."""

    def remove(self, path: str) -> None:
        """Remove one file."""

    def remove_dir(self, path: str) -> None:
        """Remove an empty folder."""

    def sync_dir(self, path: str) -> None:
        """Make creations, renames and removals inside the folder durable."""

    def sync_all(self, path: str) -> bool:
        """Sync everything that was written to the file system of a folder, names included. OSError if that failed;
        False, with nothing done, on a system without such a call.
        """

    def allocate(self, path: str, size: int) -> None:
        """Reserve blocks for at least `size` bytes of a file, which is created if it is missing; not durable.

        Its content means nothing. After an OSError it is as long as before.
        """

    def disk_space(self, path: str) -> DiskSpace:
        """Return the space of the file system that holds a file or folder."""

    def lock(self, path: str) -> Callable[[], None]:
        """Lock a file (created if absent) for this process and return the release. BlockingIOError if it is taken."""

    def boot_id(self) -> str:
        """Names the time since the machine started: another one after a power loss, the same after a process was
        killed. Empty where that cannot be known.
        """

    def sync_soon(
        self,
        files: Sequence[File],
        on_done: Callable[[SyncErrors], None],
        *,
        folders: Sequence[str] = (),
        bulk: bool = False,
    ) -> None:
        """Sync the files, and the creations, renames and removals in the folders, off the loop and in any order; then
        call back on the loop with the error, if any (group commit). With `bulk`, whatever is not has precedence.
        """


_DASH: Final = 62  # in base64 for URLs


class Environment:
    """A broker's access to the outside world.

    `secrets` yields what must stay secret; a simulation uses `rng`. `budget` measures the turns of the clock's loop.
    """

    __slots__ = ("budget", "clock", "fs", "rng", "secrets")

    def __init__(
        self, clock: Clock, rng: Random, fs: Fs, secrets: Random | None = None, *, budget: TurnBudget | None = None
    ) -> None:
        self.clock: Final = clock
        self.rng: Final = rng
        self.fs: Final = fs
        self.secrets: Final = secrets
        self.budget: Final = budget or TurnBudget(clock)

    def with_fs(self, fs: Fs) -> Environment:
        """Return the environment over another file system."""
        return Environment(self.clock, self.rng, fs, self.secrets, budget=self.budget)

    def secret_bytes(self, count: int) -> bytes:
        """Random bytes that cannot be guessed, whatever has been seen of earlier ones."""
        return (self.secrets or self.rng).randbytes(count)

    def random_uuid(self) -> bytes:
        """16 random bytes as a version 4 UUID; never the zero UUID, nor one whose text, in base64, begins with "-"."""
        raw = bytearray(self.rng.randbytes(16))
        if raw[0] >> 2 == _DASH:
            raw[0] ^= 0x80
        raw[6] = (raw[6] & 0x0F) | 0x40
        raw[8] = (raw[8] & 0x3F) | 0x80
        return bytes(raw)
