"""Documents with a part that a command makes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def write_between(path: Path, begin: str, end: str, lines: Sequence[str]) -> None:
    """Replace what stands between two marks, which stay. ValueError when the document does not have both."""
    before, found, rest = path.read_text().partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise ValueError(f"{path} has no {begin} ... {end}")
    path.write_text(f"{before}{begin}\n" + "\n".join(lines) + f"\n{end}{after}")
