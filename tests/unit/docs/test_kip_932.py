"""kip-932.md, kip-88.md, kip-1191.md: every promise stands there once, in a known state, with tests or a reason."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[3]
DOCUMENTS = tuple(ROOT / "docs" / "evidence" / f"kip-{number}.md" for number in (932, 88, 1191))
IDS = [f"M-{number:03}" for number in range(1, 350)]
KIP_88 = IDS[244:270]
KIP_1191 = IDS[282:347]
SHOWN_BY_TESTS = {"done", "client", "several brokers"}
REASONED = {"differs", "superseded"}
ROW = re.compile(r"^\| (M-\d+) \|", re.MULTILINE)
NAMED_TEST = re.compile(r"`(tests/[\w./-]+\.py)::([\w:]+)(?:\[[^\]`]*\])?`")


class Row(NamedTuple):
    id: str
    promise: str
    state: str
    shown_by: str


def rows(text: str) -> Iterator[Row]:
    """The rows of all tables whose first cell is an id; a row that has not four cells is a ValueError."""
    for line in text.splitlines():
        if ROW.match(line):
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip()[1:-1])]
            if len(cells) != len(Row._fields):
                raise ValueError(f"{cells[0]}: {len(cells)} cells")
            yield Row(*cells)


def faults(text: str) -> list[str]:
    """Return the faults of the documents, one line each."""
    found = list(rows(text))
    count = Counter(row.id for row in found)
    wrong = [f"{id_}: stands here {count[id_]} times" for id_ in IDS if count[id_] != 1]
    wrong += [f"{id_}: no such promise" for id_ in count if id_ not in IDS]
    return wrong + [f"{row.id}: {fault}" for row in found for fault in faults_of(row)]


def faults_of(row: Row) -> Iterator[str]:
    tests = NAMED_TEST.findall(row.shown_by)
    if not row.promise:
        yield "says nothing"
    if row.state not in SHOWN_BY_TESTS | REASONED:
        yield f"unknown state {row.state!r}"
    if row.state in SHOWN_BY_TESTS and not tests:
        yield "names no test"
    if row.state in REASONED and not re.search(r"\w", NAMED_TEST.sub("", row.shown_by)):
        yield "gives no reason"
    if row.shown_by.count("::") != len(tests) + sum(name.count("::") for _, name in tests):
        yield "names a test in a form that cannot be read"
    for file, name in tests:
        if name not in names_in(ROOT / file):
            yield f"{file} has no test {name}"


@cache
def names_in(file: Path) -> frozenset[str]:
    """The test functions that are defined in a file, methods as `Class::method`; none if there is no such file."""
    if not file.is_file():
        return frozenset()
    tree = ast.parse(file.read_text())
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name.startswith("Test")]
    functions = list(functions_in(tree.body))
    methods = [f"{node.name}::{name}" for node in classes for name in functions_in(node.body)]
    return frozenset(functions + methods)


def functions_in(body: list[ast.stmt]) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield node.name


def text_of_all() -> str:
    return "".join(document.read_text() for document in DOCUMENTS)


def test_every_promise_is_closed_or_says_why() -> None:
    assert faults(text_of_all()) == []


def test_each_kip_has_a_page() -> None:
    share_groups, group_offsets, dead_letters = (
        [row.id for row in rows(document.read_text())] for document in DOCUMENTS
    )
    assert group_offsets == KIP_88
    assert dead_letters == KIP_1191
    assert not set(share_groups) & {*KIP_88, *KIP_1191}


def test_every_row_has_a_test_that_needs_no_client_of_others_or_is_named_as_one_that_cannot() -> None:
    text = text_of_all()
    named = re.findall(
        r"^\* (M-\d+): \w", text.split("## What only clients of others show\n")[1].split("\n## ")[0], re.M
    )
    assert [row.id for row in rows(text) if only_interop(row)] == named


def only_interop(row: Row) -> bool:
    files = {file for file, _ in NAMED_TEST.findall(row.shown_by)}
    return bool(files) and all(file.startswith("tests/interop/") for file in files)


@pytest.mark.parametrize(
    ("shown_by", "expected"),
    [
        ("`tests/interop/test_a.py::test_b`[c], `tests/interop/test_d.py::test_e`", True),
        ("`tests/interop/test_a.py::test_b`, `tests/unit/test_c.py::test_d`", False),
        ("a reason", False),
    ],
)
def test_which_rows_need_a_client_of_others(shown_by: str, expected: bool) -> None:
    assert only_interop(Row("M-001", "a promise", "done", shown_by)) is expected


HERE = "tests/unit/docs/test_kip_932.py"
SOUND = f"| M-001 | a promise | done | `{HERE}::test_a_sound_row` |"


def faults_of_line(line: str) -> list[str]:
    return [fault for row in rows(line) for fault in faults_of(row)]


@pytest.mark.parametrize(
    "shown_by",
    [
        f"`{HERE}::test_a_sound_row`",
        f"`{HERE}::test_a_sound_row[one of several]`, `{HERE}::TestMethods::test_method`",
        f"words and `{HERE}::test_every_promise_is_closed_or_says_why`",
    ],
)
def test_a_sound_row(shown_by: str) -> None:
    assert faults_of_line(f"| M-001 | a promise | done | {shown_by} |") == []


class TestMethods:
    def test_method(self) -> None:
        assert f"{type(self).__name__}::test_method" in names_in(ROOT / HERE)


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (SOUND.replace("sound_row", "sound_rov"), f"{HERE} has no test test_a_sound_rov"),
        (SOUND.replace("/docs/", "/dogs/"), "tests/unit/dogs/test_kip_932.py has no test test_a_sound_row"),
        (SOUND.replace("test_a_sound_row", "faults"), f"{HERE} has no test faults"),
        (SOUND.replace("test_a_sound_row", "TestMethods::test_other"), f"{HERE} has no test TestMethods::test_other"),
        (SOUND.replace("`", ""), "names no test"),
        (SOUND.replace("done", "fine"), "unknown state 'fine'"),
        (SOUND.replace("done", "differs"), "gives no reason"),
        (SOUND.replace("a promise", ""), "says nothing"),
        ("| M-001 | a promise | superseded | |", "gives no reason"),
        ("| M-001 | a promise | open | later |", "unknown state 'open'"),
        ("| M-001 | a promise | client | seen by hand |", "names no test"),
        (f"{SOUND[:-1]}, {HERE}::test_a_sound_row |", "names a test in a form that cannot be read"),
    ],
)
def test_a_row_that_shows_nothing(line: str, fault: str) -> None:
    assert fault in faults_of_line(line)


def test_an_id_that_is_missing_twice_there_or_unknown() -> None:
    text = text_of_all()
    assert "M-007: stands here 0 times" in faults(text.replace("| M-007 |", "| M-008 |"))
    assert "M-008: stands here 2 times" in faults(text.replace("| M-007 |", "| M-008 |"))
    assert "M-350: no such promise" in faults(text.replace("| M-007 |", "| M-350 |"))


def test_a_row_with_too_many_cells() -> None:
    with pytest.raises(ValueError, match="M-001: 5 cells"):
        list(rows("| M-001 | a | done | b | c |"))
    assert [row.promise for row in rows(r"| M-001 | a \| b | done | c |")] == [r"a \| b"]
