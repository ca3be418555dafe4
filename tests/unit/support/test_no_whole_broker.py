"""Tests below `tests/unit` boot no whole broker: those that ask one, by frames, are in `tests/frames`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[3]
BROKER: Final = ("devtools.in_memory.mock_transport", "BrokerWorld")


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_bytes())


def imported(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the module and the name of each `from ... import ...` of a file that runs."""
    tree = tree_of(path)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            yield from ((node.module, each.name) for each in node.names)


def booting() -> set[tuple[str, str]]:
    """Return the whole broker, and the classes and functions of `tests/support` that make one, by module and name."""
    found = {BROKER}
    for path in (ROOT / "tests/support").rglob("*.py"):
        if BROKER[1] not in path.read_text() or BROKER not in imported(path):
            continue
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for node in tree_of(path).body:
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and makes_a_broker(node):
                found.add((module, node.name))
    return found


def makes_a_broker(node: ast.ClassDef | ast.FunctionDef) -> bool:
    """Return whether it calls `BrokerWorld`, or is one."""
    bases = node.bases if isinstance(node, ast.ClassDef) else []
    called = [each.func for each in ast.walk(node) if isinstance(each, ast.Call)]
    return any(isinstance(each, ast.Name) and each.id == BROKER[1] for each in (*bases, *called))


def boots(path: Path, makers: set[tuple[str, str]]) -> bool:
    """Return whether a file imports one of them; only one that names one is parsed."""
    text = path.read_text()
    return any(name in text for _, name in makers) and not makers.isdisjoint(imported(path))


def test_no_file_of_units_boots_a_whole_broker() -> None:
    makers = booting()
    assert len(makers) > 4, makers
    files = sorted((ROOT / "tests/unit").rglob("*.py"))
    assert [str(path.relative_to(ROOT)) for path in files if boots(path, makers)] == []


def test_files_of_frames_do() -> None:
    """Otherwise the test above looks for what has another name now."""
    makers = {BROKER}
    files = list((ROOT / "tests/frames").rglob("test_*.py"))
    assert sum(boots(path, makers) for path in files) > 50
