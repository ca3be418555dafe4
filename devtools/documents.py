"""Documents with a part that a command makes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def has_place(path: Path, begin: str, end: str) -> bool:
    """Whether the document has both marks, in this order."""
    return _around(path, begin, end) is not None


def write_between(path: Path, begin: str, end: str, lines: Sequence[str]) -> None:
    """Replace what stands between two marks, which stay. ValueError when the document does not have both."""
    around = _around(path, begin, end)
    if around is None:
        raise ValueError(f"{path} has no {begin} ... {end}")
    before, after = around
    path.write_text(f"{before}{begin}\n" + "\n".join(lines) + f"\n{end}{after}")


def _around(path: Path, begin: str, end: str) -> tuple[str, str] | None:
    """What stands before `begin` and behind the `end` that follows it."""
    before, found, rest = path.read_text().partition(begin)
    _, closed, after = rest.partition(end)
    return (before, after) if found and closed else None
