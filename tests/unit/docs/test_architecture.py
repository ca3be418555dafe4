"""ARCHITECTURE.md says how the rooms hang together; the figures are counted again here."""

from __future__ import annotations

from pathlib import Path

from scripts.house_figures import figures

ROOT = Path(__file__).parents[3]


def test_the_figures_of_the_rooms_are_those_of_the_code() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    rows = [[cell.strip() for cell in line.split("|")] for line in text.splitlines() if line.startswith("| ")]
    said = {cells[1].split(" (")[0]: cells[-2] for cells in rows}
    for name, value in figures(ROOT / "broker")._asdict().items():
        number = value[1] if isinstance(value, tuple) else value
        assert said[name.replace("_", " ")] == str(number), name


def test_what_the_tree_of_rooms_names_is_there() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    tree = text.split("### The rooms of `broker/`")[1].split("```")[1].strip("\n").splitlines()
    rooms: list[str] = []
    for line in tree:
        names = line.partition("#")[0]
        depth, words = (len(names) - len(names.lstrip())) // 2, names.split()
        if depth <= len(rooms):  # else it goes on with the line before
            first = words.pop(0)
            rooms = [*rooms[:depth], first.strip("/")] if first.endswith("/") else []
            words += [] if first.endswith("/") else [first]
        folder = ROOT.joinpath("broker", *rooms)
        missing = [name for name in words if not (folder / f"{name}.py").exists() and not (folder / name).is_dir()]
        assert folder.is_dir(), line
        assert missing == []


def test_no_folder_of_the_broker_is_full() -> None:
    assert figures(ROOT / "broker").fullest_folder[1] <= 15
