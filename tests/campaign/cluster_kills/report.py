"""The rounds as the document has them: a row for each cell and cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import median

from devtools.provenance import machine
from tests.campaign.cluster_kills.brokers import OURS
from tests.campaign.cluster_kills.rows import Row, of


def markdown(rows: Sequence[Row], cells: Iterable[str]) -> list[str]:
    """Return the table, and what is to be said beside it. Cells and clusters without a round have no row."""
    clusters = sorted({row.cluster for row in rows}, key=_order)
    judged = [row for row in rows if row.was_carried_out]
    found = [(cell, cluster, of(judged, cell, cluster)) for cell in cells for cluster in clusters]
    return [
        "| | cluster | rounds | records | lost / again / unlike | median s | longest s | allowed s | late | load |",
        "| --- | --- | --: | --: | --: | --: | --: | --: | --- | --: |",
        *(_row(cell, cluster, these) for cell, cluster, these in found if these),
        "",
        *_remarks(rows),
    ]


def _order(cluster: str) -> tuple[bool, list[int]]:
    """Ours first, then the newest."""
    return cluster != OURS, [] if cluster == OURS else [-int(part) for part in cluster.split(".")]


def _row(cell: str, cluster: str, rows: Sequence[Row]) -> str:
    wrong = " / ".join(str(sum(getattr(row, name) for row in rows)) for name in ("lost", "again", "unlike"))
    pauses = sorted(_pause(row) for row in rows)
    late = [row for row in rows if row.is_late]
    too_late = f"{len(late)}, at load {', '.join(f'{row.load:.0f}' for row in late)}" if late else "0"
    return (
        f"| {cell} | {cluster} | {len(rows)} | {sum(row.records for row in rows):,} | {wrong} "
        f"| {median(pauses):.1f} | {pauses[-1]:.1f} | {rows[0].within_s:g} | {too_late} "
        f"| {median(row.load for row in rows):.1f} |"
    )


def _pause(row: Row) -> float:
    return float("inf") if row.pause_s is None else row.pause_s


def _remarks(rows: Sequence[Row]) -> list[str]:
    notes = Counter(row.note for row in rows if row.note)
    lines = [
        f"On {machine()}. {sum(row.was_carried_out for row in rows):,} rounds, "
        f"{sum(row.records for row in rows):,} records; "
        f"{sum(row.twice for row in rows):,} came twice before a confirmation, of {sum(row.unknown for row in rows):,} "
        f"the client never got the answer, {sum(row.hung for row in rows)} times a client hung and was replaced, "
        f"in {sum(row.replaced for row in rows)} rounds one stood still, and new ones got what it had left."
    ]
    if notes:
        states = ", ".join(f"{times} {note}" for note, times in sorted(notes.items()))
        lines[0] += f" Heirs when they were killed: {states}."
    broken = [(row, line) for row in rows for line in row.broken]
    lines += [f"* {row.cell}, {row.cluster}, round {row.number}: {line}" for row, line in broken[:20]]
    return lines
