"""The layout of pages, in which an editor may have folded a heading or an item of a list into another text."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

LONGEST_HEADING = 100
FOLDED_ITEM = re.compile(r"^\s*\* .*[;.:,)`] \* \w|^  .*[;.:,)`] \* \w", re.MULTILINE)


def pages() -> list[Path]:
    return [path for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")) if path.is_file()]


def prose(text: str) -> str:
    return re.sub(r"^\|.*$", "", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL), flags=re.MULTILINE)


def faults(text: str) -> list[str]:
    lines = prose(text)
    long = [line for line in lines.splitlines() if re.match(r"#+ ", line) and len(line) > LONGEST_HEADING]
    return [*long, *FOLDED_ITEM.findall(lines)]


def test_no_heading_and_no_item_is_folded_into_what_follows() -> None:
    assert {str(path.relative_to(ROOT)): found for path in pages() if (found := faults(path.read_text()))} == {}


@pytest.mark.parametrize("text", ["# Rules " + "and their text " * 8, "* one;\n  still one; * two", "* one. * Two"])
def test_a_folded_heading_or_item_is_found(text: str) -> None:
    assert faults(text)
