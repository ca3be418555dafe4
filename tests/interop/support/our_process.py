from __future__ import annotations

import os
import ssl
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from devtools.kafka.apache_kafka import seconds_to_answer
from devtools.ports import free_port
from shareq.testing.launch import options_of


@dataclass(slots=True)
class OurProcess:
    """`python -m shareq serve` as a child process. `start` works again after an end, with the same data and port.

    `settings` with several `listeners` give all addresses; `port` is one of these then. With `tls`, that address has
    TLS. A node has no data.
    """

    folder: Path
    settings: Mapping[str, str]
    port: int = field(default_factory=free_port)
    options: Sequence[str] = ()
    tls: ssl.SSLContext | None = None
    has_data: bool = True
    process: subprocess.Popen[bytes] | None = None

    def start(self, timeout_s: float = 20) -> float:
        """Start and return the seconds until the first answer; RuntimeError with the log if there is none."""
        command = [sys.executable, "-m", "shareq", "serve"]
        if self.has_data:
            command += ["--data-dir", str(self.folder / "data")]
        if "," not in self.settings.get("listeners", ""):
            command += ["--listen", f"127.0.0.1:{self.port}"]
        words, secrets = options_of(self.settings)
        command += [*words, *self.options]
        with (self.folder / "broker.log").open("ab") as log:
            started = time.perf_counter()
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**os.environ, **secrets}
            )
        took = seconds_to_answer(self.process, self.port, started, timeout_s, self.tls)
        if took is None:
            self.kill()
            raise RuntimeError(f"shareq did not start:\n{self.log_tail()}")
        return took

    def stop(self, timeout_s: float = 20) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(timeout_s)
            except subprocess.TimeoutExpired:
                self.kill()

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def log_tail(self, size: int = 4000) -> str:
        return (self.folder / "broker.log").read_text(errors="replace")[-size:]
