"""ARCHITECTURE.md describes the dependencies of the packages; its figures are counted again here."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

from scripts.house_figures import Figures, figures

ROOT = Path(__file__).parents[3]


@cache
def of_the_broker() -> Figures:
    return figures(ROOT / "broker")


def test_the_figures_of_the_rooms_are_those_of_the_code() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    rows = [[cell.strip() for cell in line.split("|")] for line in text.splitlines() if line.startswith("| ")]
    said = {cells[1].split(" (")[0]: cells[-2] for cells in rows}
    for name, value in of_the_broker()._asdict().items():
        number = value[1] if isinstance(value, tuple) else value
        assert said[name.replace("_", " ")] == str(number), name


def test_each_room_is_in_the_tree_and_says_what_it_is() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    tree = text.split("### The rooms of `broker/`")[1].split("```")[1].strip("\n").splitlines()
    rooms: set[str] = set()
    for line in tree:
        name, _, subject = line.strip().partition(" ")
        assert subject, line
        if not line.startswith(" "):
            room = name
            rooms.add(room.strip("/"))
        else:
            name = room + name
        assert (ROOT / "broker" / (name if name.endswith("/") else f"{name}.py")).exists(), line
    there = {path.name for path in (ROOT / "broker").iterdir() if path.is_dir() and any(path.glob("*.py"))}
    there |= {path.stem for path in (ROOT / "broker").glob("*.py")} - {"__init__", "__main__"}
    assert rooms == there


def test_each_folder_of_the_repository_is_on_the_map() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text().split("## The map")[1].split("###")[0]
    named = {
        name.split("/")[0]
        for row in re.findall(r"^\| ([^|]+) \|", text, re.MULTILINE)
        for name in re.findall(r"`(\S+)/`", row)
    }
    command = ["git", "ls-files", "--", "*/*"]
    tracked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    folders = {path.split("/")[0] for path in tracked if "/" in path and not path.startswith(".")}
    assert named == folders - {"docs"}


def test_no_folder_of_the_broker_is_full() -> None:
    assert of_the_broker().fullest_folder[1] <= 15
