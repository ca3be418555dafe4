from __future__ import annotations

import os
import signal
import subprocess


def stop(process: subprocess.Popen[bytes] | None) -> None:
    assert process is not None
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
