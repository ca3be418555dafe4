"""No call passes more than six positional arguments, because no reader would know what the seventh is."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
PRODUCT: Final = (
    "aio",
    "broker",
    "client",
    "cluster",
    "coordinator",
    "integrations",
    "ops",
    "protocol",
    "spark",
    "testing",
    "src",
)
MOST: Final = 6

FREE: Final = (
    "broker/handlers/records/produce_fast_path.py",
    "broker/share/core/",
    "client/aio/consumer/consumer.py",
    "protocol/generated/",
    "protocol/passes/",
    "protocol/records/",
)
"""The callables that are called for each record or range, where keywords cost time, and generated ones."""
OF_A_FORMAT: Final = {"debug", "info", "warning", "error", "log", "pack"}
"""The methods whose arguments are in the order of a text or of a structure."""
OF_MANY: Final = {"Table", "chain"}
"""The callables that take any number of arguments of one kind."""


def long_calls(source: str) -> Iterator[tuple[int, str]]:
    """Yield line and name of the calls with too many arguments, not counting `*rest`."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and sum(not isinstance(each, ast.Starred) for each in node.args) > MOST:
            name = ast.unparse(node.func)
            if name.rpartition(".")[2] not in OF_A_FORMAT | OF_MANY:
                yield node.lineno, name


def test_no_call_has_more_than_six_arguments_by_position() -> None:
    found = []
    for folder in PRODUCT:
        for path in sorted((ROOT / folder).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if path.resolve() == path and not name.startswith(FREE):  # below src/shareq/ are links to the others
                found += [f"{name}:{line}: {call}" for line, call in long_calls(path.read_text())]
    assert found == []


def test_a_long_call_is_found() -> None:
    source = "make(1, 2, 3, 4, 5, 6, 7)\nmake(1, 2, 3, 4, 5, 6, seven=7)\nlogger.info(1, 2, 3, 4, 5, 6, 7, 8)\n"
    assert list(long_calls(source)) == [(1, "make")]
    assert [name for _, name in long_calls("a.b(1, *rest, 3, 4, 5, 6, 7)")] == []
    assert [name for _, name in long_calls("a.b(1, *rest, 3, 4, 5, 6, 7, 8)")] == ["a.b"]
