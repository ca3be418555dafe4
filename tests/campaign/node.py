"""A broker process that is started, killed at any moment, also while it starts, and started again on the same port."""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from devtools.ports import free_port
from shareq.testing.launch import options_of
from tests.support.processes import children

START_TIMEOUT_S: Final = 60.0
_READY: Final = re.compile(rb"listening on ([^,]+):(\d+)")


class StartRefused(Exception):
    """A broker that ended instead of listening; the text is its output."""


@dataclass(slots=True)
class Node:
    """One data folder and the broker on it.

    `prefix`: a command that runs it; `module`: the module to run; `options`: further options. If `settings` have
    listeners, one of them uses `port`.
    """

    data_dir: Path
    settings: Mapping[str, str]
    module: str = "shareq"
    prefix: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    options: Sequence[str] = ()
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None
    pid: int = 0
    """The process id of the broker itself, even if it runs under another command; 0 while unknown."""

    @property
    def address(self) -> tuple[str, int]:
        return "127.0.0.1", self.port

    @property
    def log_path(self) -> Path:
        return self.data_dir.with_name(self.data_dir.name + ".log")

    def log_tail(self, lines: int = 15) -> str:
        text = self.log_path.read_text(errors="replace") if self.log_path.exists() else ""
        return "\n".join(text.splitlines()[-lines:])

    def spawn(self) -> None:
        command = [*self.prefix, sys.executable, "-m", self.module, "serve"]
        if "listeners" not in self.settings:
            command += ["--listen", f"127.0.0.1:{self.port}"]
        words, secrets = options_of(self.settings)
        command += ["--data-dir", str(self.data_dir), *self.options, *words]
        environment = {**os.environ, "PYTHONUNBUFFERED": "1", **secrets, **self.environment}
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, env=environment
            )
        self.pid = self.process.pid

    def wait_ready(self) -> float:
        """Wait until the broker listens; return the seconds. Raises StartRefused."""
        assert self.process is not None
        assert self.process.stdout is not None
        began, said = time.monotonic(), b""
        while not _READY.search(said):
            left = began + START_TIMEOUT_S - time.monotonic()
            readable = select.select([self.process.stdout], [], [], max(0, left))[0]
            part = os.read(self.process.stdout.fileno(), 4096) if readable else b""
            if not part:
                self.kill()
                raise StartRefused(self.log_tail())
            said += part
        if self.prefix:
            self.pid = _only_child(self.process.pid)
        return time.monotonic() - began

    def start(self) -> float:
        self.spawn()
        return self.wait_ready()

    def kill(self) -> None:
        """Send SIGKILL; if the broker runs under another command, to the broker first."""
        if self.process is None:
            return
        for pid in {self.pid, self.process.pid} if not self.prefix else {self.pid}:
            _end(pid, signal.SIGKILL)
        self._gone()

    def stop(self) -> None:
        if self.process is not None:
            _end(self.pid, signal.SIGTERM)
            self._gone()

    def _gone(self) -> None:
        assert self.process is not None
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()
        self.process, self.pid = None, 0


def _end(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _only_child(pid: int) -> int:
    found = children(pid)
    return found[0] if found else pid
