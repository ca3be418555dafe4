"""The only access to time, chance and disk.

Production passes the monotonic clock, a generator seeded by the operating system, and `OsFs`; the simulation passes
a virtual clock, `random.Random(seed)` and an in-memory disk. No other part of the broker may use these three in
another way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Final, NamedTuple, Protocol

from shareq.broker.foundation.turn_budget import TurnBudget


class TimerHandle(Protocol):
    """A call that has been scheduled and not yet made."""

    def cancel(self) -> None:
        """Cancel the call. This has no effect if it was made or cancelled already."""


class Clock(Protocol):
    """The time, and calls at a later time. All calls run on the thread of the broker's loop."""

    @property
    def stands_still(self) -> bool:
        """True if no time passes while code runs, so that work is counted instead of timed."""

    def wall_ms(self) -> int:
        """Return milliseconds since the epoch, which may jump. They are only for timestamps of records, and for
        dates set by others.
        """

    def now_ms(self) -> int:
        """Return monotonic milliseconds from an arbitrary start, for every deadline."""

    def now_ns(self) -> int:
        """Return monotonic nanoseconds from another arbitrary start, finer than `now_ms`, for measuring durations."""

    def call_soon(self, callback: Callable[[], None]) -> None:
        """Call `callback` in the next loop tick, after everything that is ready now."""

    def call_at(self, when_ms: int, callback: Callable[[], None]) -> TimerHandle:
        """Call `callback` at or after `when_ms` on the scale of `now_ms`."""


class File(Protocol):
    """One open file. Positions are bytes from its start."""

    @property
    def path(self) -> str: ...

    def size(self) -> int: ...

    def append(self, buffers: Sequence[bytes | bytearray | memoryview]) -> None:
        """Write all buffers at the end (one vectored write where the platform has it).

        Raise OSError if not everything was written; the end of the file is then undefined, and the caller must
        truncate it.
        """

    def read_at(self, position: int, size: int) -> bytes:
        """Return up to `size` bytes from `position`, fewer only at the end of the file. May wait for the disk."""

    def read_cached(self, position: int, size: int) -> bytes | None:
        """Return the same bytes without waiting for the disk; None if some of them are not in memory.

        If the system does not report what is in memory, the call waits.
        """

    def truncate(self, size: int) -> None: ...

    def sync(self) -> None:
        """Return when every byte written before is on stable storage (fdatasync)."""

    def close(self) -> None: ...


SyncErrors = Mapping[str, OSError]
"""Errors by the path of the file or folder that could not be synced."""


class DiskSpace(NamedTuple):
    """A file system: its size, and the bytes that this process may still write."""

    total_bytes: int
    usable_bytes: int


class Fs(Protocol):
    """A file system. Paths are '/'-separated strings; errors are OSError."""

    def open(self, path: str, *, create: bool = False) -> File:
        """Open a file for reading and appending. Raise FileNotFoundError if it is missing and `create` is False."""

    def read_bytes(self, path: str) -> bytes: ...

    def read_bytes_cached(self, path: str) -> bytes | None:
        """Return a file's content without waiting for the disk; None as `File.read_cached`."""

    def load_soon(
        self, path: str, position: int, size: int, on_done: Callable[[OSError | None], None], *, ahead: bool = False
    ) -> None:
        """Read bytes of a file into memory, off the loop; then call back on the loop with the error, if any.

        `read_cached` returns them then, unless the memory was needed otherwise. Reads with `ahead` come after all
        others.
        """

    def write_atomic(self, path: str, data: bytes, *, sync: bool = False) -> None:
        """Replace the file's content by a rename of a temporary file. With `sync`, content and name are on stable
        storage afterwards.
        """

    def exists(self, path: str) -> bool: ...

    def is_folder(self, path: str) -> bool:
        """Return True if the path itself is a folder. A symbolic link is not, whatever its target."""

    def is_file(self, path: str) -> bool:
        """Return True if the path itself is an ordinary file. A symbolic link is not."""

    def list_dir(self, path: str) -> list[str]:
        """Return the names in a folder, sorted."""

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
        """Sync everything that was written to the file system of a folder, including names.

        Raise OSError if that failed. Return False, with nothing done, on a system without such a call.
        """

    def allocate(self, path: str, size: int) -> None:
        """Reserve blocks for at least `size` bytes of a file, which is created if it is missing.

        Nothing is synced, and the content is undefined. After an OSError the file has its old size.
        """

    def disk_space(self, path: str) -> DiskSpace:
        """Return the space of the file system that holds a file or folder."""

    def lock(self, path: str) -> Callable[[], None]:
        """Lock a file (created if missing) for this process; return the function that releases it. Raise
        BlockingIOError if it is locked by another process.
        """

    def boot_id(self) -> str:
        """Return an id of the machine's present boot: a reboot changes it, the end of a process does not.

        Return "" if the id is unknown.
        """

    def sync_soon(
        self,
        files: Sequence[File],
        on_done: Callable[[SyncErrors], None],
        *,
        folders: Sequence[str] = (),
        bulk: bool = False,
    ) -> None:
        """Sync the files, and the creations, renames and removals in the folders, off the loop and in any order.

        Then call `on_done` on the loop with the errors (group commit). Syncs with `bulk` come after all others.
        """


_DASH: Final = 62  # in base64 for URLs


class Environment:
    """A broker's access to the outside world.

    `secrets` is the generator of secrets; a simulation uses `rng`. `budget` measures the turns of the clock's loop.
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
        """Return a copy of the environment with another file system."""
        return Environment(self.clock, self.rng, fs, self.secrets, budget=self.budget)

    def secret_bytes(self, count: int) -> bytes:
        """Return random bytes that cannot be guessed from earlier ones."""
        return (self.secrets or self.rng).randbytes(count)

    def random_uuid(self) -> bytes:
        """Return 16 random bytes as a version 4 UUID; never the zero UUID, and never one whose base64 text begins
        with "-".
        """
        raw = bytearray(self.rng.randbytes(16))
        if raw[0] >> 2 == _DASH:
            raw[0] ^= 0x80
        raw[6] = (raw[6] & 0x0F) | 0x40
        raw[8] = (raw[8] & 0x3F) | 0x80
        return bytes(raw)
