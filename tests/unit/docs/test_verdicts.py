"""docs/evidence/README.md is generated from its rows, and each row can be verified again."""

from __future__ import annotations

import re
import shlex
import tomllib

import pytest

from scripts import verdicts
from scripts.verdicts import EVIDENCE, ROOT, ROWS, Verdict

ROW = Verdict(claim="It holds.", command="make test", result="1 passed", commit="abc1234", page="README.md")


def all_rows() -> list[Verdict]:
    return list(verdicts.read(ROWS.read_text()))


def faults_of(verdict: Verdict, machines: dict[str, str]) -> list[str]:
    wrong = []
    if not verdict.claim.endswith(".") or not re.search(r"\d|every", verdict.result):
        wrong.append("a claim is a sentence, a result has numbers")
    if bool(verdict.commit) == bool(verdict.written):
        wrong.append("either the commit that ran, or the one that wrote the result down")
    if not re.fullmatch(r"[0-9a-f]{7,10}", verdict.commit or verdict.written):
        wrong.append(f"no commit: {verdict.commit or verdict.written}")
    if verdict.machine and verdict.machine not in machines:
        wrong.append(f"unknown machine {verdict.machine}")
    if verdict.page and not (EVIDENCE / verdict.page).is_file():
        wrong.append(f"no page {verdict.page}")
    if verdict.command and not is_here(verdict.command):
        wrong.append(f"no command {verdict.command}")
    return wrong


def is_here(command: str) -> bool:
    """Return whether a make target with its variables, a module or a test file exists."""
    match shlex.split(command):
        case ["make", target, *variables]:
            makefile = (ROOT / "Makefile").read_text()
            targets = re.findall(r"^([a-z][\w-]*)(?=[\w -]*:)", makefile, re.MULTILINE)
            return target in targets and all(f"$({each.partition('=')[0]})" in makefile for each in variables)
        case ["python", "-m", module]:
            path = ROOT / module.replace(".", "/")
            return path.with_suffix(".py").is_file() or (path / "__main__.py").is_file()
        case ["pytest", path]:
            return path.startswith("tests/") and (ROOT / path).exists()
    return False


def test_the_page_is_made_of_the_rows() -> None:
    made = verdicts.page_of(verdicts.read(ROWS.read_text()))
    assert verdicts.PAGE.read_text() == made, "python scripts/verdicts.py"


def test_every_row_can_be_asked_again() -> None:
    machines = verdicts.read(ROWS.read_text()).machines
    assert [f"{row.claim} {fault}" for row in all_rows() for fault in faults_of(row, machines)] == []


def test_every_page_of_the_folder_has_a_row() -> None:
    pages = {page.name for page in EVIDENCE.glob("*.md")} - {verdicts.PAGE.name}
    assert pages - {row.page for row in all_rows()} == set()


def test_no_claim_stands_twice() -> None:
    claims = [(row.page, row.claim) for row in all_rows()]
    assert len(set(claims)) == len(claims)


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        (Verdict("It holds", "make test", "1", "abc1234"), "a claim is a sentence, a result has numbers"),
        (Verdict("It holds.", "make test", "sound", "abc1234"), "a claim is a sentence, a result has numbers"),
        (
            Verdict("It holds.", "make test", "1", "abc1234", "abc1234"),
            "either the commit that ran, or the one that wrote the result down",
        ),
        (Verdict("It holds.", "make test", "1", "today"), "no commit: today"),
        (Verdict("It holds.", "make test", "1", "abc1234", machine="Cray"), "unknown machine Cray"),
        (Verdict("It holds.", "make test", "1", "abc1234", page="none.md"), "no page none.md"),
        (Verdict("It holds.", "make test SEED=1", "1", "abc1234"), "no command make test SEED=1"),
        (Verdict("It holds.", "make tests", "1", "abc1234"), "no command make tests"),
        (Verdict("It holds.", "python -m tests.none", "1", "abc1234"), "no command python -m tests.none"),
        (Verdict("It holds.", "pytest tests/none.py", "1", "abc1234"), "no command pytest tests/none.py"),
    ],
)
def test_a_row_that_cannot_be_asked(row: Verdict, fault: str) -> None:
    assert faults_of(row, {}) == [fault]


def test_a_sound_row() -> None:
    assert faults_of(ROW, {}) == []
    assert ROW.row == "* [It holds.](README.md) 1 passed (`make test`, `abc1234`)"


def test_a_row_by_hand_of_a_commit_that_was_not_noted() -> None:
    row = Verdict("It holds.", "", "1 passed", written="abc1234", machine="Cray")
    assert faults_of(row, {"Cray": "one core"}) == []
    assert row.row == "* It holds. 1 passed (by hand, by `abc1234`, Cray)"


def test_a_field_that_no_row_has() -> None:
    with pytest.raises(TypeError, match="comit"):
        verdicts.read('[machines]\n[[part]]\ntitle = "a"\n[[part.verdict]]\ncomit = "abc"')
    assert set(tomllib.loads(ROWS.read_text())) == {"machines", "part"}
