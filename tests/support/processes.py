"""Other processes of this machine, as Linux shows them."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Final

_ENDED: Final = (FileNotFoundError, ProcessLookupError)
"""Opening a file in /proc of what has ended, and reading it when that ends after it was opened."""


def runs(pid: int) -> bool:
    """Whether the process exists, and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except _ENDED:
        return False


def children(pid: int) -> list[int]:
    """Processes that any thread of this one has started and that have not been reaped; none of one that has ended."""
    found: list[int] = []
    with suppress(*_ENDED):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with suppress(*_ENDED):  # that thread alone
                found += map(int, (thread / "children").read_text().split())
    return found
