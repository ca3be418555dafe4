"""Names and colours of the states of records, and of counters over time: the same in the terminal, in the console and
on dashboards.

Colours have a contrast of at least 3 to 1 with the background they are for (WCAG 2.2, 1.4.11); letters and names say
the same without them.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple, get_args

State = Literal["available", "delayed", "waiting", "acquired", "acknowledged", "archiving", "archived", "unfinished"]
"""The states of the records API, and `unfinished` if no more is known: available, or acquired by a member."""
Figure = Literal[
    "lag",
    "in flight",
    "acquired",
    "written",
    "delivered",
    "redelivered",
    "lost",
    "acknowledged",
    "finished",
    "archived",
]
"""Figures that charts show over time.

A figure with a state's name counts records that are in the state, or enter it.
"""

LIGHT_BACKGROUND: Final = "#ffffff"
DARK_BACKGROUND: Final = "#16181d"
GRAFANA_DARK: Final = "#181b1f"
"""The background of Grafana's panels in its dark theme; that of the light theme is `LIGHT_BACKGROUND`."""


class Tone(NamedTuple):
    """Colours (#rrggbb):

    `light` and `dark` are for such backgrounds, `either` for a page that does not know its background.
    """

    light: str
    dark: str
    either: str


class Look(NamedTuple):
    """The look of a state: `letter` without colour, `tone` on a page, `ansi` among a terminal's 256 colours."""

    letter: str
    tone: Tone
    ansi: int
    meaning: str


class Line(NamedTuple):
    """The look of a figure over time."""

    tone: Tone
    meaning: str


LOOKS: Final[dict[State, Look]] = {
    "available": Look("a", Tone("#2563eb", "#6ea8fe", "#2563eb"), 33, "may be delivered"),
    "delayed": Look("d", Tone("#7c3aed", "#b79bff", "#7c3aed"), 99, "may be delivered again later"),
    "waiting": Look("w", Tone("#856404", "#e3c341", "#8f6d06"), 178, "waits for an earlier record of its key"),
    "acquired": Look("Q", Tone("#c2410c", "#fb923c", "#d9670b"), 208, "locked by a member"),
    "acknowledged": Look("k", Tone("#15803d", "#4ade80", "#15803d"), 35, "accepted"),
    "archiving": Look("x", Tone("#be185d", "#f783c4", "#d6336c"), 205, "given up, its dead letter is being written"),
    "archived": Look("X", Tone("#991b1b", "#ff8f8f", "#d22d2d"), 160, "given up, or no longer in the log"),
    "unfinished": Look(
        "?",
        Tone("#57606a", "#9aa4b2", "#79828e"),
        245,
        "available, or locked by a member: the broker does not say",
    ),
}
STATES: Final[tuple[State, ...]] = get_args(State)


def _as(state: State, meaning: str) -> Line:
    return Line(LOOKS[state].tone, meaning)


LINES: Final[dict[Figure, Line]] = {
    "lag": Line(Tone("#0e7490", "#22d3ee", "#0891b2"), "records that the group has not finished with"),
    "in flight": Line(Tone("#4338ca", "#a5b4fc", "#6366f1"), "offsets between the group's start and what it read last"),
    "acquired": _as("acquired", "records locked by members"),
    "written": _as("available", "records that producers have written"),
    "delivered": _as("acquired", "records handed out to members, again included"),
    "redelivered": Line(Tone("#a21caf", "#f0abfc", "#c026d3"), "records handed out once more"),
    "lost": Line(Tone("#7c2d12", "#d6a184", "#a0624a"), "locks that ran out"),
    "acknowledged": _as("acknowledged", "records acknowledged as processed"),
    "finished": _as("acknowledged", "records acknowledged or archived"),
    "archived": _as("archived", "records given up"),
}
"""The lines of charts. No two figures in one chart have the same colour."""
FIGURES: Final[tuple[Figure, ...]] = get_args(Figure)
