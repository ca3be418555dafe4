"""The two brokers side by side, each a process of its own with a fresh data folder on the same disk."""

from __future__ import annotations

import compileall
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal, Protocol

from devtools.kafka.apache_kafka import ApacheKafka, answers, free_port

Kind = Literal["shareq", "apache"]
ROOT = Path(__file__).resolve().parents[1]
SCRATCH = ROOT / ".cache" / "bench"


class RunningBroker(Protocol):
    """What a figure needs of a broker."""

    @property
    def address(self) -> str: ...

    @property
    def pid(self) -> int: ...

    def start(self) -> float:
        """Start; seconds from exec to the first answered request."""

    def stop(self) -> None: ...


@dataclass(slots=True)
class Shareq:
    """`python -m shareq.broker serve` with its defaults, but for the properties given as NAME=VALUE."""

    folder: Path
    properties: tuple[str, ...] = ()
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def start(self, timeout_s: float = 20) -> float:
        compile_modules()
        command = [sys.executable, "-m", "shareq.broker", "serve", "--listen", self.address]
        command += ["--data-dir", str(self.folder / "data")]
        command += [argument for text in self.properties for argument in ("--set", text)]
        with (self.folder / "broker.log").open("ab") as log:
            started = time.perf_counter()
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        while not answers(self.port):
            if self.process.poll() is not None or time.perf_counter() - started > timeout_s:
                self.stop()
                raise RuntimeError(f"shareq did not start:\n{(self.folder / 'broker.log').read_text()[-2000:]}")
            time.sleep(0.002)
        return time.perf_counter() - started

    def kill(self) -> None:
        """As kill -9."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.send_signal(signal.SIGKILL)
                self.process.wait()


@cache
def compile_modules() -> None:
    """As pip leaves them. With PYTHONDONTWRITEBYTECODE, or after an edit, every start would compile some again."""
    for package in (ROOT / "src" / "shareq").iterdir():
        if package.is_dir():
            compileall.compile_dir(package.resolve(), quiet=2)


@contextmanager
def fresh(kind: Kind) -> Iterator[RunningBroker]:
    """A broker that is not started yet; stopped and its folder removed at the end."""
    SCRATCH.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f"{kind}-", dir=SCRATCH))
    broker: RunningBroker = Shareq(folder) if kind == "shareq" else ApacheKafka(folder)
    try:
        yield broker
    finally:
        broker.stop()
        shutil.rmtree(folder, ignore_errors=True)
