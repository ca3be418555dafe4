"""The states' colours as a style sheet: one custom property for each, light and dark."""

from __future__ import annotations

import json

from shareq.client.state_colours import LOOKS


def state_style() -> str:
    """`--state-NAME` of each state, and a class `state-NAME` that fills with it."""
    lines = [f"  --state-{name}: light-dark({look.light}, {look.dark});" for name, look in LOOKS.items()]
    fills = [f".state-{name} {{ fill: var(--state-{name}); background: var(--state-{name}); }}" for name in LOOKS]
    return "\n".join([":root {", *lines, "}", *fills, ""])


def state_script() -> str:
    """The states as a module: `STATES`, from names to what they mean, in the order of a record's life."""
    return f"export const STATES = {json.dumps({name: look.meaning for name, look in LOOKS.items()})};\n"
