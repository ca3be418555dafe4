"""Other processes of this machine: commands run to their end, and information from /proc."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

_ENDED: Final = (FileNotFoundError, ProcessLookupError)
"""The errors of opening a file in /proc after its process has ended, and of reading it if the process ends after the
opening.
"""


def finished(
    command: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: str | None = None,
    timeout_s: float | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, whatever its exit code; the result has its output."""
    return subprocess.run(
        command, cwd=cwd, env=env, input=stdin, timeout=timeout_s, capture_output=True, text=True, check=False
    )


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except _ENDED:
        return False


def children(pid: int) -> list[int]:
    """Return the unreaped children of all threads of this process; none if it has ended."""
    found: list[int] = []
    with suppress(*_ENDED):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with suppress(*_ENDED):  # that thread alone
                found += map(int, (thread / "children").read_text().split())
    return found
