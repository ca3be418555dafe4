"""The servers that hold the queues: each a process on loopback with an empty folder, kept over a kill and a start."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol

from bench.brokers import Shareq
from devtools.ports import free_port

START_S: Final = 60.0
COMMAND: Final = "/usr/lib/rabbitmq/bin/rabbitmq-server"  # the one in PATH becomes the user rabbitmq


class Server(Protocol):
    """A server, as measurements need it."""

    @property
    def pid(self) -> int: ...

    def start(self) -> object: ...

    def kill(self) -> None:
        """Kill all its processes as kill -9 does."""

    def stop(self) -> None: ...


class Command:
    """A server that a command starts, in a process group of its own, until its port takes connections."""

    def __init__(self, command: list[str], port: int, folder: Path, environment: dict[str, str] | None = None) -> None:
        self._command = command
        self._port = port
        self._folder = folder
        self._environment = {**os.environ, **(environment or {})}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        with (self._folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                cwd=self._folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        until = time.monotonic() + START_S
        while not listens(self._port):
            if self._process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(
                    f"{self._command[0]} did not start:\n{(self._folder / 'server.log').read_text()[-2000:]}"
                )
            time.sleep(0.05)

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def _end(self, number: signal.Signals) -> None:
        if self._process is None or self._process.poll() is not None:
            return
        os.killpg(self._process.pid, number)
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


class RabbitMQ(Command):
    """RabbitMQ on a port and an address of its own, with its Erlang port mapper."""

    def __init__(self, port: int, folder: Path) -> None:
        names = free_port()
        dist = free_port()
        super().__init__(
            [COMMAND],
            port,
            folder,
            {
                "HOME": str(folder),
                "RABBITMQ_BASE": str(folder),
                "RABBITMQ_NODENAME": "bench@localhost",
                "RABBITMQ_NODE_PORT": str(port),
                "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
                "RABBITMQ_DIST_PORT": str(dist),
                "RABBITMQ_MNESIA_BASE": str(folder / "mnesia"),
                "RABBITMQ_FEATURE_FLAGS_FILE": str(folder / "feature_flags"),
                "RABBITMQ_LOG_BASE": str(folder / "log"),
                "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
                "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
                "ERL_EPMD_ADDRESS": "127.0.0.1",
                "ERL_EPMD_PORT": str(names),
            },
        )
        (folder / "plugins").write_text("[].\n")
        self._names = names
        self._epmd: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        if self._epmd is None:
            self._epmd = subprocess.Popen(
                ["epmd", "-address", "127.0.0.1", "-port", str(self._names)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            wait_for(lambda: listens(self._names), START_S)
        super().start()

    def stop(self) -> None:
        super().stop()
        if self._epmd is not None:
            self._epmd.kill()
            self._epmd.wait()


def shareq(port: int, folder: Path) -> Server:
    """Return a server of shareq with its defaults."""
    return Shareq(folder, (), port)


def redis(port: int, folder: Path) -> Server:
    """Return a Redis with its append-only log: without it a kill loses all changes since the last snapshot."""
    options = ["--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder), "--appendonly", "yes", "--save", ""]
    return Command(["redis-server", *options], port, folder)


def missing(program: str) -> bool:
    """Return True if a server cannot be started here."""
    return shutil.which(program) is None


def listens(port: int) -> bool:
    """Return True if 127.0.0.1 accepts a connection on this port."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def wait_for(condition: Callable[[], bool], timeout_s: float) -> bool:
    """Check a condition a hundred times a second; return whether it became true in time."""
    until = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True
