"""The rounds as the document shows them: a row for each cell and cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import median

from devtools.provenance import machine
from tests.campaign.cluster_kills.brokers import OURS
from tests.campaign.cluster_kills.rows import Row, of


def markdown(rows: Sequence[Row], cells: Iterable[str]) -> list[str]:
    """Return the table, a column for each cluster, and its remarks.

    Cells and clusters without a round have no row or column.
    """
    judged = [row for row in rows if row.was_carried_out]
    clusters = sorted({row.cluster for row in judged}, key=_order)
    lines = [f"| fault | allowed s | {' | '.join(clusters)} |", "| --- | --: |" + " --- |" * len(clusters)]
    for cell in cells:
        of_cell = [row for row in judged if row.cell == cell]
        if of_cell:
            allowed = "/".join(f"{within_s:g}" for within_s in sorted({row.within_s for row in of_cell}))
            found = [_reported(of(of_cell, cell, cluster)) for cluster in clusters]
            lines.append(f"| {cell} | {allowed} | {' | '.join(found)} |")
    return [*lines, "", *_remarks(rows)]


def _order(cluster: str) -> tuple[bool, list[int]]:
    """Return a sort key: our broker first, then versions of Apache Kafka, the newest first."""
    return cluster != OURS, [] if cluster == OURS else [-int(part) for part in cluster.split(".")]


def _reported(rows: Sequence[Row]) -> str:
    """Return the number of rounds, their faults, the median and longest pause, and the late ones."""
    if not rows:
        return ""
    wrong = "/".join(str(sum(getattr(row, name) for row in rows)) for name in ("lost", "again", "unlike"))
    pauses = sorted(_pause(row) for row in rows)
    late = [f"{row.load:.0f}" for row in rows if row.is_late]
    too_late = f"; {len(late)} late, at load {', '.join(late)}" if late else ""
    return f"{len(rows)}: {wrong}, {median(pauses):.1f}/{pauses[-1]:.1f}{too_late}"


def _pause(row: Row) -> float:
    return float("inf") if row.pause_s is None else row.pause_s


def _remarks(rows: Sequence[Row]) -> list[str]:
    notes = Counter(row.note for row in rows if row.note)
    lines = [
        f"On {machine()}, median load {median([row.load for row in rows] or [0]):.0f}: "
        f"{sum(row.was_carried_out for row in rows):,} rounds, {sum(row.records for row in rows):,} records; "
        f"{sum(row.twice for row in rows):,} came twice before a confirmation, {sum(row.unknown for row in rows):,} "
        f"answers got lost; {sum(row.hung for row in rows)} clients hung and were replaced, in "
        f"{sum(row.replaced for row in rows)} rounds one stood still and new ones went on."
    ]
    if notes:
        states = ", ".join(f"{times} {note}" for note, times in sorted(notes.items()))
        lines[0] += f" Nodes when they were killed: {states}."
    broken = [(row, line) for row in rows for line in row.broken]
    lines += [f"* {row.cell}, {row.cluster}, round {row.number}: {line}" for row, line in broken[:20]]
    return lines
