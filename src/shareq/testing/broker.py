"""Runs a broker on a free port with a data folder of its own, as a subprocess or in a thread."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Literal, Protocol, Self
from urllib.parse import urlsplit

import shareq

if TYPE_CHECKING:
    from shareq.broker.process.server import Server

START_TIMEOUT_S: Final = 30.0
STOP_TIMEOUT_S: Final = 15.0
_READY: Final = re.compile(r"listening on ([^,]+):(\d+)")
_METRICS: Final = re.compile(r", metrics at (http://[^\s,]+)")
_RECORDS: Final = re.compile(r", records API at (https?://[^\s,]+)")

Mode = Literal["process", "thread"]


class BrokerFailed(Exception):
    """The broker did not start, or did not stop as it should. The text has what it logged last."""


class Broker:
    """A broker as a context manager.

    `config` are server properties, `features` finalized levels, `options` more of the command line (in a process).
    `metrics` is where to serve metrics (HOST:PORT, port 0 for a free one), None nowhere. `data_dir` is kept afterwards
    if it was given, and removed if it was not. In a thread the broker shares the interpreter with the test: it starts
    faster, and `kill` only pretends. A restart keeps ports and data.
    """

    def __init__(
        self,
        *,
        config: Mapping[str, str] | None = None,
        features: Mapping[str, int] | None = None,
        data_dir: str | Path | None = None,
        mode: Mode = "process",
        options: Sequence[str] = (),
        metrics: str | None = None,
    ) -> None:
        self._config = dict(config or {})
        self.metrics = metrics
        self.options = list(options)
        self._features = dict(features or {})
        self._own_dir: tempfile.TemporaryDirectory[str] | None = None
        self._data_dir = str(data_dir) if data_dir is not None else None
        self._mode: Mode = mode
        self._running: _Running | None = None
        self.host = "127.0.0.1"
        self.port = 0

    @property
    def bootstrap(self) -> str:
        """HOST:PORT for a client's `bootstrap.servers`."""
        return f"{self.host}:{self.port}"

    @property
    def address(self) -> tuple[str, int]:
        return self.host, self.port

    @property
    def metrics_url(self) -> str | None:
        """Where the metrics are; None if they were not asked for."""
        return self._alive().metrics_url

    @property
    def records_api_url(self) -> str | None:
        """Where the records API is; None if shareq.records.api.listen is not configured."""
        return self._alive().records_api_url

    @property
    def data_dir(self) -> Path:
        if self._data_dir is None:
            raise RuntimeError("the broker has not been started")
        return Path(self._data_dir)

    @property
    def pid(self) -> int:
        """The process the broker runs in."""
        return self._alive().pid

    @property
    def log(self) -> str:
        """What the broker has logged since its first start. Empty in a thread, where the test's own logging has it."""
        path = self.data_dir.with_name(self.data_dir.name + ".log")
        return path.read_text() if path.exists() else ""

    def log_tail(self, lines: int = 40) -> str:
        """The last lines of `log`."""
        return "\n".join(self.log.splitlines()[-lines:])

    def start(self) -> None:
        """Start and wait until it listens. Raises BrokerFailed."""
        if self._running is not None:
            raise RuntimeError("the broker is running")
        if self._data_dir is None:
            self._own_dir = tempfile.TemporaryDirectory(prefix="shareq-")
            self._data_dir = os.path.join(self._own_dir.name, "data")
        start = _Process if self._mode == "process" else _Thread
        self._running = start(self)
        self.port = self._running.port
        if self._running.metrics_url is not None:
            self.metrics = urlsplit(self._running.metrics_url).netloc

    def signal_stop(self) -> None:
        """Ask it to stop (SIGTERM), and do not wait."""
        self._alive().signal_stop()

    def stop(self) -> None:
        """Stop as on SIGTERM and check that it ended well. Raises BrokerFailed. Harmless when it does not run."""
        running, self._running = self._running, None
        if running is not None:
            running.stop()

    def kill(self) -> None:
        """End it at once, without a chance to write anything (SIGKILL)."""
        running, self._running = self._running, None
        if running is not None:
            running.kill()

    def restart(self) -> None:
        """Stop if it runs, and start again on the same port and data."""
        self.stop()
        self.start()

    def close(self) -> None:
        """Stop, and remove the data folder unless it was given."""
        try:
            self.stop()
        finally:
            if self._own_dir is not None:
                self._own_dir.cleanup()
                self._own_dir = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def settings(self) -> tuple[dict[str, str], dict[str, int]]:
        """The properties and feature levels to start with."""
        return self._config, self._features

    def _alive(self) -> _Running:
        if self._running is None:
            raise RuntimeError("the broker is not running")
        return self._running


class _Running(Protocol):
    port: int
    pid: int
    metrics_url: str | None
    records_api_url: str | None

    def signal_stop(self) -> None: ...

    def stop(self) -> None: ...

    def kill(self) -> None: ...


class _Process:
    """`python -m shareq.broker serve` as a child."""

    def __init__(self, broker: Broker) -> None:
        config, features = broker.settings()
        self._log_path = broker.data_dir.with_name(broker.data_dir.name + ".log")
        self._log_path.parent.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "shareq.broker", "serve", "--listen", broker.bootstrap]
        command += ["--data-dir", str(broker.data_dir)]
        for name, value in config.items():
            command += ["--set", f"{name}={value}"]
        for name, level in features.items():
            command += ["--feature", f"{name}={level}"]
        if broker.metrics is not None:
            command += ["--metrics", broker.metrics]
        command += broker.options
        self._broker = broker
        with open(self._log_path, "ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, env=child_environment()
            )
        self.pid = self._process.pid
        self.port = self._wait_ready()

    def signal_stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)

    def stop(self) -> None:
        self.signal_stop()
        try:
            code = self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise BrokerFailed(f"did not stop within {STOP_TIMEOUT_S:g} s:\n{self._broker.log_tail()}") from None
        self._close_output()
        if code != 0:
            raise BrokerFailed(f"ended with code {code}:\n{self._broker.log_tail()}")

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._close_output()

    def _wait_ready(self) -> int:
        assert self._process.stdout is not None
        timer = threading.Timer(START_TIMEOUT_S, self._process.kill)
        timer.start()
        try:
            line = self._process.stdout.readline().decode()
        finally:
            timer.cancel()
        match = _READY.search(line)
        if match is None:
            self.kill()
            raise BrokerFailed(f"did not start:\n{self._broker.log_tail()}")
        metrics = _METRICS.search(line)
        self.metrics_url = None if metrics is None else metrics[1]
        records = _RECORDS.search(line)
        self.records_api_url = None if records is None else records[1]
        return int(match[2])

    def _close_output(self) -> None:
        if self._process.stdout is not None:
            self._process.stdout.close()


class _Thread:
    """A server on an event loop of its own, in a daemon thread."""

    pid = os.getpid()

    def __init__(self, broker: Broker) -> None:
        from shareq.broker.config.broker_config import BrokerConfig

        config, self._features = broker.settings()
        overrides = {"listeners": f"PLAINTEXT://{broker.bootstrap}", "log.dir": str(broker.data_dir), **config}
        self._config = BrokerConfig.load(overrides=overrides)
        self._metrics = broker.metrics
        self._started = threading.Event()
        self._failure: BaseException | None = None
        self._server: Server | None = None
        self._thread = threading.Thread(target=self._run, name="shareq-broker", daemon=True)
        self._thread.start()
        if not self._started.wait(START_TIMEOUT_S):
            raise BrokerFailed(f"did not start within {START_TIMEOUT_S:g} s")
        if self._failure is not None:
            raise BrokerFailed(f"did not start: {self._failure}") from self._failure
        self.port = self._port

    def signal_stop(self) -> None:
        assert self._server is not None
        self._loop.call_soon_threadsafe(self._server.hurry)

    def stop(self) -> None:
        self._end(clean=True)

    def kill(self) -> None:
        self._end(clean=False)

    def _run(self) -> None:
        from shareq.broker.process.serve import new_event_loop
        from shareq.broker.process.server import Server

        self._loop = new_event_loop()
        try:
            self._server = self._loop.run_until_complete(self._start(Server))
        except BaseException as error:
            self._failure = error
        else:
            self._port = int(self._server.addresses[0].rpartition(":")[2])
            self.metrics_url = self._server.metrics_url
            self.records_api_url = self._server.records_api_url
            self._started.set()
            self._loop.run_forever()
        finally:
            self._started.set()
            self._loop.close()

    async def _start(self, server_class: type[Server]) -> Server:
        from shareq.broker.process.sockets import Address

        metrics = None
        if self._metrics is not None:
            host, _, port = self._metrics.rpartition(":")
            metrics = Address(host, int(port))
        server = server_class(self._config, self._features, metrics)
        await server.start()
        return server

    def _end(self, *, clean: bool) -> None:
        assert self._server is not None
        stopped = asyncio.run_coroutine_threadsafe(self._server.stop(clean=clean), self._loop)
        try:
            stopped.result(STOP_TIMEOUT_S)
        except TimeoutError:
            raise BrokerFailed(f"did not stop within {STOP_TIMEOUT_S:g} s") from None
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(STOP_TIMEOUT_S)


def child_environment() -> dict[str, str]:
    """This process's environment, in which a child finds the same `shareq`."""
    environment = dict(os.environ)
    package = os.path.dirname(os.path.dirname(os.path.abspath(shareq.__file__)))
    paths = [package, *environment.get("PYTHONPATH", "").split(os.pathsep)]
    with contextlib.suppress(ValueError):
        paths.remove("")
    environment["PYTHONPATH"] = os.pathsep.join(paths)
    return environment
