"""The origin of a committed figure: the commit and the machine."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def commit(*paths: str) -> str:
    """Return the running commit, and whether one of `paths` (from the root) has uncommitted changes."""
    return _with_changes(["rev-parse", "--short", "HEAD"], paths)


def last_change(*paths: str) -> str:
    """Return the last commit that changed one of `paths` (from the root), and whether one has changed since."""
    return _with_changes(["log", "-1", "--format=%h", "--", *paths], paths)


def _with_changes(words: Sequence[str], paths: Sequence[str]) -> str:
    try:
        found = _git(*words)
        changed = _git("status", "--porcelain", "--", *paths)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"{found} with changes" if changed else found


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def machine() -> str:
    """Return a description of this machine."""
    model = platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line.partition(":")[2].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        model = names[0] if names else model
    return f"{os.cpu_count()} cores, {model}, Python {platform.python_version()}"
