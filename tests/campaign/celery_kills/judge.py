"""The judge of a campaign's journal: no task is lost, and one repeats only after a kill that explains it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise


@dataclass(frozen=True, slots=True)
class Kill:
    """A kill between these two times. `worker` is the killed process group; None: the broker."""

    since: float
    until: float
    worker: int | None


@dataclass(slots=True)
class Run:
    """One execution of a task. `received` is when its worker got the task; `end` is None if it never ended."""

    worker: int
    received: float
    begin: float
    end: float | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """`again`: repeated executions of all tasks. `unexplained`: tasks with a repetition that no kill explains."""

    sent: int
    lost: tuple[int, ...]
    again: int
    unexplained: tuple[int, ...]

    @property
    def good(self) -> bool:
        return not self.lost and not self.unexplained


@dataclass(slots=True)
class Task:
    runs: list[Run] = field(default_factory=list)
    _received: dict[int, float] = field(default_factory=dict)

    def note(self, word: str, worker: int, at: float) -> None:
        if word == "got":
            self._received[worker] = at
        elif word == "begin":
            self.runs.append(Run(worker, self._received.get(worker, at), at))
        else:
            next(run for run in reversed(self.runs) if run.worker == worker and run.end is None).end = at


def read(lines: Iterable[str]) -> dict[int, Task]:
    """Read lines "got|begin|end NUMBER WORKER TIME"; the worker is its process group."""
    tasks: dict[int, Task] = {}
    for line in lines:
        word, number, worker, at = line.split()
        tasks.setdefault(int(number), Task()).note(word, int(worker), float(at))
    return tasks


def judge(lines: Iterable[str], sent: Iterable[int], kills: Sequence[Kill], ack_s: float) -> Verdict:
    """Return the verdict. Times are on one clock.

    A finished task is acknowledged within `ack_s` seconds: a later kill does not explain a repetition.
    """
    tasks = read(lines)
    for number in sent:
        tasks.setdefault(number, Task())
    lost = tuple(number for number, task in tasks.items() if all(run.end is None for run in task.runs))
    again = sum(max(0, len(task.runs) - 1) for task in tasks.values())
    unexplained = tuple(
        number
        for number, task in tasks.items()
        if not all(
            any(_explains(kill, before, after, ack_s) for kill in kills) for before, after in pairwise(task.runs)
        )
    )
    return Verdict(len(tasks), lost, again, unexplained)


def _explains(kill: Kill, before: Run, after: Run, ack_s: float) -> bool:
    """Return whether a kill explains a repetition.

    A worker's kill explains its tasks in progress, or finished but not acknowledged; the broker's kill explains those
    that a worker had received, or that were on their way to a worker for at most `ack_s` seconds.
    """
    if kill.worker is not None and kill.worker != before.worker:
        return False
    held_since = before.begin if kill.worker is not None else before.received - ack_s
    held_until = after.begin if before.end is None else min(after.begin, before.end + ack_s)
    return held_since <= kill.until and kill.since <= held_until
