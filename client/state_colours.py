"""Names, letters and colours of the states of records: the same in the terminal, in the console and in reports.

Colours have a contrast of at least 3 to 1 with the background they are for (WCAG 2.2, 1.4.11); letters say the same
without them.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple, get_args

State = Literal["available", "delayed", "waiting", "acquired", "acknowledged", "archiving", "archived", "unfinished"]
"""As the records API has them; and `unfinished`, where no more is known: available, or acquired by a member."""

LIGHT_BACKGROUND: Final = "#ffffff"
DARK_BACKGROUND: Final = "#16181d"


class Look(NamedTuple):
    """How a state is shown: `letter` without colour, `light` and `dark` on such a background (#rrggbb), `ansi` among a
    terminal's 256 colours.
    """

    letter: str
    light: str
    dark: str
    ansi: int
    meaning: str


LOOKS: Final[dict[State, Look]] = {
    "available": Look("a", "#2563eb", "#6ea8fe", 33, "may be delivered"),
    "delayed": Look("d", "#7c3aed", "#b79bff", 99, "may be delivered again later"),
    "waiting": Look("w", "#856404", "#e3c341", 178, "waits for an earlier record of its key"),
    "acquired": Look("Q", "#c2410c", "#fb923c", 208, "locked by a member"),
    "acknowledged": Look("k", "#15803d", "#4ade80", 35, "accepted"),
    "archiving": Look("x", "#be185d", "#f783c4", 205, "given up, its dead letter is being written"),
    "archived": Look("X", "#991b1b", "#ff8f8f", 160, "given up, or no longer in the log"),
    "unfinished": Look("?", "#57606a", "#9aa4b2", 245, "available, or locked by a member: the broker does not say"),
}
STATES: Final[tuple[State, ...]] = get_args(State)
