"""Run a command, end it and all its children after a time limit: `within.py [--in-memory] SECONDS COMMAND [WORD]...`.

Exit code: the command's own, or 124 when the limit was hit. Also works without coreutils' `timeout`.

With `--in-memory`, temporary files are in memory if there is room: brokers of tests sync thousands of times, and only
on simulated disks do tests look at a power loss. They are removed in the end, unless SHAREQ_KEEP_DATA is set: then they
are at the usual place.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

MEMORY: Final = Path("/dev/shm")
ROOM: Final = 8 << 30
"""The bytes of memory that must be free: a run of all tests once had 3.6 GB of folders, none removed before its end."""


def main(limit_s: float, command: list[str], *, in_memory: bool = False) -> int:
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the command is in a session of its own, and would go on
    with _temporary(in_memory) as variables:
        process = subprocess.Popen(command, start_new_session=True, env={**os.environ, **variables})
        try:
            return process.wait(limit_s)
        except subprocess.TimeoutExpired:
            print(f"within.py: not done after {limit_s:.0f} s, ending it: {' '.join(command)}", file=sys.stderr)
            _end(process)
            return 124
        except KeyboardInterrupt:
            _end(process)
            return 130


@contextmanager
def _temporary(in_memory: bool) -> Iterator[Mapping[str, str]]:
    """Make the folder for temporary files, and remove it: yields the variables that lead to it."""
    if not in_memory or "SHAREQ_KEEP_DATA" in os.environ or room_in_memory() < ROOM:
        yield {}
        return
    with tempfile.TemporaryDirectory(prefix="shareq-", dir=MEMORY, ignore_cleanup_errors=True) as folder:
        yield {"TMPDIR": folder}


def room_in_memory(memory: Path = MEMORY, meminfo: Path = Path("/proc/meminfo")) -> int:
    """Return how many bytes of files memory has room for; 0 where files cannot lie in it."""
    try:
        lines = dict(line.split(":", 1) for line in meminfo.read_text().splitlines())
        return min(shutil.disk_usage(memory).free, int(lines["MemAvailable"].split()[0]) << 10)
    except (OSError, KeyError):
        return 0


def _end(process: subprocess.Popen[bytes]) -> None:
    """Send SIGINT, so that a test runner can report where it was; ten seconds later send SIGKILL."""
    os.killpg(process.pid, signal.SIGINT)
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


if __name__ == "__main__":
    words = sys.argv[1:]
    with_memory = words[0] == "--in-memory"
    limit, *what = words[with_memory:]
    sys.exit(main(float(limit), what, in_memory=with_memory))
