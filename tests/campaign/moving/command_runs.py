"""Runs of `shareq migrate` as processes: killed or disturbed at a moment, and run again until one has done it all."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

MOST_RUNS: Final = 8
RUN_S: Final = 180.0
_TOOK: Final = re.compile(r"the cut-over took ([\d.]+) s")
FAILED: Final = ("refused", "differs")


class Ran(NamedTuple):
    """A run of the command: its exit code (negative: the signal), the rows of its report, and its output."""

    code: int
    rows: list[dict[str, Any]]
    said: str

    @property
    def failed(self) -> list[str]:
        return [f"{row['outcome']}: {row['kind']} {row['name']}: {row['note']}" for row in self.rows if _is_bad(row)]

    @property
    def cut_over_s(self) -> float | None:
        """Return the seconds of the cut-over by the run's report, None without one."""
        found = _TOOK.search(self.said)
        return float(found[1]) if found else None


def _is_bad(row: dict[str, Any]) -> bool:
    return row["outcome"] in FAILED


@dataclass
class Command:
    """The command that moves one topic and its groups' progress.

    `kills`: strikes while it ran; `strikes`: when the struck process was down; `cut_over_s`: the longest cut-over by
    its runs' output, where a struck run may have ended it; `began`: the start of its last run.
    """

    words: tuple[str, ...]
    runs: int = 0
    kills: int = 0
    ends: Counter[str] = field(default_factory=Counter)
    cut_over_s: float | None = None
    began: float = 0.0
    strikes: list[tuple[float, float]] = field(default_factory=list)

    def once(self, *words: str) -> Ran:
        return self._ended(self._begun(*words))

    def planned_in(self) -> float:
        """Return the seconds of a dry run: a real run begins with the same steps. Raise RuntimeError if it fails."""
        began = time.monotonic()
        ran = self.once("--dry-run")
        if ran.code:
            raise RuntimeError(f"the plan: {ran.code}: {ran.failed or ran.said}")
        return time.monotonic() - began

    def disturbed(self, strike: Callable[[], None] | None, after_s: float, *words: str) -> Ran:
        """Run the command; after a time strike something, or kill the command itself."""
        process = self._begun(*words)
        try:
            out, err = process.communicate(timeout=after_s)
            if strike is not None:  # it was too fast: what is killed now is killed beside no work
                self._strike(strike)
            return self._noted(process.returncode, out, err)
        except subprocess.TimeoutExpired:
            self.kills += 1
            if strike is None:
                process.kill()
            else:
                self._strike(strike)
            return self._ended(process)

    def _strike(self, strike: Callable[[], None]) -> None:
        struck_at = time.monotonic()
        strike()
        self.strikes.append((struck_at, time.monotonic()))

    def until_done(self, *words: str) -> Ran:
        """Run the command until it succeeds, or until a row was refused or differs, which no repetition changes."""
        for _ in range(MOST_RUNS):
            ran = self.once(*words)
            if ran.code == 0 or ran.failed:
                break
        return ran

    def _begun(self, *words: str) -> subprocess.Popen[str]:
        self.runs += 1
        self.began = time.monotonic()
        command = (sys.executable, "-m", "shareq", "migrate", *self.words, *words, "--json")
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def _ended(self, process: subprocess.Popen[str]) -> Ran:
        try:
            out, err = process.communicate(timeout=RUN_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            self.ends["hung"] += 1
            raise RuntimeError(f"shareq migrate did not end in {RUN_S:.0f} s") from None
        return self._noted(process.returncode, out, err)

    def _noted(self, code: int, out: str, err: str) -> Ran:
        ran = Ran(code, _rows(out), err.strip())
        if ran.cut_over_s is not None:
            self.cut_over_s = max(self.cut_over_s or 0.0, ran.cut_over_s)
        if code:
            last = ran.said.splitlines()[-1] if ran.said else ""
            self.ends[f"exit code {code}{f': {last}' if code > 0 and last else ''}"] += 1
        return ran


def _rows(out: str) -> list[dict[str, Any]]:
    """Return the rows of a report, none if an error or a kill has cut it off."""
    try:
        found: list[dict[str, Any]] = json.loads(out)
    except ValueError:
        return []
    return found
