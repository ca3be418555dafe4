"""`shareq verify DATA --repair` for a broker that refuses to start."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def repair(data_dir: Path) -> bool:
    """Repair the folder. Return True if the command reports that the broker can start on it."""
    command = [sys.executable, "-m", "shareq", "verify", str(data_dir), "--repair"]
    done = subprocess.run(command, check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    return done.returncode == 0
