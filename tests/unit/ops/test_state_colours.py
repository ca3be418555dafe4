"""The colours of the API's states, all of them distinct and readable on both backgrounds; and of figures."""

from __future__ import annotations

import pytest

from shareq.broker.share.core.window.ranges import STATES as OF_THE_API
from shareq.ops.state_colours import (
    DARK_BACKGROUND,
    FIGURES,
    GRAFANA_DARK,
    LIGHT_BACKGROUND,
    LINES,
    LOOKS,
    STATES,
    Tone,
)


def luminance(colour: str) -> float:
    """Return the relative luminance of #rrggbb, as defined by WCAG 2.2."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    bright, dim = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def test_black_on_white() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


def test_they_are_the_states_of_the_api_and_one_for_what_is_not_known() -> None:
    assert set(STATES) == set(LOOKS) == {*OF_THE_API, "unfinished"}


def tones() -> dict[str, Tone]:
    return {
        **{str(name): look.tone for name, look in LOOKS.items()},
        **{str(name): line.tone for name, line in LINES.items()},
    }


@pytest.mark.parametrize("name", [*STATES, *(figure for figure in FIGURES if figure not in LOOKS)])
def test_colours_have_contrast_with_their_background(name: str) -> None:
    tone = tones()[name]
    assert contrast(tone.light, LIGHT_BACKGROUND) >= 3
    assert contrast(tone.dark, DARK_BACKGROUND) >= 3
    assert min(contrast(tone.either, LIGHT_BACKGROUND), contrast(tone.either, GRAFANA_DARK)) >= 3


def test_no_two_states_look_alike() -> None:
    for field in ("letter", "ansi"):
        assert len({getattr(look, field) for look in LOOKS.values()}) == len(LOOKS), field
    assert all(len(look.letter) == 1 and 16 <= look.ansi <= 255 for look in LOOKS.values())


def test_a_colour_is_of_one_state_or_of_figures_that_no_state_is_like() -> None:
    of_states = {look.tone for look in LOOKS.values()}
    others = {line.tone for line in LINES.values()} - of_states
    for at in range(3):
        colours = [tone[at] for tone in (*of_states, *others)]
        assert len(set(colours)) == len(colours) == len(LOOKS) + len(others)


def test_a_figure_named_as_a_state_has_its_colour() -> None:
    assert set(FIGURES) == set(LINES)
    both = [(line.tone, LOOKS[state].tone) for state in STATES for name, line in LINES.items() if name == state]
    assert len(both) == 3
    assert all(of_figure == of_state for of_figure, of_state in both)
