"""The matrix as people read it: a line for each cell while it runs, and the tables that are committed. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

from tests.spark.kills.cells import Ack, Cell, Step, Victim, all_cells
from tests.spark.kills.ledger import Verdict

COLUMNS: Final = tuple(product(Ack, (False, True)))
HEADS: Final = [f"ack={ack}, {'with a member' if competitor else 'alone'}" for ack, competitor in COLUMNS]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one cell."""

    cell: Cell
    took_s: float
    verdict: Verdict | None = None
    query: str = ""
    """The fate of the query: `went on`, `ended`, `ended with the JVM`."""
    ended_by: str = ""
    """The error that it ended with."""
    error: str | None = None
    """The reason for which the cell could not be brought to its end; there is no verdict then."""

    @property
    def passed(self) -> bool:
        return self.verdict is not None and not self.verdict.faults

    def line(self) -> str:
        """Return the line for the terminal."""
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
    """The circumstances of the figures."""

    broker: str
    seed: int
    commit: str
    machine: str
    date: str
    took_s: float


def markdown(outcomes: Sequence[Outcome], facts: Facts) -> list[str]:
    """Figures of the whole, then the cells: a row for each victim and step, a column for each `ack`, alone or not."""
    return [*_summary(outcomes, facts), "", *_cells(outcomes)]


def _summary(outcomes: Sequence[Outcome], facts: Facts) -> list[str]:
    verdicts = [one.verdict for one in outcomes if one.verdict is not None]
    ran = {one.cell for one in outcomes}
    passed = sum(one.passed for one in outcomes)

    def total(name: str) -> str:
        return f"{sum(len(getattr(one, name)) for one in verdicts):,}"

    rows = [
        ("cells", f"{len(ran)} of {len(all_cells())}, {passed} passed"),
        ("records", f"{sum(one.records for one in verdicts):,}"),
        ("lost", total("lost")),
        ("twice within Spark", total("doubled")),
        ("micro-batches run again after a kill", total("replayed")),
        ("· that the sink had got before, too", total("compared")),
        ("micro-batches that changed", total("changed")),
        ("with Spark and the member, lock lost before", total("shared")),
        ("with Spark and the member, otherwise", total("stolen")),
        ("acknowledgements of the member cut off", f"{sum(one.cut_off for one in verdicts):,}"),
        *_fates(outcomes),
        ("at", facts.broker),
        ("seed", f"{facts.seed}"),
        ("commit", facts.commit),
        ("machine", facts.machine),
        ("date, duration", f"{facts.date}, {facts.took_s / 60:.0f} min"),
    ]
    return ["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows)]


def _fates(outcomes: Sequence[Outcome]) -> list[tuple[str, str]]:
    """Return the fates of the queries, by victim: a figure that shows whether one notices a kill at all."""
    rows = []
    for victim in Victim:
        fates = Counter(one.query for one in outcomes if one.cell.victim is victim and one.verdict is not None)
        if fates:
            rows.append((f"query, {victim} killed", ", ".join(f"{fate}: {n}" for fate, n in sorted(fates.items()))))
    return rows


def _cells(outcomes: Sequence[Outcome]) -> list[str]:
    by_cell = {one.cell: one for one in outcomes}
    lines = [f"| killed | at | {' | '.join(HEADS)} |", "|---|---|" + "---|" * len(HEADS)]
    for victim, step in product(Victim, Step):
        cells = [Cell(victim, step, ack, competitor) for ack, competitor in COLUMNS]
        lines.append(f"| {victim} | {step} | {' | '.join(_reported(by_cell.get(cell)) for cell in cells)} |")
    return lines


def _reported(outcome: Outcome | None) -> str:
    if outcome is None:
        return "not run"
    if outcome.verdict is None:
        return "**failed**: no end"
    if outcome.verdict.faults:
        return f"**failed**: {outcome.verdict.faults[0].partition(':')[0]}"
    seen = outcome.verdict
    shared = f", {len(seen.shared)} shared" if outcome.cell.competitor else ""
    return f"0 of {seen.records} lost{shared}, {len(seen.replayed)} replayed"


def remarks() -> list[str]:
    """Return the meaning of 'at' for victims without a part in the step."""
    reported: dict[tuple[Victim, str], set[Step]] = {}
    for cell in all_cells():
        if cell.remark is not None:
            reported.setdefault((cell.victim, cell.remark), set()).add(cell.step)
    return [
        f"* {victim} at {', '.join(step for step in Step if step in steps)}: {remark}."
        for (victim, remark), steps in reported.items()
    ]
