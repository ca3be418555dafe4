"""Runs a command again whenever a Python file of a folder has changed; for development."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Sequence
from types import FrameType
from typing import Final

POLL_S: Final = 0.5
SKIPPED: Final = frozenset({"__pycache__", "node_modules", "site-packages"})


def run_again_on_changes(command: Sequence[str], folder: str) -> int:
    """Run the command, and again after each change, until SIGTERM or SIGINT. Return its last exit code.

    After a command ends, the next change starts it again.
    """
    stopping = threading.Event()

    def stop(_number: int, _frame: FrameType | None) -> None:
        stopping.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    seen = changes(folder)
    child = subprocess.Popen(command, start_new_session=True)
    try:
        while not stopping.wait(POLL_S):
            now = changes(folder)
            if now != seen:
                seen = now
                _end(child)
                child = subprocess.Popen(command, start_new_session=True)
    finally:
        code = _end(child)
    return code


def changes(folder: str) -> dict[str, int]:
    """Return the modification time of each Python file below a folder, in ns, except in hidden folders and packages'
    folders.
    """
    found = {}
    for path, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in SKIPPED]
        for name in names:
            if name.endswith(".py"):
                whole = os.path.join(path, name)
                try:
                    found[whole] = os.stat(whole).st_mtime_ns
                except OSError:  # deleted meanwhile
                    continue
    return found


def _end(child: subprocess.Popen[bytes]) -> int:
    if child.poll() is None:
        child.send_signal(signal.SIGTERM)
    return child.wait()
