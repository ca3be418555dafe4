"""Documents with a part that a command makes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def write_between(path: Path, begin: str, end: str, lines: Sequence[str]) -> None:
    """Replace what stands between two marks, which stay."""
    before, _, rest = path.read_text().partition(begin)
    _, _, after = rest.partition(end)
    path.write_text(f"{before}{begin}\n" + "\n".join(lines) + f"\n{end}{after}")
