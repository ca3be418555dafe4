"""The measured cases of order by key, and the text of a row."""

from __future__ import annotations

from bench.ordered_members import Result, cases, middle


def test_each_number_of_members_reads_all_eight_ways_of_producing() -> None:
    found = cases([1, 4])
    assert len(set(found)) == len(found) == 16
    assert {each.members for each in found[:8]} == {1}


def test_the_middle_is_of_each_figure_by_itself() -> None:
    assert middle([Result(1.0, 9.0), Result(3.0, 8.0), Result(2.0, 1.0)]) == Result(2.0, 8.0)
