from __future__ import annotations

from dataclasses import replace

from tests.spark.kills.cells import Ack, Cell, Step, Victim, all_cells
from tests.spark.kills.ledger import Verdict
from tests.spark.kills.report import Facts, Outcome, markdown

FACTS = Facts("shareq", 7, "abc1234", "two cores", "2026-01-02", 125.0)
CELL = Cell(Victim.RUNNER, Step.ACQUIRED, Ack.COMMIT, True)
PASSED = Verdict([], [], [3], [], [], [(0, 1), (0, 2)], [], [], 300, 200, 102, 0)


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


def test_the_table_has_a_row_for_each_victim_that_was_killed() -> None:
    lines = markdown([Outcome(CELL, 4.2, PASSED, "went on")], FACTS)
    row = "| 1 of 1 | 300 | 0/0/0/0 | 1/0 | 2 | 0 | went on: 1 |"
    assert lines[0] == "shareq, seed 7, commit abc1234, two cores, 2026-01-02, 2 min:"
    assert lines[4] == f"| runner {row}"
    assert "* not run: 95 of 96 cells" in lines


def test_the_table_shows_what_failed() -> None:
    failed = Outcome(CELL, 4.2, replace(PASSED, lost=[(0, 7)], changed=[3, 4]), "went on")
    lines = markdown([failed, Outcome(replace(CELL, competitor=False), 9.0, error="x")], FACTS)
    assert "| runner | 0 of 2 | 300 | 1/0/2/0 | 1/0 | 2 | 0 | went on: 1 |" in lines
    assert f"* {CELL.name}: **failed**: 1 lost" in lines
    assert f"* {replace(CELL, competitor=False).name}: **failed**: no end" in lines


def test_a_whole_matrix_that_passed_names_no_cell() -> None:
    lines = markdown([Outcome(cell, 4.2, PASSED, "went on") for cell in all_cells()], FACTS)
    assert [line.split(" | ")[1] for line in lines[4:]] == ["24 of 24"] * len(Victim)
