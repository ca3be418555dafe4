"""Builds that several test processes need and one of them makes: downloads, compiled programs."""

from __future__ import annotations

import fcntl
import uuid
from collections.abc import Callable
from pathlib import Path


def build_once(there: Callable[[], bool], make: Callable[[], None], lock: Path) -> None:
    """Call `make` unless `there()` is true; the file `lock` keeps callers in all processes from calling it at once."""
    if there():
        return
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if not there():
            make()


def folder_made_once(folder: Path, fill: Callable[[Path], None]) -> Path:
    """Return the folder, filled by `fill` if it is new; a failure leaves no partial folder."""

    def make() -> None:
        fresh = folder.with_name(f"{folder.name}-{uuid.uuid4().hex[:6]}")
        fresh.mkdir(parents=True)
        fill(fresh)
        fresh.rename(folder)

    build_once(folder.exists, make, folder.with_suffix(".lock"))
    return folder
