"""Spark jobs as separate processes that a test can kill: driver, JVM, source runner, workers, or all of them."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from tests.spark.support.session import spark_environment


class Process(NamedTuple):
    """A process of a job. `command` is its arguments, joined by blanks."""

    pid: int
    parent: int
    command: str


class Job:
    """`python -m MODULE ARGUMENT...` in a session of its own, with its output in one file."""

    def __init__(self, module: str, arguments: list[str], log: Path) -> None:
        self.log = log
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", module, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=spark_environment(),
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def output(self, size: int = 6000) -> str:
        return self.log.read_text(errors="replace")[-size:]

    def has_printed(self, text: str) -> bool:
        """Return True if the output contains the text.

        Spark may print much at its end, so the whole output is searched.
        """
        return text in self.log.read_text(errors="replace")

    def processes(self, part: str = "") -> list[Process]:
        """Return the live processes whose command line contains `part`.

        Such parts are "java", "pyspark.daemon", "python_streaming_source_runner".
        """
        return [one for one in _processes_of_session(self.pid) if part in one.command]

    @property
    def jvm(self) -> Process:
        """Return the JVM of Spark's driver. Raise ValueError if there is none, or more than one."""
        (found,) = without_forks(self.processes("org.apache.spark.deploy.SparkSubmit"))
        return found

    def wait_until(self, done: Callable[[], bool], timeout_s: float = 60) -> None:
        """Wait until `done`. Raise AssertionError, with the output, if the job ends first or the time is over."""
        deadline = time.monotonic() + timeout_s
        while not done():
            assert self.running, f"the job ended with code {self._process.returncode}:\n{self.output()}"
            assert time.monotonic() < deadline, f"not within {timeout_s:g} s:\n{self.output()}"
            time.sleep(0.02)

    def wait(self, timeout_s: float = 90) -> None:
        """Wait until the driver has ended.

        Raise AssertionError, with the output, if its code is not 0 or the time is over.
        """
        try:
            code = self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"not done within {timeout_s:g} s:\n{self.output()}") from None
        assert code == 0, f"the job ended with code {code}:\n{self.output()}"

    def terminate(self) -> None:
        self._process.terminate()

    def kill(self) -> None:
        while True:
            left = _processes_of_session(self.pid)
            for one in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(one.pid, signal.SIGKILL)
            self._process.poll()  # reaped, or it stays in the list
            if not left:
                break
            time.sleep(0.01)
        self._process.wait()


def without_forks(processes: Collection[Process]) -> list[Process]:
    """Return the processes whose parents are not among them.

    A forked process has its parent's command line until it executes another program. A JVM sometimes forks: Hadoop's
    file system runs `chmod` and `readlink`.
    """
    pids = {one.pid for one in processes}
    return [one for one in processes if one.parent not in pids]


def _processes_of_session(session: int) -> list[Process]:
    """Return the processes of a session. Python's workers are not in the driver's process group."""
    return [process for process, of in _all_processes() if of == session]


def _all_processes() -> Iterator[tuple[Process, int]]:
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal():
            continue
        with contextlib.suppress(OSError):  # it has just ended
            # proc(5): pid (name) state parent group session; the name may hold blanks and parentheses
            state, parent, _, session = (folder / "stat").read_text().rpartition(")")[2].split()[:4]
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if state != "Z":
                yield Process(int(folder.name), int(parent), command), int(session)
