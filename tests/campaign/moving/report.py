"""The rounds in the form of the document: a row for each way and cell."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Final

from devtools.provenance import machine
from tests.campaign.moving.rows import Row

_NUMBER: Final = re.compile(r"\d+")
"""The pattern of numbers. Lines that differ only in numbers count as equal."""


def markdown(rows: Sequence[Row], ways: Iterable[str], cells: Iterable[str]) -> list[str]:
    """Return the table, and the notes below it. A cell without rounds has no row."""
    carried_out = [row for row in rows if row.was_carried_out]
    names = list(cells)
    lines = [
        "| | rounds | kills | lost/again/unlike | cut-over s | pause s | its parts |",
        "| --- | --: | --: | --: | --: | --: | --: |",
    ]
    for way in ways:
        of_way = [row for row in carried_out if row.way == way]
        if of_way:
            lines.append(f"| **{way}** |")
            lines += [_row(cell, these) for cell in names if (these := [row for row in of_way if row.cell == cell])]
    return [*lines, "", *_remarks(rows)]


def _row(cell: str, rows: Sequence[Row]) -> str:
    wrong = "/".join(str(sum(getattr(row, name) for row in rows)) for name in ("lost", "again", "unlike"))
    kills = sum(row.kills for row in rows)
    cut_over = _seconds(row.cut_over_s for row in rows)
    pause = _seconds(row.pause_s for row in rows)
    parts = [row.pause_parts_s for row in rows if row.pause_parts_s]
    of_it = "+".join(f"{median(each):.1f}" for each in zip(*parts, strict=True))
    return f"| {cell} | {len(rows)} | {kills} | {wrong} | {cut_over} | {pause} | {of_it} |"


def _seconds(values: Iterable[float | None]) -> str:
    """Return the median and the longest; a single number if these are equal."""
    found = [value for value in values if value is not None]
    return "/".join(dict.fromkeys((f"{median(found):.1f}", f"{max(found):.1f}"))) if found else ""


def _remarks(rows: Sequence[Row]) -> list[str]:
    carried_out = [row for row in rows if row.was_carried_out]
    lines = [
        f"On {machine()}, median load {median([row.load for row in carried_out] or [0]):.0f}: {len(carried_out):,} "
        f"rounds, {sum(row.records for row in carried_out):,} records, {sum(row.drained for row in carried_out):,} of "
        f"them done before the cut-over, {sum(row.kills for row in carried_out)} kills in "
        f"{sum(row.runs for row in carried_out)} runs; "
        f"{sum(row.twice for row in carried_out):,} records came more than once before a confirmation; for "
        f"{sum(row.unknown for row in carried_out):,} the acknowledgement's answer was lost: its outcome is unknown; "
        f"{sum(row.hung for row in carried_out)} clients hung and were replaced."
    ]
    alike: dict[str, list[str]] = {}
    for line in (f"{row.way}, {row.cell}, round {row.number}: {line}" for row in rows for line in row.broken):
        alike.setdefault(_NUMBER.sub("", line), []).append(line)
    if alike:
        more = [(same[0], f" (and {len(same) - 1} alike)" if len(same) > 1 else "") for same in alike.values()]
        lines += ["", *(f"* {line}{others}" for line, others in more[:20])]
    return lines
