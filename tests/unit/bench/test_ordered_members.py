"""The measured cases of order by key, and the text of a row."""

from __future__ import annotations

from bench.figures.ordered import JAVAS_BATCH_BYTES
from bench.ordered_members import Case, Result, cases, middle, row


def test_each_number_of_members_reads_all_eight_ways_of_producing() -> None:
    found = cases([1, 4])
    assert len(set(found)) == len(found) == 16
    assert {each.members for each in found[:8]} == {1}


def test_a_row_says_what_order_leaves() -> None:
    line = row(Case(4, True, JAVAS_BATCH_BYTES, 1), Result(1_000_000.0, 0.4), Result(250_000.0, 3.0))
    assert line == "| 4 | at random | 16 KB | 1 | 1,000,000 | 250,000 | 0.25x | 0.40 | 3.00 |"


def test_the_middle_is_of_each_figure_by_itself() -> None:
    assert middle([Result(1.0, 9.0), Result(3.0, 8.0), Result(2.0, 1.0)]) == Result(2.0, 8.0)
