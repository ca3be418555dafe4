"""Two brokers side by side, each a process of its own with a new data folder on the same disk."""

from __future__ import annotations

import compileall
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Literal, Protocol

from devtools.kafka.apache_kafka import ApacheKafka, answers
from devtools.kafka.certificates import Authority
from devtools.ports import free_port

Kind = Literal["shareq", "apache"]
ROOT = Path(__file__).resolve().parents[1]
SCRATCH = ROOT / ".cache" / "bench"


class Reachable(Protocol):
    """The part of a running broker that client programs use."""

    @property
    def address(self) -> str: ...

    @property
    def pid(self) -> int: ...


class RunningBroker(Reachable, Protocol):
    """The part of a running broker that figures use."""

    @property
    def folder(self) -> Path: ...

    def start(self) -> float:
        """Start; return the seconds from exec to the first answered request."""

    def stop(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Secure:
    """A broker's second listener, with TLS: its port, and both sides' certificates in PEM."""

    port: int
    authority: Path
    key_store: Path

    @property
    def address(self) -> str:
        return f"localhost:{self.port}"

    def client(self) -> dict[str, str]:
        """Return librdkafka's properties to connect to this listener."""
        return {"security.protocol": "SSL", "ssl.ca.location": str(self.authority)}

    def properties(self, plain_port: int) -> dict[str, str]:
        """Return a broker's properties for this listener, and a plain one at the other port."""
        listeners = f"PLAINTEXT://127.0.0.1:{plain_port},SECURE://localhost:{self.port}"
        return {
            "listeners": listeners,
            "advertised.listeners": listeners,
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SECURE:SSL,CONTROLLER:PLAINTEXT",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self.key_store),
        }


def secured(folder: Path) -> Secure:
    """Make an authority and certificates in an existing folder."""
    authority = Authority(folder)
    return Secure(free_port(), authority.certificate, authority.sign("broker", "DNS:localhost").both)


@dataclass(slots=True)
class Shareq:
    """`python -m shareq serve` with its defaults, options, and properties given as NAME=VALUE.

    `packages` is a folder with another shareq to run instead of this checkout's; `module` is the module to run.
    """

    folder: Path
    properties: tuple[str, ...] = ()
    options: tuple[str, ...] = field(default=(), kw_only=True)
    packages: Path | None = field(default=None, kw_only=True)
    module: str = field(default="shareq", kw_only=True)
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
        command = [sys.executable, "-m", self.module, "serve", "--data-dir", str(self.folder / "data")]
        if not any(text.startswith("listeners=") for text in self.properties):
            command += ["--listen", self.address]
        command += [argument for text in self.properties for argument in ("--set", text)]
        command += self.options
        packages = {} if self.packages is None else {"PYTHONPATH": str(self.packages)}
        with (self.folder / "broker.log").open("ab") as log:
            started = time.perf_counter()
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=os.environ | packages
            )
        while not answers(self.port):
            if self.process.poll() is not None or time.perf_counter() - started > timeout_s:
                self.stop()
                raise RuntimeError(f"shareq did not start:\n{(self.folder / 'broker.log').read_text()[-2000:]}")
            time.sleep(0.002)
        return time.perf_counter() - started

    def kill(self) -> None:
        """Kill the broker as kill -9 does."""
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
    """Compile all modules, as pip does.

    With PYTHONDONTWRITEBYTECODE, or after an edit, every start would compile some again.
    """
    for package in (ROOT / "src" / "shareq").iterdir():
        if package.is_dir():
            compileall.compile_dir(package.resolve(), quiet=2)


def built(commit: str, folder: Path) -> Path:
    """Return a commit's packages, built like a wheel, in a folder that can precede all others on the path."""
    source, packages = folder / "source", folder / "packages"
    source.mkdir()
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x"], cwd=source, check=True, input=archive)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(packages), str(source)]
    subprocess.run(command, check=True)
    compileall.compile_dir(packages, quiet=2)
    return packages


@contextmanager
def fresh(
    kind: Kind,
    secure: Secure | None = None,
    packages: Path | None = None,
    settings: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[RunningBroker]:
    """Yield a broker that is not started yet; stop and remove it at the end.

    With `secure` it also has a TLS listener. `packages` is a folder with another shareq to run. `settings` are
    properties.
    """
    SCRATCH.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f"{kind}-", dir=SCRATCH))
    broker = _made(kind, folder, secure, packages, settings)
    try:
        yield broker
    finally:
        broker.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _made(
    kind: Kind, folder: Path, secure: Secure | None, packages: Path | None, wanted: Mapping[str, str]
) -> RunningBroker:
    port = free_port()
    settings = {**wanted, **(secure.properties(port) if secure is not None else {})}
    if kind == "shareq":
        properties = tuple(f"{name}={value}" for name, value in settings.items())
        return Shareq(folder, properties, packages=packages, port=port)
    if secure is not None:
        controller = free_port()
        settings["listeners"] += f",CONTROLLER://127.0.0.1:{controller}"
        settings |= {"controller.quorum.voters": f"1@127.0.0.1:{controller}", "inter.broker.listener.name": "PLAINTEXT"}
    return ApacheKafka(folder, settings, port=port)
