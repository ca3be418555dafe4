"""The Spark demo's comparison of the table with the other member's journal."""

from __future__ import annotations

from pathlib import Path

from examples.spark_flights.tally import Journal, Place, Row, tally

PRODUCED = {"UA": 3, "AA": 1}
UA = [Place(0, offset, "UA") for offset in range(3)]
AA = Place(1, 0, "AA")


def test_each_flight_with_one_of_the_two() -> None:
    joined = tally(PRODUCED, [UA[0], AA], [UA[1], UA[2]], PRODUCED)
    assert joined.rows == [Row("UA", 3, 1, 2, 0, 3), Row("AA", 1, 1, 0, 0, 1)]
    assert joined.total == Row("all", 4, 2, 2, 0, 4)
    assert joined.holds


def test_flights_with_both_are_counted_and_no_fault() -> None:
    """The share group delivers at least once across its members."""
    joined = tally(PRODUCED, [*UA, AA], [UA[1], UA[1], UA[2]], PRODUCED)
    assert joined.total.both == 2
    assert joined.total.missing == 0
    assert joined.holds


def test_a_flight_that_nobody_has_is_a_fault() -> None:
    joined = tally(PRODUCED, [UA[0], AA], [UA[1]], PRODUCED)
    assert [row.missing for row in joined.rows] == [1, 0]
    assert not joined.holds


def test_a_row_that_is_there_twice_is_a_fault() -> None:
    joined = tally(PRODUCED, [*UA, AA, AA], [], PRODUCED)
    assert joined.twice == 1
    assert not joined.holds


def test_a_count_that_is_off_is_a_fault() -> None:
    assert not tally(PRODUCED, [*UA, AA], [], {"UA": 3, "AA": 2}).holds
    assert not tally(PRODUCED, [*UA, AA], [], {**PRODUCED, "ZZ": 1}).holds


def test_nothing_at_all_is_no_success() -> None:
    assert not tally({}, [], [], {}).holds


def test_the_journal_is_read_as_it_grows(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.jsonl")
    assert journal.read() == 0
    with journal.path.open("w") as file:
        file.write('[[0,0,"UA"],[0,1,"UA"]]\n[[1,0,')
        file.flush()
        assert journal.read() == 2
        file.write('"AA"]]\n')
    assert journal.read() == 3
    assert journal.read() == 3
    assert journal.places == [UA[0], UA[1], AA]
