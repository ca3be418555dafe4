"""Run a command, end it and all its children after a time limit: `within.py SECONDS COMMAND [ARGUMENT]...`.

Exit code: the command's own, or 124 when the limit was hit. Where `timeout` of coreutils is missing, too.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys


def main(limit_s: float, command: list[str]) -> int:
    process = subprocess.Popen(command, start_new_session=True)
    try:
        return process.wait(limit_s)
    except subprocess.TimeoutExpired:
        print(f"within.py: not done after {limit_s:.0f} s, ending it: {' '.join(command)}", file=sys.stderr)
        _end(process)
        return 124
    except KeyboardInterrupt:
        _end(process)
        return 130


def _end(process: subprocess.Popen[bytes]) -> None:
    """SIGINT lets a test runner say where it was; SIGKILL ten seconds later lets nothing survive."""
    os.killpg(process.pid, signal.SIGINT)
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), sys.argv[2:]))
