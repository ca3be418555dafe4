"""The table of a benchmark run."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.figure import Row, Target
from bench.report import BEGIN, END, Run, as_markdown, collect, of_page, write_between_markers, write_rows

RATE = Row("rate", "rate, records/s", "{:,.0f}", Target("ratio", ">=", 1.0))
START = Row("start_ms", "start, ms", "{:,.0f}", Target("value", "<=", 150.0))


def lines(run: Run) -> list[str]:
    return as_markdown(run).splitlines()


def test_median_ratio_and_target() -> None:
    samples = {"shareq": {"rate": [900.0, 1200.0, 3000.0]}, "apache": {"rate": [1000.0]}}
    assert lines(Run({}, [RATE], samples))[2] == "| rate, records/s | 1,200 | 1,000 | 1.20x | >= 1x | met |"


def test_value_target_is_judged_without_the_other_broker() -> None:
    table = lines(Run({}, [START, RATE], {"shareq": {"start_ms": [151.0], "rate": [5.0]}}))
    assert table[2] == "| start, ms | 151 | - | - | <= 150 | missed |"
    assert table[3] == "| rate, records/s | 5 | - | - | >= 1x |  |"


def test_small_ratios_keep_their_digits() -> None:
    samples = {"shareq": {"rate": [7.0]}, "apache": {"rate": [5000.0]}}
    assert " 0.001x " in lines(Run({}, [RATE], samples))[2]


def test_a_page_leaves_out_rows_that_are_not_for_it() -> None:
    run = Run({}, [RATE, Row("more", "more, records/s", "{:,.0f}", on_page=False)], {"shareq": {"rate": [5.0]}})
    assert [line.partition(" | ")[0] for line in lines(of_page(run))[2:3]] == ["| rate, records/s"]
    assert len(lines(run)) == len(lines(of_page(run))) + 1


def test_repetitions_are_gathered_by_key() -> None:
    assert collect([{"a": 1.0, "b": 2.0}, {"a": 3.0, "b": 4.0}]) == {"a": [1.0, 3.0], "b": [2.0, 4.0]}


def test_only_the_text_between_the_markers_is_replaced(tmp_path: Path) -> None:
    document = tmp_path / "README.md"
    document.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    write_between_markers(document, "new\n")
    assert document.read_text() == f"before\n{BEGIN}\nnew\n{END}\nafter\n"


def test_a_document_without_markers_is_refused(tmp_path: Path) -> None:
    document = tmp_path / "README.md"
    document.write_text("nothing\n")
    with pytest.raises(ValueError, match="bench:begin"):
        write_between_markers(document, "new\n")
    assert document.read_text() == "nothing\n"


def test_rows_that_a_document_shows_are_of_the_run_in_the_columns_that_it_shows(tmp_path: Path) -> None:
    document = tmp_path / "README.md"
    document.write_text("text\n| | shareq | other | ratio |\n| --- |\n| start, ms | 1 | 2 | 3x |\n| other | 7 |\nend\n")
    run = Run({}, [START, RATE], {"shareq": {"start_ms": [80.0], "rate": [5.0]}, "apache": {"start_ms": [160.0]}})
    assert write_rows(document, run) == 1
    shown = "text\n| | shareq | other | ratio |\n| --- |\n| start, ms | 80 | 160 | 0.50x |\n| other | 7 |\nend\n"
    assert document.read_text() == shown


def test_a_document_that_shows_no_row_of_the_run_stays(tmp_path: Path) -> None:
    document = tmp_path / "README.md"
    document.write_text("| other | 7 |\n")
    assert write_rows(document, Run({}, [RATE], {"shareq": {"rate": [5.0]}})) == 0
    assert document.read_text() == "| other | 7 |\n"
