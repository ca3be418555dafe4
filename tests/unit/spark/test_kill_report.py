"""The lines and tables of Spark's kill matrix."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.spark.kills.cells import Ack, Cell, Step, Victim, all_cells
from tests.spark.kills.ledger import Verdict
from tests.spark.kills.report import Facts, Outcome, markdown, remarks

FACTS = Facts("shareq", 7, "abc1234", "two cores", "2026-01-02", 125.0)
CELL = Cell(Victim.RUNNER, Step.ACQUIRED, Ack.COMMIT, True)
PASSED = Verdict([], [], [3], [], [], [(0, 1), (0, 2)], [], [], 300, 200, 102, 0)
DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "evidence" / "spark-kill-matrix.md"


def test_a_cell_is_a_line() -> None:
    line = Outcome(CELL, 4.2, PASSED, "went on").line()
    assert line.startswith("runner@acquired/commit/member ")
    assert "records 300, Spark 200, member 102, lost 0, shared 2, replayed 1, compared 0; query went on" in line
    assert "FAILED" not in line


def test_a_fault_is_reported_with_the_records() -> None:
    outcome = Outcome(CELL, 4.2, replace(PASSED, lost=[(1, 7)]), "went on")
    assert not outcome.passed
    assert outcome.line().endswith("FAILED: 1 lost: (1, 7)")
    assert "not done in 9 s" in Outcome(CELL, 9.0, error="not done in 9 s").line()


def test_the_table_has_a_row_for_each_victim_and_step() -> None:
    lines = markdown([Outcome(CELL, 4.2, PASSED, "went on")], FACTS)
    rows = [line for line in lines if line.startswith(tuple(f"| {victim} " for victim in Victim))]
    assert len(rows) == 24
    row = next(row for row in rows if row.startswith("| runner | acquired |"))
    assert row.split(" | ")[2:4] == ["not run", "0 of 300 lost, 2 shared, 1 replayed"]
    assert "| cells | 1 of 96, 1 passed |" in lines
    assert "| query, runner killed | went on: 1 |" in lines
    assert "| commit | abc1234 |" in lines


def test_the_table_shows_what_failed() -> None:
    failed = Outcome(CELL, 4.2, replace(PASSED, changed=[3, 4]), "went on")
    text = "\n".join(markdown([failed, Outcome(replace(CELL, competitor=False), 9.0, error="x")], FACTS))
    assert "**failed**: 2 micro-batches that changed |" in text
    assert "**failed**: no end |" in text
    assert "| cells | 2 of 96, 0 passed |" in text


def test_the_document_reports_every_remark() -> None:
    """A remark says what 'at' means if the victim takes no part in the step."""
    reported = remarks()
    assert len(reported) == len({cell.remark for cell in all_cells()} - {None})
    assert [line for line in reported if line not in " ".join(DOCUMENT.read_text().split())] == []
