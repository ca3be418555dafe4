"""The harness's side of `tests.spark.kills.job`: orders over one connection, and the job's processes by kind."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.spark.support.jobs import Job

START_S = 120.0
ORDER_S = 120.0


class DriverFailed(Exception):
    """A failed order, or a job that has ended; the text gives the reason."""


class Driver:
    """One driver: its Python process, its JVM, and their child processes."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            listener.settimeout(1.0)
            self.job = Job(
                "tests.spark.kills.job", [f"127.0.0.1:{listener.getsockname()[1]}", str(folder)], folder / "job.log"
            )
            self._connection = self._accept(listener)
        self._connection.settimeout(START_S)
        self._lines = self._connection.makefile("r")
        self._read()

    def order(self, name: str, **arguments: object) -> Any:
        """Call the job's method of this name, and return its result.

        Raise DriverFailed if the method raises or the job ended.
        """
        try:
            self._connection.sendall(json.dumps({"do": name, **arguments}).encode() + b"\n")
            answer = self._read()
        except OSError as error:
            raise DriverFailed(f"{name}: {error}") from error
        if "failed" in answer:
            raise DriverFailed(f"{name}: {answer['failed']}")
        return answer["ok"]

    @property
    def jvm(self) -> int:
        return self.job.jvm.pid

    def alive(self, pids: set[int]) -> set[int]:
        return pids & {process.pid for process in self.job.processes()}

    def kill(self, pids: set[int]) -> None:
        """Kill these processes of the job, and wait for their end. Raise DriverFailed if none of them is alive."""
        alive = self.alive(pids)
        if not alive:
            raise DriverFailed(f"none of the processes {sorted(pids)} is there to be killed")
        for pid in alive:
            os.kill(pid, signal.SIGKILL)
        deadline = time.monotonic() + 30
        while self.alive(alive):
            if time.monotonic() > deadline:
                raise DriverFailed(f"the processes {sorted(alive)} do not end")
            time.sleep(0.005)

    def leave_alone(self) -> None:
        """Close the connection: the job ends by itself, if it still can."""
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()

    def end(self) -> None:
        self.leave_alone()
        self.job.kill()

    def _accept(self, listener: socket.socket) -> socket.socket:
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline and self.job.running:
            with contextlib.suppress(TimeoutError):
                return listener.accept()[0]
        self.job.kill()
        raise DriverFailed(f"the job did not start:\n{self.job.output()}")

    def _read(self) -> dict[str, Any]:
        self._connection.settimeout(ORDER_S)
        line = self._lines.readline()
        if not line:
            raise ConnectionResetError(f"the job has ended:\n{self.job.output(2000)}")
        answer: dict[str, Any] = json.loads(line)
        return answer


class Drivers:
    """The driver that serves the cells until it is killed, and perhaps the next one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._current: Driver | None = None
        self._spare: Future[Driver] | None = None
        self._left: list[Driver] = []
        self._started = 0
        self._starter = ThreadPoolExecutor(1)

    def prepare(self) -> None:
        if self._spare is None:
            self._started += 1
            self._spare = self._starter.submit(Driver, self._folder / f"driver-{self._started}")

    def current(self) -> Driver:
        """Return the current driver; start one, and wait for it, if there is none.

        Raise DriverFailed if it does not start.
        """
        if self._current is None:
            self.prepare()
            assert self._spare is not None
            starting, self._spare = self._spare, None
            self._current = starting.result()
        return self._current

    def give_up(self) -> None:
        """Give up the current driver. Its processes may end by themselves until `clear` kills them."""
        if self._current is not None:
            self._current.leave_alone()
            self._left.append(self._current)
            self._current = None

    def clear(self) -> None:
        while self._left:
            self._left.pop().end()

    def end(self) -> None:
        self.give_up()
        self.clear()
        if self._spare is not None:
            with contextlib.suppress(DriverFailed, OSError):
                self._spare.result().end()
        self._starter.shutdown()
