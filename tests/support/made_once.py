"""What several test processes want and one of them makes: downloads, compiled programs."""

from __future__ import annotations

import fcntl
from collections.abc import Callable
from pathlib import Path


def made_once(there: Callable[[], bool], make: Callable[[], None], lock: Path) -> None:
    """Call `make` unless `there`. Whoever comes meanwhile waits, in other processes, too; `lock` is a file for that."""
    if there():
        return
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if not there():
            make()
