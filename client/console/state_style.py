"""The states' colours as a style sheet: one custom property for each, light and dark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

COLOURS: Final[Mapping[str, tuple[str, str]]] = {
    "available": ("#2f6fd6", "#6ea8ff"),
    "delayed": ("#8250c8", "#b794ff"),
    "waiting": ("#66717e", "#9aa7b5"),
    "acquired": ("#b45f06", "#ffb14a"),
    "acknowledged": ("#2b8a3e", "#63c974"),
    "archiving": ("#b0408c", "#f08ac8"),
    "archived": ("#c92a2a", "#ff7b72"),
}


def state_style() -> str:
    """`--state-NAME` of each state, and a class `state-NAME` that fills with it."""
    lines = [f"  --state-{name}: light-dark({light}, {dark});" for name, (light, dark) in COLOURS.items()]
    fills = [f".state-{name} {{ fill: var(--state-{name}); background: var(--state-{name}); }}" for name in COLOURS]
    return "\n".join([":root {", *lines, "}", *fills, ""])
