"""Python processes that the product starts: none looks for modules in the working directory."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from shareq.testing.failure import child_environment

ROOT = Path(__file__).parents[2]
PRODUCT = ("protocol", "coordinator", "broker", "client", "spark", "aio", "integrations", "ops", "testing", "src")


def starts() -> Iterator[tuple[str, list[object]]]:
    """Yield each command of `sys.executable`: where it is, and its words, None for one that is computed."""
    for folder in PRODUCT:
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_bytes())):
                if isinstance(node, ast.List) and node.elts and ast.unparse(node.elts[0]) == "sys.executable":
                    words: list[object] = [
                        each.value if isinstance(each, ast.Constant) else None for each in node.elts[1:]
                    ]
                    yield f"{path.relative_to(ROOT)}:{node.lineno}", words


def test_every_child_is_started_without_the_working_directory_on_its_path() -> None:
    found = dict(starts())
    assert len(found) >= 4, found
    assert [place for place, words in found.items() if words[:2] != ["-P", "-m"]] == []


def test_no_other_way_to_name_the_interpreter_is_used() -> None:
    named = sum(
        ast.unparse(node) == "sys.executable"
        for folder in PRODUCT
        for path in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_bytes()))
    )
    assert named == len(list(starts()))


@pytest.mark.parametrize("path", ["", ":", "/a:", ":/a", "/a::/b"])
def test_an_empty_entry_of_pythonpath_is_not_handed_on(monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    """Python takes it for the working directory."""
    monkeypatch.setenv("PYTHONPATH", path)
    assert "" not in child_environment()["PYTHONPATH"].split(":")
