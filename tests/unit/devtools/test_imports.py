"""The imports of `devtools`, which tests share with benchmarks and examples: only tests import tests."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def imported(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").partition(".")[0]


@pytest.mark.parametrize(
    ("folder", "strangers"),
    [
        ("devtools", {"tests", "bench", "examples", "scripts"}),
        ("bench", {"tests"}),
        ("examples", {"tests", "bench"}),
        ("scripts", {"tests", "bench", "examples"}),
    ],
)
def test_nobody_imports_upwards(folder: str, strangers: set[str]) -> None:
    files = list((ROOT / folder).rglob("*.py"))
    assert files
    found = {str(file.relative_to(ROOT)): names for file in files if (names := strangers & set(imported(file)))}
    assert not found
