"""Python processes started by the product never import modules from the working directory."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from shareq.testing.failure import child_environment

ROOT = Path(__file__).parents[2]
PRODUCT = (
    "protocol",
    "coordinator",
    "broker",
    "client",
    "cluster",
    "spark",
    "aio",
    "integrations",
    "ops",
    "testing",
    "src",
)


def sources() -> Iterator[tuple[str, ast.Module]]:
    """Yield path and syntax tree of each file of the product that names the interpreter."""
    for folder in PRODUCT:
        for path in sorted((ROOT / folder).rglob("*.py")):
            source = path.read_bytes()
            if b"sys" in source and b"executable" in source:
                yield str(path.relative_to(ROOT)), ast.parse(source)


def is_interpreter(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and ast.unparse(node) == "sys.executable"


def starts() -> Iterator[tuple[str, list[object]]]:
    """Yield place and arguments of each command of `sys.executable`; a computed argument is None."""
    for path, module in sources():
        for node in ast.walk(module):
            if isinstance(node, ast.List) and node.elts and is_interpreter(node.elts[0]):
                words: list[object] = [each.value if isinstance(each, ast.Constant) else None for each in node.elts[1:]]
                yield f"{path}:{node.lineno}", words


def test_every_child_is_started_without_the_working_directory_on_its_path() -> None:
    found = dict(starts())
    assert len(found) >= 4, found
    assert [place for place, words in found.items() if words[:2] != ["-P", "-m"]] == []


def test_no_other_way_to_name_the_interpreter_is_used() -> None:
    named = sum(is_interpreter(node) for _, module in sources() for node in ast.walk(module))
    assert named == len(list(starts()))


@pytest.mark.parametrize("path", ["", ":", "/a:", ":/a", "/a::/b"])
def test_an_empty_entry_of_pythonpath_is_not_handed_on(monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.setenv("PYTHONPATH", path)
    assert "" not in child_environment()["PYTHONPATH"].split(":")
