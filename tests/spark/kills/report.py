"""The matrix for readers: a line for each cell while it runs, and the tables that are committed. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from tests.spark.kills.cells import Cell, Victim, all_cells
from tests.spark.kills.ledger import Verdict


@dataclass(frozen=True, slots=True)
class Outcome:
    cell: Cell
    took_s: float
    verdict: Verdict | None = None
    query: str = ""
    """The fate of the query: `went on`, `ended`, `ended with the JVM`."""
    ended_by: str = ""
    """The error with which the query ended."""
    error: str | None = None
    """The reason why the cell could not be completed; there is no verdict then."""

    @property
    def passed(self) -> bool:
        return self.verdict is not None and not self.verdict.faults

    def line(self) -> str:
        head = f"{self.cell.name:<38} {self.took_s:5.1f} s  "
        if self.verdict is None:
            return f"{head}FAILED: {self.error}"
        seen = self.verdict
        figures = (
            f"records {seen.records}, Spark {seen.in_spark}, member {seen.in_competitor}, lost {len(seen.lost)}, "
            f"shared {len(seen.shared)}, replayed {len(seen.replayed)}, compared {len(seen.compared)}; "
            f"query {self.query}{f' by {self.ended_by[:100]}' if self.ended_by else ''}"
        )
        return head + figures + "".join(f"\n    FAILED: {fault}" for fault in seen.faults)


@dataclass(frozen=True, slots=True)
class Facts:
    broker: str
    seed: int
    commit: str
    machine: str
    date: str
    took_s: float


def markdown(outcomes: Sequence[Outcome], facts: Facts) -> list[str]:
    """Return the circumstances, a row for each victim, and every cell that failed or was not run."""
    ran = {one.cell for one in outcomes}
    lines = [
        f"{facts.broker}, seed {facts.seed}, commit {facts.commit}, {facts.machine}, {facts.date}, "
        f"{facts.took_s / 60:.0f} min:",
        "",
        f"| killed | {' | '.join(name for name, _ in _COLUMNS)} |",
        "|---|" + "---|" * len(_COLUMNS),
    ]
    by_victim = {victim: [one for one in outcomes if one.cell.victim is victim] for victim in Victim}
    lines += [_row(victim, own) for victim, own in by_victim.items() if own]
    failed = [f"* {one.cell.name}: {_fault(one)}" for one in outcomes if not one.passed]
    missing = [cell for cell in all_cells() if cell not in ran]
    if missing:
        failed.append(f"* not run: {len(missing)} of {len(all_cells())} cells")
    return [*lines, *(["", *failed] if failed else [])]


def _row(name: str, outcomes: Sequence[Outcome]) -> str:
    return f"| {name} | {' | '.join(show(outcomes) for _, show in _COLUMNS)} |"


def _total(*names: str) -> Callable[[Sequence[Outcome]], str]:
    """Return a function that makes a cell of the table: the sums of lists of verdicts."""
    return lambda outcomes: "/".join(
        f"{sum(len(getattr(one.verdict, name)) for one in outcomes if one.verdict is not None):,}" for name in names
    )


def _fates(outcomes: Sequence[Outcome]) -> str:
    """Return how often each fate of a query occurred, which shows that queries do notice kills."""
    fates = Counter(one.query for one in outcomes if one.verdict is not None)
    return ", ".join(f"{fate}: {n}" for fate, n in sorted(fates.items()))


_COLUMNS: Final[Sequence[tuple[str, Callable[[Sequence[Outcome]], str]]]] = (
    ("cells passed", lambda own: f"{sum(one.passed for one in own)} of {len(own)}"),
    ("records", lambda own: f"{sum(one.verdict.records for one in own if one.verdict is not None):,}"),
    ("lost/twice/changed/stolen", _total("lost", "doubled", "changed", "stolen")),
    ("replayed/compared", _total("replayed", "compared")),
    ("shared", _total("shared")),
    ("cut off", lambda own: f"{sum(one.verdict.cut_off for one in own if one.verdict is not None):,}"),
    ("query", _fates),
)


def _fault(outcome: Outcome) -> str:
    if outcome.verdict is None:
        return "**failed**: no end"
    return f"**failed**: {outcome.verdict.faults[0].partition(':')[0]}"
