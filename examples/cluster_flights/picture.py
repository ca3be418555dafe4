"""The records that were confirmed, over time, as an SVG in the look of the documentation's pictures."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise
from math import inf
from pathlib import Path
from typing import Final, NamedTuple

WIDTH, HEIGHT = 900, 344
LEFT, RIGHT, TOP, BOTTOM = 96, 856, 60, 272
"""The area that the curve is drawn in."""
AFTER_S: Final = 10.0
"""The seconds after a kill in which its pause must begin; the pause also begins before the next kill."""
_STEPS: Final = 240
_LINE: Final = 17
_LOOK: Final = Path(__file__).resolve().parents[2] / "docs" / "record-life.svg"


class Kill(NamedTuple):
    """A kill: its target, its time in seconds, and the longest pause between two confirmations after it."""

    what: str
    at_s: float
    pause_s: float

    @classmethod
    def all_of(cls, kills: Sequence[tuple[str, float]], times_s: Sequence[float]) -> list[Kill]:
        """Return kills, each with the longest pause that ascending times of confirmations show after it."""
        ends_s = [*(at_s for _, at_s in kills[1:]), inf]
        return [
            cls(what, at_s, _longest(times_s, at_s, min(at_s + AFTER_S, end_s)))
            for (what, at_s), end_s in zip(kills, ends_s, strict=True)
        ]


def _longest(times_s: Sequence[float], first_s: float, last_s: float) -> float:
    """Return the longest pause that begins between these two times; a pause may begin at `first_s` itself."""
    first, last = bisect_left(times_s, first_s), bisect_left(times_s, last_s)
    return max((later - earlier for earlier, later in pairwise([first_s, *times_s[first : last + 1]])), default=0.0)


def picture(times_s: Sequence[float], produced: int, kills: Sequence[Kill]) -> str:
    """Return the picture of ascending times of confirmations, in seconds from the first delivery on."""
    end_s = max(times_s[-1] if times_s else 0.0, *(kill.at_s for kill in kills), 1.0)
    deaths = ", ".join(f"the {kill.what} killed at {kill.at_s:.1f} s" for kill in kills)
    title = f"{len(times_s):,} of {produced:,} records confirmed in {end_s:.1f} s, {deaths}."
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        'aria-labelledby="title" font-family="system-ui, sans-serif">',
        f'  <title id="title">{title}</title>',
        _style(),
        f'  <rect class="card" x="1" y="1" width="{WIDTH - 2}" height="{HEIGHT - 2}" rx="10"/>',
        f'  <rect class="box" x="{LEFT}" y="{TOP}" width="{RIGHT - LEFT}" height="{BOTTOM - TOP}"/>',
        f'  <path class="done" d="{_curve(times_s, max(produced, 1), end_s)}"/>',
        f'  <text class="name left" x="{LEFT}" y="24">records confirmed</text>',
    ]
    for part in range(5):
        y = BOTTOM - (BOTTOM - TOP) * part / 4
        lines.append(f'  <text class="note" x="{LEFT // 2}" y="{y + 5:.0f}">{produced * part // 4:,}</text>')
        x = LEFT + (RIGHT - LEFT) * part / 4
        lines.append(f'  <text class="note" x="{x:.0f}" y="{BOTTOM + 22}">{end_s * part / 4:.1f} s</text>')
    for number, kill in enumerate(kills):
        x = LEFT + (RIGHT - LEFT) * kill.at_s / end_s
        down = _LINE * (number % 2)  # two that are close to each other do not cover each other
        lines.append(f'  <path class="dead" d="M{x:.1f} {TOP}V{BOTTOM}"/>')
        lines.append(f'  <text x="{x:.1f}" y="{TOP - 8 - down}">{kill.what} killed</text>')
        lines.append(f'  <text class="note" x="{x:.1f}" y="{BOTTOM + 40 + down}">pause {kill.pause_s:.1f} s</text>')
    return "\n".join([*lines, "</svg>", ""])


def _curve(times_s: Sequence[float], produced: int, end_s: float) -> str:
    """Return the area below the count, by `_STEPS` moments."""
    points = []
    for step in range(_STEPS + 1):
        count = bisect_right(times_s, end_s * step / _STEPS)
        x = LEFT + (RIGHT - LEFT) * step / _STEPS
        points.append(f"L{x:.1f} {BOTTOM - (BOTTOM - TOP) * count / produced:.1f}")
    return f"M{LEFT} {BOTTOM}{''.join(points)}V{BOTTOM}Z"


def _style() -> str:
    """Return the CSS that all pictures of the documentation share."""
    text = _LOOK.read_text()
    return "  " + text[text.index("<style>") : text.index("</style>") + len("</style>")]
