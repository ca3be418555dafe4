"""Promises of KIP-932, KIP-1191 and KIP-88: one row each, with a known state, and existing tests or a reason."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from scripts import promises, verdicts
from scripts.promises import KIPS, ROOT, SHOWN_BY_TESTS, STATES, Promise

IDS = [f"M-{number:03}" for number in range(1, 350)]
KIP_88 = IDS[244:270]
KIP_1191 = IDS[282:347]
NAMED_TEST = re.compile(r"(tests/[\w./-]+\.py)::([\w:]+)(?:\[[^\]]*\])?")


def all_rows() -> list[Promise]:
    return [row for kip in KIPS for row in promises.read(kip)]


def faults(found: Iterable[Promise]) -> list[str]:
    rows = list(found)
    count = Counter(row.id for row in rows)
    wrong = [f"{id_}: stands here {count[id_]} times" for id_ in IDS if count[id_] != 1]
    wrong += [f"{id_}: no such promise" for id_ in count if id_ not in IDS]
    return wrong + [f"{row.id}: {fault}" for row in rows for fault in faults_of(row)]


def faults_of(row: Promise) -> Iterator[str]:
    if not row.promise:
        yield "says nothing"
    if row.state not in STATES:
        yield f"unknown state {row.state!r}"
    elif row.state in SHOWN_BY_TESTS and not row.tests:
        yield "names no test"
    elif row.state not in SHOWN_BY_TESTS and not re.search(r"\w", row.note):
        yield "gives no reason"
    if only_interop(row) != bool(row.only_clients):
        yield "needs a test without clients of others, or the reason why there is none"
    for test in row.tests:
        named = NAMED_TEST.fullmatch(test)
        if named is None:
            yield f"cannot be read: {test}"
        elif named[2] not in names_in(ROOT / named[1]):
            yield f"{named[1]} has no test {named[2]}"


def only_interop(row: Promise) -> bool:
    return bool(row.tests) and all(test.startswith("tests/interop/") for test in row.tests)


@cache
def names_in(file: Path) -> frozenset[str]:
    """Return a file's test functions, methods as `Class::method`; none if there is no such file."""
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


def test_every_promise_is_closed_or_says_why() -> None:
    assert faults(all_rows()) == []


def test_each_kip_has_a_file() -> None:
    share_groups, dead_letters, group_offsets = ([row.id for row in promises.read(kip)] for kip in KIPS)
    assert group_offsets == KIP_88
    assert dead_letters == KIP_1191
    assert not set(share_groups) & {*KIP_88, *KIP_1191}


def test_the_page_is_made_of_the_rows() -> None:
    text = promises.PAGE.read_text()
    assert promises.page_of(text) == text, "python scripts/promises.py"


@pytest.mark.parametrize("kip", KIPS)
def test_the_verdict_counts_the_rows(kip: int) -> None:
    found = [row.result for row in verdicts.read(verdicts.ROWS.read_text()) if f"KIP-{kip} " in row.claim]
    assert found == [promises.result_of(promises.read(kip))]


HERE = "tests/unit/docs/test_promises.py"
INTEROP = "tests/interop/test_sasl_clients.py::test_a_share_consumer_needs_its_group_and_its_topic"
SOUND = Promise("M-001", "a promise", "done", tests=(f"{HERE}::test_a_sound_row",))


@pytest.mark.parametrize(
    "row",
    [
        SOUND,
        replace(SOUND, tests=(f"{HERE}::test_a_sound_row[one of several]", f"{HERE}::TestMethods::test_method")),
        replace(SOUND, tests=(*SOUND.tests, INTEROP)),
        replace(SOUND, tests=(INTEROP,), only_clients="only a client does it"),
        Promise("M-001", "a promise", "superseded", "the field is gone"),
    ],
)
def test_a_sound_row(row: Promise) -> None:
    assert list(faults_of(row)) == []


class TestMethods:
    def test_method(self) -> None:
        assert f"{type(self).__name__}::test_method" in names_in(ROOT / HERE)


NO_OTHERS = "needs a test without clients of others, or the reason why there is none"


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        (replace(SOUND, tests=(f"{HERE}::test_a_sound_rov",)), f"{HERE} has no test test_a_sound_rov"),
        (replace(SOUND, tests=("tests/unit/dogs.py::test_a",)), "tests/unit/dogs.py has no test test_a"),
        (replace(SOUND, tests=(f"{HERE}::faults",)), f"{HERE} has no test faults"),
        (replace(SOUND, tests=(f"{HERE}::TestMethods::test_x",)), f"{HERE} has no test TestMethods::test_x"),
        (replace(SOUND, tests=("seen by hand",)), "cannot be read: seen by hand"),
        (replace(SOUND, tests=()), "names no test"),
        (replace(SOUND, state="fine"), "unknown state 'fine'"),
        (replace(SOUND, state="differs"), "gives no reason"),
        (replace(SOUND, state="as Kafka"), "gives no reason"),
        (replace(SOUND, promise=""), "says nothing"),
        (Promise("M-001", "a promise", "superseded"), "gives no reason"),
        (replace(SOUND, tests=(INTEROP,)), NO_OTHERS),
        (replace(SOUND, only_clients="not so"), NO_OTHERS),
    ],
)
def test_a_row_that_shows_nothing(row: Promise, fault: str) -> None:
    assert fault in list(faults_of(row))


def test_an_id_that_is_missing_twice_there_or_unknown() -> None:
    rows = {row.id: row for row in all_rows()}
    without = [row for id_, row in rows.items() if id_ != "M-007"]
    assert "M-007: stands here 0 times" in faults(without)
    assert "M-008: stands here 2 times" in faults([*rows.values(), rows["M-008"]])
    assert "M-350: no such promise" in faults([*rows.values(), replace(rows["M-008"], id="M-350")])


def test_a_field_that_no_row_has() -> None:
    with pytest.raises(TypeError, match="stat"):
        promises.promises_of('[[part]]\n[[part.promise]]\nid = "M-001"\npromise = "a"\nstat = "done"')
