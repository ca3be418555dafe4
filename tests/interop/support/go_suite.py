"""Go test programs as child processes, and which of their tests passed, failed or were skipped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import Final

PARALLEL: Final = 16
"""The number of tests that run at once: more than the processors, Go's default, because they mostly wait."""
TIMEOUT_S: Final = 240


@dataclass(slots=True)
class Outcome:
    """Names of tests, subtests as `TestName/subtest_name`; an unfinished test has failed."""

    passed: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)
    skipped: set[str] = field(default_factory=set)
    output: dict[str, list[str]] = field(default_factory=dict)

    def add(self, other: Outcome) -> None:
        self.passed |= other.passed
        self.failed |= other.failed
        self.skipped |= other.skipped
        self.output |= other.output

    @property
    def causes(self) -> set[str]:
        """The failed tests, without those that failed because of a subtest."""
        return {name for name in self.failed if not any(other.startswith(f"{name}/") for other in self.failed)}

    def reported(self, name: str) -> str:
        return "".join(self.output.get(name, []))[-2000:]


class Program:
    """One test program that runs in `folder`, as `go test` runs it, from now on."""

    def __init__(
        self, program: Path, folder: Path, environment: Mapping[str, str], *, only: str = ".", leave_out: Iterable[str]
    ) -> None:
        left_out = "|".join(leave_out)
        command = ["go", "tool", "test2json", str(program), "-test.v", f"-test.parallel={PARALLEL}"]
        command += [f"-test.timeout={TIMEOUT_S}s", f"-test.run={only}"]
        if left_out:
            command.append(f"-test.skip={left_out}")
        # Not a pipe: programs whose turn to be read has not come would stand still.
        self._reported = TemporaryFile("w+")  # noqa: SIM115 - closed by `kill`
        self._process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=self._reported,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def outcome(self) -> Outcome:
        self._process.wait(TIMEOUT_S + 30)
        self._reported.seek(0)
        return outcome_of(self._reported.readlines())

    def kill(self) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._reported.close()


def outcome_of(lines: Sequence[str]) -> Outcome:
    found = Outcome()
    begun: set[str] = set()
    for line in lines:
        if not line.startswith("{"):
            continue
        event = json.loads(line)
        name, action = event.get("Test"), event["Action"]
        if name is None:
            continue
        begun.add(name)
        if action == "output":
            found.output.setdefault(name, []).append(event["Output"])
        elif action in ("pass", "fail", "skip"):
            {"pass": found.passed, "fail": found.failed, "skip": found.skipped}[action].add(name)
    found.failed |= begun - found.passed - found.skipped
    return found


def listed(program: Path, folder: Path) -> set[str]:
    done = subprocess.run(
        [str(program), "-test.list", "^Test"], cwd=folder, check=True, capture_output=True, text=True, timeout=60
    )
    return set(done.stdout.split())
