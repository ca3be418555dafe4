"""The faults that `MemFs.fail` may be set to."""

from __future__ import annotations

import errno
from collections.abc import Callable

Failing = Callable[[str, str], OSError | None]


def broken(part: str) -> Failing:
    """Writes to files whose path has that in it fail."""
    return lambda kind, path: OSError(errno.EIO, "broken", path) if kind == "write" and part in path else None


def second_write_broken(part: str) -> Failing:
    """The second of those writes fails, no other."""
    every = broken(part)
    writes = 0

    def second(kind: str, path: str) -> OSError | None:
        nonlocal writes
        error = every(kind, path)
        writes += error is not None
        return error if writes == 2 else None

    return second
