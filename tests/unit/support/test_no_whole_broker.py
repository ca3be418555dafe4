"""Tests below `tests/unit` start no whole broker; those that need one are in `tests/frames`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[3]
BROKER: Final = ("devtools.in_memory.mock_transport", "BrokerWorld")


def imported(text: str) -> Iterator[tuple[str, str]]:
    for module, names in re.findall(r"^ *from (\S+) import (\([^)]*\)|.+)$", text, re.MULTILINE):
        yield from ((module, name) for name in re.findall(r"\w+", names))


def booting() -> set[tuple[str, str]]:
    """Return `BrokerWorld` and the classes and functions of `tests/support` that create one, by module and name."""
    found = {BROKER}
    for path in (ROOT / "tests/support").rglob("*.py"):
        text = path.read_text()
        if BROKER not in imported(text):
            continue
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for node in ast.parse(text).body:
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and makes_a_broker(node):
                found.add((module, node.name))
    return found


def makes_a_broker(node: ast.ClassDef | ast.FunctionDef) -> bool:
    """Return whether the class or function calls `BrokerWorld`, or derives from it."""
    bases = node.bases if isinstance(node, ast.ClassDef) else []
    called = [each.func for each in ast.walk(node) if isinstance(each, ast.Call)]
    return any(isinstance(each, ast.Name) and each.id == BROKER[1] for each in (*bases, *called))


def boots(path: Path, makers: set[tuple[str, str]]) -> bool:
    return not makers.isdisjoint(imported(path.read_text()))


def test_no_file_of_units_boots_a_whole_broker() -> None:
    makers = booting()
    assert len(makers) > 4, makers
    files = sorted((ROOT / "tests/unit").rglob("*.py"))
    assert [str(path.relative_to(ROOT)) for path in files if boots(path, makers)] == []


def test_files_of_frames_do() -> None:
    """A renamed class would otherwise silently pass the test above."""
    makers = {BROKER}
    files = list((ROOT / "tests/frames").rglob("test_*.py"))
    assert sum(boots(path, makers) for path in files) > 50
