"""Other processes of this machine, as Linux shows them."""

from __future__ import annotations

from pathlib import Path


def runs(pid: int) -> bool:
    """Whether the process exists, and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # the latter when it ends after the file was opened
        return False
