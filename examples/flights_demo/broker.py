"""The broker of the demo: a child process that can be killed and started again on the same data."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from devtools.ports import free_port


class DemoBroker(Protocol):
    """A broker, as the demo needs it."""

    @property
    def address(self) -> str: ...

    def start(self) -> float:
        """Start the broker, wait until it listens, and return the seconds that took."""

    def kill(self) -> None:
        """Send SIGKILL."""

    def stop(self) -> None:
        """Send SIGTERM, and wait."""


@dataclass(slots=True)
class Shareq:
    """`python -m shareq serve` on a free port of this machine; with `cluster`, as a node in front of that cluster."""

    folder: Path
    settings: Mapping[str, str] = field(default_factory=dict)
    port: int = field(default_factory=free_port)
    cluster: str | None = None
    process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self, timeout_s: float = 20) -> float:
        command = [sys.executable, "-m", "shareq", "serve", "--listen", self.address]
        if self.cluster is None:
            command += ["--data-dir", str(self.folder / "data")]
        else:
            command += ["--cluster", self.cluster]
        command += [f"--set={name}={value}" for name, value in self.settings.items()]
        with (self.folder / "broker.log").open("ab") as log:
            started = time.monotonic()
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        while not self._listens():  # it listens only when every log is recovered
            if self.process.poll() is not None or time.monotonic() - started > timeout_s:
                self.stop()
                text = (self.folder / "broker.log").read_text(errors="replace")
                raise RuntimeError(f"the broker did not start:\n{text[-2000:]}")
            time.sleep(0.005)
        return time.monotonic() - started

    def kill(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.kill()

    def _listens(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        except OSError:
            return False
        return True
