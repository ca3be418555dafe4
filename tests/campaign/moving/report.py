"""The rounds as the document has them: a row for each way and cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import median

from devtools.provenance import machine
from tests.campaign.moving.rows import Row


def markdown(rows: Sequence[Row], ways: Iterable[str], cells: Iterable[str]) -> list[str]:
    """Return the tables, and what is to be said beside them. What has no round has no row."""
    carried_out = [row for row in rows if row.was_carried_out]
    names = list(cells)
    lines: list[str] = []
    for way in ways:
        of_way = [row for row in carried_out if row.way == way]
        if of_way:
            lines += [
                f"**From {way}**",
                "",
                "| | rounds | records | drained before | kills | runs | lost / again / unlike | cut-over s | longest "
                "| pause s | longest | load |",
                "| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |",
                *(_row(cell, these) for cell in names if (these := [row for row in of_way if row.cell == cell])),
                "",
            ]
    return [*lines, *_remarks(rows)]


def _row(cell: str, rows: Sequence[Row]) -> str:
    wrong = " / ".join(str(sum(getattr(row, name) for row in rows)) for name in ("lost", "again", "unlike"))
    figures = " | ".join(
        f"{sum(getattr(row, name) for row in rows):,}" for name in ("records", "drained", "kills", "runs")
    )
    cut_over = _seconds(row.cut_over_s for row in rows)
    pause = _seconds(row.pause_s for row in rows)
    return (
        f"| {cell} | {len(rows)} | {figures} | {wrong} | {cut_over} | {pause} "
        f"| {median(row.load for row in rows):.1f} |"
    )


def _seconds(values: Iterable[float | None]) -> str:
    """Return the median, and the longest."""
    found = [value for value in values if value is not None]
    return f"{median(found):.1f} | {max(found):.1f}" if found else "| "


def _remarks(rows: Sequence[Row]) -> list[str]:
    carried_out = [row for row in rows if row.was_carried_out]
    counted: Counter[str] = sum((Counter(row.counted) for row in carried_out), Counter())
    lines = [
        f"On {machine()}. {len(carried_out):,} rounds, {sum(row.records for row in carried_out):,} records, "
        f"{sum(row.kills for row in carried_out)} kills; {sum(row.twice for row in carried_out):,} records came more "
        f"than once before a confirmation, of {sum(row.unknown for row in carried_out):,} nobody got the answer, and "
        f"they did not come again; {sum(row.hung for row in carried_out)} times a client hung, and was replaced."
    ]
    if counted:
        lines += ["", "| what else happened | times |", "| --- | --: |"]
        lines += [f"| {name} | {times:,} |" for name, times in sorted(counted.items())]
    broken = [(row, line) for row in rows for line in row.broken]
    if broken:
        lines += ["", *(f"* {row.way}, {row.cell}, round {row.number}: {line}" for row, line in broken[:20])]
    return lines
