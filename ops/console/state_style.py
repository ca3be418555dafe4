"""The states' and the charts' colours as a style sheet: one custom property for each, light and dark."""

from __future__ import annotations

import json
from typing import Final

from shareq.ops.state_colours import LINES, LOOKS

_OF_FIGURES: Final = {figure.replace(" ", "-"): line for figure, line in LINES.items()}


def state_style() -> str:
    """Return a style sheet with `--state-NAME` for each state, and a class `state-NAME` that fills with it.

    `figure-NAME` sets `--figure` for a chart's line and its legend.
    """
    lines = [f"  --state-{name}: light-dark({look.tone.light}, {look.tone.dark});" for name, look in LOOKS.items()]
    fills = [f".state-{name} {{ fill: var(--state-{name}); background: var(--state-{name}); }}" for name in LOOKS]
    figures = [
        f".figure-{name} {{ --figure: light-dark({line.tone.light}, {line.tone.dark}); }}"
        for name, line in _OF_FIGURES.items()
    ]
    return "\n".join([":root {", *lines, "}", *fills, *figures, ""])


def state_script() -> str:
    """Return the states as a JavaScript module: `STATES`, from names to meanings, in the order of a record's life;
    `FIGURES`, the figures of charts, likewise.
    """
    states = {name: look.meaning for name, look in LOOKS.items()}
    figures = {name: line.meaning for name, line in LINES.items()}
    return f"export const STATES = {json.dumps(states)};\nexport const FIGURES = {json.dumps(figures)};\n"
