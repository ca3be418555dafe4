"""Pictures of the documentation are readable in light, in dark and by screen readers, and load nothing remote."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[3] / "docs"
PICTURES = sorted(DOCS.rglob("*.svg"))
SVG = "{http://www.w3.org/2000/svg}"
_DARK = "@media (prefers-color-scheme: dark)"
_FILL = re.compile(r"^\s*(?:\.)?([\w-]+) \{ fill: (#[0-9a-f]{6})", re.MULTILINE)
LEAST_CONTRAST = 4.5
"""The least contrast between text and background: WCAG 2.2, level AA."""


def luminance(colour: str) -> float:
    """Return the relative luminance, 0 to 1, as defined by WCAG."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """Return the contrast, from 1 (the same) to 21 (black on white)."""
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def style_of(picture: Path) -> str:
    found = ET.parse(picture).findtext(f"{SVG}style")
    assert found
    return found


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.name)
def test_a_picture_says_what_it_shows_and_loads_nothing(picture: Path) -> None:
    root = ET.parse(picture).getroot()
    assert root.get("role") == "img"
    assert len(root.findtext(f"{SVG}title") or "") > 30
    assert not re.search(r"href|url\((?!#)|@import|<script", picture.read_text())


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.name)
def test_text_stands_out_in_light_and_in_dark(picture: Path) -> None:
    light, dark = (dict(_FILL.findall(part)) for part in style_of(picture).split(_DARK))
    for colours in (light, dark):
        for behind in ("card", "box", "order", "delay", "dead", "done"):
            assert contrast(colours["text"], colours[behind]) >= LEAST_CONTRAST, behind
        assert contrast(colours["note"], colours["card"]) >= LEAST_CONTRAST


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.name)
def test_every_kind_of_thing_in_a_picture_has_a_look(picture: Path) -> None:
    known = set(re.findall(r"\.([a-z]+) \{", style_of(picture)))
    used = {name for each in ET.parse(picture).iter() for name in each.get("class", "").split()}
    assert used <= known


def test_every_picture_has_a_text_for_those_who_do_not_see_it() -> None:
    for page in DOCS.rglob("*.md"):
        for text, target in re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", page.read_text()):
            assert len(text) > 10, f"{page.name}: {target}"


def test_the_colours_are_the_same_in_all() -> None:
    first, *others = (dict(_FILL.findall(style_of(picture))) for picture in PICTURES)
    assert others
    assert all(other == first for other in others)
