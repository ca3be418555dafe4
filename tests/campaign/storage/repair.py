"""`shareq verify DATA --repair`, where the broker refuses to start."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def repair(data_dir: Path) -> bool:
    """Repair the folder. Return True if the command says that it can be started on now."""
    command = [sys.executable, "-m", "shareq", "verify", str(data_dir), "--repair"]
    done = subprocess.run(command, check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    return done.returncode == 0
