"""Numbers and times for people: ticks of axes, short labels, columns of time. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

SECOND: Final = 1000
_MINUTE, _HOUR, _DAY = 60 * SECOND, 3600 * SECOND, 86400 * SECOND
_STEPS_MS: Final = (
    *(SECOND * n for n in (1, 2, 5, 10, 15, 30)),
    *(_MINUTE * n for n in (1, 2, 5, 10, 15, 30)),
    *(_HOUR * n for n in (1, 2, 3, 6, 12)),
    *(_DAY * n for n in (1, 2, 7, 14, 28, 91, 182, 364)),
)


class Span(NamedTuple):
    """What an axis of time covers, in milliseconds since 1970; never empty."""

    start_ms: int
    end_ms: int

    @property
    def length_ms(self) -> int:
        return self.end_ms - self.start_ms


def value_ticks(highest: float, wanted: int = 4) -> list[float]:
    """From 0 to the first round number that `highest` does not exceed, in `wanted` steps or one more or less."""
    if highest <= 0:
        return [0.0, 1.0]
    raw = highest / wanted
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= raw * 0.999)
    return [step * number for number in range(math.ceil(highest / step - 1e-9) + 1)]


def time_step(length_ms: int, most: int) -> int:
    """The smallest round step, in milliseconds, of which `most` cover the length."""
    return next((step for step in _STEPS_MS if step * most >= length_ms), math.ceil(length_ms / most / _DAY) * _DAY)


def time_ticks(span: Span, most: int = 6) -> list[int]:
    """Round distances from the start of the span, in milliseconds."""
    step = time_step(span.length_ms, most)
    return list(range(0, span.length_ms + 1, step))


def compact(value: float) -> str:
    """950, 1.2k, 34k, 1.5M: three characters or a few more."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size * 0.9995:
            text = f"{value / size:.1f}" if abs(value) < 99.95 * size else f"{value / size:.0f}"
            return text.removesuffix(".0") + letter
    return f"{value:.3g}"


def elapsed(ms: int) -> str:
    """A time since the start: 0:05, 12:30, 3:00:00, 2d 6h."""
    seconds = ms // SECOND
    if ms >= 2 * _DAY:
        days, rest = divmod(seconds, 86400)
        return f"{days}d {rest // 3600}h" if rest >= 3600 else f"{days}d"
    hours, rest = divmod(seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def spread(pieces: Iterable[tuple[int, int, float]], span: Span, step_ms: int) -> list[float]:
    """Sums by column of time, of (start, end, amount), each spread evenly over its time; milliseconds since 1970."""
    columns = [0.0] * max(1, math.ceil(span.length_ms / step_ms))
    for start, end, amount in pieces:
        first, last = (min(max(at - span.start_ms, 0) // step_ms, len(columns) - 1) for at in (start, end))
        if first == last or end <= start:
            columns[first] += amount
            continue
        for column in range(first, last + 1):
            begin = span.start_ms + column * step_ms
            covered = min(end, begin + step_ms) - max(start, begin)
            columns[column] += amount * covered / (end - start)
    return columns


def thinned(points: Sequence[tuple[int, float]], most: int) -> list[tuple[int, float]]:
    """At most about `most` points: of neighbours the highest stays."""
    size = math.ceil(len(points) / most)
    if size <= 1:
        return list(points)
    return [max(points[at : at + size], key=lambda point: point[1]) for at in range(0, len(points), size)]
