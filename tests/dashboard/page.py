"""The dashboard's panels as a page: the grid of the dashboard, lines as SVG. The page says that it is not Grafana."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from tests.dashboard.dashboard import Panel
from tests.dashboard.prometheus import Series

COLUMN, ROW = 46, 21
"""The width and height in pixels of a cell of the grid, which has 24 columns."""
GAP: Final = 6
LEGENDS: Final = 6
COLOURS: Final = ("#7eb26d", "#eab839", "#6ed0e0", "#ef843c", "#e24d42", "#1f78c1", "#ba43a9", "#705da0", "#508642")
_SCALES: Final[Mapping[str, tuple[float, tuple[str, ...]]]] = {
    "bytes": (1024, ("B", "KiB", "MiB", "GiB", "TiB")),
    "Bps": (1024, ("B/s", "KiB/s", "MiB/s", "GiB/s")),
    "cps": (1000, ("/s", "k/s", "M/s")),
    "reqps": (1000, ("req/s", "k req/s", "M req/s")),
    "short": (1000, ("", "k", "M", "G")),
}
_STYLE: Final = """body{background:#181b1f;color:#ccccdc;font:11px sans-serif;margin:0}
h1{font-size:15px;margin:10px} main{position:relative} section{position:absolute;background:#22252b;overflow:hidden}
h2{font-size:11px;margin:4px 6px} .row{background:none} .row h2{font-size:13px} big{font-size:26px;display:block;
text-align:center;color:#7eb26d} svg{display:block;margin:0 6px} ul{list-style:none;margin:2px 6px;padding:0;
columns:2} li{white-space:nowrap;overflow:hidden} .none{color:#e24d42;margin:6px}"""


class Line(NamedTuple):
    """A series with its name in the legend; `colour` "": the next one of the palette."""

    name: str
    series: Series
    colour: str = ""


def number(value: float, unit: str) -> str:
    """Format a number as a person reads it: 3.4 MiB/s, 1.2 k, 24 %, 3 min; `-` for no number."""
    if math.isnan(value):
        return "-"
    if unit == "percentunit":
        return f"{value * 100:.3g} %"
    if unit == "s":
        size, name = next(((size, name) for size, name in ((60, "min"), (1, "s")) if value >= size), (0.001, "ms"))
        return f"{value / size:.3g} {name}"
    step, names = _SCALES[unit]
    place = 0
    while abs(value) >= step and place < len(names) - 1:
        value /= step
        place += 1
    return f"{value:.4g} {names[place]}".strip()


def page(title: str, panels: Sequence[tuple[Panel, Sequence[Line]]]) -> str:
    """Return the page as HTML; a panel without any series says so in red."""
    height = max(panel.y + panel.height for panel, _ in panels) * ROW
    cells = "".join(_section(panel, lines) for panel, lines in panels)
    return (
        f"<!doctype html><meta charset=utf-8><style>{_STYLE}</style><h1>{html.escape(title)}</h1>"
        f"<main style='width:{24 * COLUMN}px;height:{height}px'>{cells}</main>"
    )


def size(panels: Sequence[tuple[Panel, Sequence[Line]]]) -> tuple[int, int]:
    return 24 * COLUMN, max(panel.y + panel.height for panel, _ in panels) * ROW + 40


def _section(panel: Panel, lines: Sequence[Line]) -> str:
    width, height = panel.width * COLUMN - GAP, panel.height * ROW - GAP
    place = f"left:{panel.x * COLUMN}px;top:{panel.y * ROW}px;width:{width}px;height:{height}px"
    if panel.kind == "row":
        inside = ""
    elif not any(series.points for _, series, _ in lines):
        inside = "<p class=none>no series</p>"
    elif panel.kind == "stat":
        inside = "".join(f"<big>{number(series.points[-1][1], panel.unit)}</big>" for _, series, _ in lines)
    else:
        inside = _chart(lines, panel.unit, width - 12, height - 80) + _legend(lines, panel.unit)
    return f"<section class={panel.kind} style='{place}'><h2>{html.escape(panel.title)}</h2>{inside}</section>"


def _chart(lines: Sequence[Line], unit: str, width: int, height: int) -> str:
    points = [point for _, series, _ in lines for point in series.points if math.isfinite(point[1])]
    first, last = min((at for at, _ in points), default=0.0), max((at for at, _ in points), default=0.0)
    top = max((value for _, value in points), default=0.0) or 1.0
    drawn = "".join(
        f"<polyline fill=none stroke='{colour or COLOURS[place % len(COLOURS)]}' points='"
        + " ".join(
            f"{(at - first) / ((last - first) or 1) * width:.1f},{height - value / top * (height - 12):.1f}"
            for at, value in series.points
            if math.isfinite(value)
        )
        + "'/>"
        for place, (_, series, colour) in enumerate(lines)
    )
    mark = f"<text x=0 y=10 fill='#8e8e9e' font-size=10>{html.escape(number(top, unit))}</text>"
    return f"<svg width={width} height={height}>{mark}{drawn}</svg>"


def _legend(lines: Sequence[Line], unit: str) -> str:
    shown = "".join(
        f"<li><span style='color:{colour or COLOURS[place % len(COLOURS)]}'>&#9632;</span> {html.escape(name)}: "
        f"{number(series.points[-1][1], unit)}</li>"
        for place, (name, series, colour) in enumerate(lines[:LEGENDS])
    )
    more = f"<li>and {len(lines) - LEGENDS} more</li>" if len(lines) > LEGENDS else ""
    return f"<ul>{shown}{more}</ul>"
