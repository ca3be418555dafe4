"""The report of a soak: verdicts and turns, which are committed; memory and open files over time, for the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from statistics import median
from typing import Final

from devtools.provenance import commit, machine
from tests.campaign.soak.soak import SoakResult

RUNS: Final = (
    "broker",
    "coordinator",
    "protocol",
    "devtools",
    "tests/campaign/history",
    "tests/campaign/storage",
    "tests/campaign/soak",
)
BEGIN, END = "<!-- soak -->", "<!-- end of soak -->"
COLUMNS: Final = 60
_BARS: Final = "▁▂▃▄▅▆▇█"


def sparkline(points: Sequence[tuple[float, float]], columns: int = COLUMNS) -> str:
    """Return a bar for each column of time, between the least and the greatest of all values: its median.

    A column without values is a space. Points are ordered by time.
    """
    if not points:
        return ""
    begin, width = points[0][0], (points[-1][0] - points[0][0]) / columns or 1.0
    cells: list[list[float]] = [[] for _ in range(columns)]
    for at, value in points:
        cells[min(columns - 1, int((at - begin) / width))].append(value)
    medians = [median(cell) if cell else None for cell in cells]
    known = [one for one in medians if one is not None]
    low, span = min(known), (max(known) - min(known)) or 1.0
    return "".join(" " if one is None else _BARS[int((one - low) / span * (len(_BARS) - 1))] for one in medians)


def markdown(result: SoakResult) -> list[str]:
    turns = Counter(one.name for one in result.turns)
    lines = [
        f"{result.minutes:g} minutes, seed {result.seed}, {result.rounds} rounds of load, commit {commit(*RUNS)}, "
        f"{machine()}, {datetime.now(UTC):%Y-%m-%d}. Turns: "
        + ", ".join(f"{name} {count}" for name, count in sorted(turns.items()))
        + ".",
        "",
        "| verdict | | seen |",
        "|---|---|---|",
    ]
    return lines + [
        f"| {one.name} | {'sound' if one.sound else '**not sound**'} | {_cell(one.found)} |" for one in result.verdicts
    ]


def plots(result: SoakResult) -> list[str]:
    """Return a line of bars for each thing that was sampled, with its least and greatest value."""
    series = {
        "RSS, MB": [(one.at_s, one.rss_mb) for one in result.samples],
        "open files": [(one.at_s, float(one.descriptors)) for one in result.samples],
        "threads": [(one.at_s, float(one.threads)) for one in result.samples],
    }
    for name in sorted({name for one in result.samples for name in one.gauges}):
        series[name] = [(one.at_s, one.gauges[name]) for one in result.samples if name in one.gauges]
    return [
        f"{name:>17} {sparkline(points)} {min(value for _, value in points):,.0f} to "
        f"{max(value for _, value in points):,.0f}"
        for name, points in series.items()
        if points
    ]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
