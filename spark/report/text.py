"""The same for a terminal: rows per second over time, drawn with block characters. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from shareq.spark.report.events import Mark, QueryEvents
from shareq.spark.report.scales import Span, compact, elapsed, spread

_EIGHTHS: Final = " ▁▂▃▄▅▆▇█"


def text_chart(query: QueryEvents, *, marks: Sequence[Mark] = (), width: int = 72, height: int = 6) -> str:
    """Lines of `width` columns and a scale on their left; marks are letters below, explained in the lines after it."""
    span = Span(query.batches[0].start_ms, max(batch.end_ms for batch in query.batches) + 1)
    step = max(1, -(-span.length_ms // width))
    rows = spread(((one.start_ms, one.end_ms, one.rows) for one in query.batches), span, step)
    rates = [amount * 1000 / step for amount in rows]
    highest = max(rates) or 1.0
    lines = []
    for level in range(height, 0, -1):
        label = compact(highest) if level == height else ""
        lines.append(f"{label:>7} │{''.join(_block(rate / highest * height - (level - 1)) for rate in rates)}")
    lines.append(f"{'0':>7} └{'─' * len(rates)}")
    below, legend = _marks(span, step, len(rates), marks)
    lines.append(f"{'':>8} {below}")
    axis = f"0:00{elapsed(span.length_ms):>{max(len(rates) - 4, 5)}}"
    drawn = [f"{query.name}: rows per second", *lines, f"{'':>8} {axis}", *legend]
    return "\n".join(line.rstrip() for line in drawn)


def _block(eighths_of: float) -> str:
    return _EIGHTHS[min(max(round(eighths_of * 8), 0), 8)]


def _marks(span: Span, step: int, width: int, marks: Sequence[Mark]) -> tuple[str, list[str]]:
    below = [" "] * width
    legend = []
    inside = (mark for mark in sorted(marks) if span.start_ms <= mark.at_ms <= span.end_ms)
    for letter, mark in zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", inside, strict=False):
        column = min((mark.at_ms - span.start_ms) // step, width - 1)
        while below[column] != " " and column + 1 < width:
            column += 1
        below[column] = letter
        legend.append(f"{'':>8} {letter} {elapsed(mark.at_ms - span.start_ms)} {mark.text}")
    return "".join(below), legend
