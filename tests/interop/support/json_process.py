"""A child process that a test drives with JSON lines: a command on standard input, an answer on standard output."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Sequence
from typing import Any, ClassVar

from tests.interop.support.protocol import program_arguments


class ProgramError(Exception):
    """An error in the program: its error name and message."""


class JsonProcess:
    """A process that runs one command at a time; each must be answered within `timeout_s`, or it is killed."""

    error: ClassVar[type[ProgramError]] = ProgramError

    def __init__(self, command: Sequence[str], timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def call(self, do: str, **arguments: object) -> dict[str, Any]:  # JSON, of a shape that `do` decides
        """Run a command and return its answer. Raises `error`."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        overdue = threading.Timer(self._timeout_s, self._process.kill)
        overdue.start()
        try:
            self._process.stdin.write(json.dumps({"do": do, **program_arguments(arguments)}) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        finally:
            overdue.cancel()
        if not line:
            raise self.error(f"the driver ended during {do} {arguments}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise self.error(f"{answer['error']}: {answer['message']}")
        return answer

    def kill(self) -> None:
        """Kill the process at once, from any thread: a running `call` raises `error`."""
        self._process.kill()

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
