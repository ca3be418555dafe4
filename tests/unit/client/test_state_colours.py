"""The looks of states: all of the API's, distinct, and with contrast on both backgrounds."""

from __future__ import annotations

import pytest

from shareq.broker.share.core.window.ranges import STATES as OF_THE_API
from shareq.client.state_colours import DARK_BACKGROUND, LIGHT_BACKGROUND, LOOKS, STATES


def luminance(colour: str) -> float:
    """WCAG 2.2's relative luminance of #rrggbb."""
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


@pytest.mark.parametrize("state", STATES)
def test_colours_have_contrast_with_their_background(state: str) -> None:
    look = {str(name): each for name, each in LOOKS.items()}[state]
    assert contrast(look.light, LIGHT_BACKGROUND) >= 3
    assert contrast(look.dark, DARK_BACKGROUND) >= 3


def test_no_two_states_look_alike() -> None:
    for field in ("letter", "light", "dark", "ansi"):
        assert len({getattr(look, field) for look in LOOKS.values()}) == len(LOOKS), field
    assert all(len(look.letter) == 1 and 16 <= look.ansi <= 255 for look in LOOKS.values())
