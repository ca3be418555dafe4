"""Values for `MemFs.fail` that make writes fail."""

from __future__ import annotations

import errno
from collections.abc import Callable

Failing = Callable[[str, str], OSError | None]


def broken(part: str) -> Failing:
    """Return a fault that fails writes to files whose path contains `part`."""
    return lambda kind, path: OSError(errno.EIO, "broken", path) if kind == "write" and part in path else None


def second_write_broken(part: str) -> Failing:
    """Return a fault that fails only the second write to files whose path contains `part`."""
    every = broken(part)
    writes = 0

    def second(kind: str, path: str) -> OSError | None:
        nonlocal writes
        error = every(kind, path)
        writes += error is not None
        return error if writes == 2 else None

    return second
