"""The cells of the kill matrix: the process killed, the step of the batch, the option `ack`, another member or none.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from itertools import product
from typing import Final


class Victim(StrEnum):
    WORKER = "worker"
    """The Python worker of an executor."""
    RUNNER = "runner"
    """The process of the source in the driver: member of the share group, holder of the locks."""
    JVM = "jvm"
    """The driver's JVM; in local mode the executor is in it, too."""
    BROKER = "broker"


class Step(StrEnum):
    ACQUIRED = "acquired"
    """The records are locked; Spark does not know of them."""
    OFFSETS_WRITTEN = "offsets-written"
    """Spark's offset log has the ranges."""
    READ = "read"
    """A worker has handed out the first Arrow batch of a partition."""
    SINK_WRITTEN = "sink-written"
    """The batch's file is in place."""
    COMMITS_WRITTEN = "commits-written"
    """Spark's commit log has the batch; with ack=commit nothing is acknowledged yet."""
    ACCEPTED = "accepted"
    """The broker has answered the ACCEPT of the whole batch."""


class Ack(StrEnum):
    COMMIT = "commit"
    LOG = "log"


ORDER: Final = {
    Ack.COMMIT: tuple(Step),
    Ack.LOG: (
        Step.ACQUIRED,
        Step.OFFSETS_WRITTEN,
        Step.ACCEPTED,
        Step.READ,
        Step.SINK_WRITTEN,
        Step.COMMITS_WRITTEN,
    ),
}
"""The order of the steps within one batch."""

_ELSEWHERE: Final = {
    Victim.WORKER: (
        {Step.READ},
        "no worker has a part in this step: those that read the batch before, idle by now, are killed",
    ),
    Victim.RUNNER: (
        {Step.ACQUIRED, Step.OFFSETS_WRITTEN, Step.COMMITS_WRITTEN, Step.ACCEPTED},
        "the runner only keeps the locks during this step: it is killed while the step's process is held",
    ),
    Victim.JVM: (
        {Step.OFFSETS_WRITTEN, Step.SINK_WRITTEN, Step.COMMITS_WRITTEN},
        "the step is the source's: its process is held while the JVM, which waits for it, is killed",
    ),
    Victim.BROKER: (
        {Step.ACQUIRED, Step.READ, Step.ACCEPTED},
        "Spark does this without the broker, which is killed while Spark is held right after it",
    ),
}
"""The steps that a victim takes part in, and how it is killed at the others."""


@dataclass(frozen=True, slots=True)
class Cell:
    victim: Victim
    step: Step
    ack: Ack
    competitor: bool
    """True if a plain share consumer is in the group, too."""

    @property
    def name(self) -> str:
        """The name as `--cells` matches it: `runner@acquired/commit/alone`."""
        return f"{self.victim}@{self.step}/{self.ack}/{'member' if self.competitor else 'alone'}"

    @property
    def remark(self) -> str | None:
        """The meaning of 'at the step' for a victim that takes no part in the step; None for other victims."""
        own, elsewhere = _ELSEWHERE[self.victim]
        return None if self.step in own else elsewhere


def all_cells() -> list[Cell]:
    return [
        Cell(victim, step, ack, competitor)
        for ack, competitor in product(Ack, (False, True))
        for step in ORDER[ack]
        for victim in Victim
    ]


CHOSEN: Final = (
    Cell(Victim.WORKER, Step.READ, Ack.COMMIT, True),
    Cell(Victim.WORKER, Step.ACQUIRED, Ack.LOG, False),
    Cell(Victim.RUNNER, Step.ACQUIRED, Ack.COMMIT, True),
    Cell(Victim.RUNNER, Step.COMMITS_WRITTEN, Ack.COMMIT, True),
    Cell(Victim.JVM, Step.OFFSETS_WRITTEN, Ack.LOG, True),
    Cell(Victim.JVM, Step.SINK_WRITTEN, Ack.COMMIT, True),
    Cell(Victim.BROKER, Step.READ, Ack.COMMIT, True),
    Cell(Victim.BROKER, Step.ACCEPTED, Ack.COMMIT, False),
)
"""The cells that every change is tried on: each victim, each step, both kinds of `ack`, with and without another
member.
"""


def select(patterns: Sequence[str], cells: Iterable[Cell]) -> list[Cell]:
    """Return the cells whose names match one of the shell patterns. Raise ValueError for a pattern without a match."""
    known = list(cells)
    for pattern in patterns:
        if not any(fnmatchcase(cell.name, pattern) for cell in known):
            raise ValueError(f"no cell is called {pattern!r}; names are like {known[0].name!r}")
    return [cell for cell in known if any(fnmatchcase(cell.name, pattern) for pattern in patterns)]
