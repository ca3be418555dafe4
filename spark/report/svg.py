"""Charts over time as inline SVG. Colours are classes, so that the page decides by light and dark. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from shareq.spark.report.scales import Span, compact, elapsed, thinned, time_step, time_ticks, value_ticks

# In units of the view box. About the width of a phone, so that the letters there are not smaller than on paper.
WIDTH, HEIGHT = 460, 196
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 10, 20, 22
_PLOT_W, _PLOT_H = WIDTH - _LEFT - _RIGHT, HEIGHT - _TOP - _BOTTOM
_HEAD = 7  # radius of a flag's head
COLUMNS: Final = 90
_MOST_POINTS: Final = 400


@dataclass(frozen=True, slots=True)
class Flag:
    """A vertical line with a number at its head; `kind` is its class."""

    at_ms: int
    number: int
    text: str
    kind: str


@dataclass(frozen=True, slots=True)
class Bars:
    """Amounts by column of time, stacked on the series before; `kind` is the class of the colour."""

    label: str
    kind: str
    amounts: Sequence[float]


@dataclass(frozen=True, slots=True)
class Line:
    """A value over time: points, or pieces of them where it was not known in between (None)."""

    label: str
    kind: str
    points: Sequence[tuple[int, float | None]]


def column_ms(span: Span) -> int:
    """How long one column of a bar chart is."""
    return time_step(span.length_ms, COLUMNS)


def bar_chart(series: Sequence[Bars], span: Span, flags: Sequence[Flag], unit: str) -> str:
    """Stacked bars, one for each `column_ms`."""
    step = column_ms(span)
    stacked = [sum(column) for column in zip(*(one.amounts for one in series), strict=True)]
    ticks = value_ticks(max(stacked, default=0))
    width = _PLOT_W * step / span.length_ms
    gap = 1.0 if width > 4 else 0.0
    parts = [_axes(ticks, span)]
    for column, total in enumerate(stacked):
        if not total:
            continue
        left = _LEFT + column * width
        top = 0.0
        rects = []
        for one in series:
            amount = one.amounts[column]
            low, top = top, top + amount
            if amount:
                y, y_low = _y(top, ticks[-1]), _y(low, ticks[-1])
                drawn = max(min(width, WIDTH - _RIGHT - left) - gap, 0.6)
                rects.append(
                    f'<rect class="{one.kind}" x="{left:.1f}" y="{y:.1f}" width="{drawn:.1f}"'
                    f' height="{max(y_low - y, 0.8):.1f}"/>'
                )
        figures = ", ".join(f"{one.label} {one.amounts[column]:,.0f}" for one in series)
        parts.append(
            f"<g>{''.join(rects)}<title>{elapsed(column * step)}: {escape(figures)} {escape(unit)}</title></g>"
        )
    return _svg(parts, span, flags, ", ".join(one.label for one in series))


def line_chart(series: Sequence[Line], span: Span, flags: Sequence[Flag], unit: str) -> str:
    """Lines; the first is filled below."""
    ticks = value_ticks(max((value for one in series for _, value in one.points if value is not None), default=0))
    parts = [_axes(ticks, span)]
    for number, one in enumerate(series):
        for piece in _pieces(one.points):
            points = [(_x(at, span), _y(value, ticks[-1])) for at, value in thinned(piece, _MOST_POINTS)]
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
            if number == 0 and len(points) > 1:
                base = _y(0, 1)
                closed = f"{points[0][0]:.1f},{base} {path} {points[-1][0]:.1f},{base}"
                parts.append(f'<polygon class="{one.kind} below" points="{closed}"/>')
            if len(points) > 1:
                parts.append(f'<polyline class="{one.kind}" points="{path}"/>')
            parts += _dots(one, piece, span, ticks[-1], unit, shown=len(points) == 1)
    return _svg(parts, span, flags, ", ".join(one.label for one in series))


def _dots(
    one: Line, piece: Sequence[tuple[int, float]], span: Span, highest: float, unit: str, *, shown: bool
) -> list[str]:
    """What a pointer over a point shows; a point that has no line to it is seen."""
    kind = f"{one.kind} dot" if shown else "hover"
    return [
        f'<circle class="{kind}" cx="{_x(at, span):.1f}" cy="{_y(value, highest):.1f}" r="{2.5 if shown else 5}">'
        f"<title>{elapsed(at - span.start_ms)}: {escape(one.label)} {value:,.0f} {escape(unit)}</title></circle>"
        for at, value in thinned(piece, _MOST_POINTS)
    ]


def _pieces(points: Sequence[tuple[int, float | None]]) -> list[list[tuple[int, float]]]:
    pieces: list[list[tuple[int, float]]] = [[]]
    for at, value in points:
        if value is not None:
            pieces[-1].append((at, value))
        elif pieces[-1]:
            pieces.append([])
    return [piece for piece in pieces if piece]


def _axes(ticks: Sequence[float], span: Span) -> str:
    parts = []
    for tick in ticks:
        y = _y(tick, ticks[-1])
        kind = "axis" if tick == 0 else "grid"
        parts.append(f'<line class="{kind}" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text class="tick" x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{compact(tick)}</text>')
    for at in time_ticks(span):
        x = _x(span.start_ms + at, span)
        anchor = "end" if x > WIDTH - _RIGHT - 12 else "middle"
        parts.append(f'<text class="tick" x="{x:.1f}" y="{HEIGHT - 6}" text-anchor="{anchor}">{elapsed(at)}</text>')
    return "".join(parts)


def _svg(parts: Sequence[str], span: Span, flags: Sequence[Flag], label: str) -> str:
    drawn, head = [], float("-inf")
    for flag in flags:
        near = _x(flag.at_ms, span) - head < 2 * _HEAD + 1
        drawn.append(_flag(flag, span, _TOP + 5 if near else _TOP - 11))
        head = float("-inf") if near else _x(flag.at_ms, span)
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(label)} over time">'
        f"{''.join(parts)}{''.join(drawn)}</svg>"
    )


def _flag(flag: Flag, span: Span, head_y: float) -> str:
    x = _x(flag.at_ms, span)
    return (
        f'<g class="flag {flag.kind}"><line x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP - 5}" y2="{HEIGHT - _BOTTOM}"/>'
        f'<circle cx="{x:.1f}" cy="{head_y}" r="{_HEAD}"/>'
        f'<text x="{x:.1f}" y="{head_y + 3.5}" text-anchor="middle">{flag.number}</text>'
        f"<title>{elapsed(flag.at_ms - span.start_ms)}: {escape(flag.text)}</title></g>"
    )


def _x(at_ms: int, span: Span) -> float:
    return _LEFT + _PLOT_W * min(max((at_ms - span.start_ms) / span.length_ms, 0.0), 1.0)


def _y(value: float, highest: float) -> float:
    return _TOP + _PLOT_H * (1 - value / highest)
