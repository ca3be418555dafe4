"""The letters selected for a redrive by offsets and filters, before anything is sent."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from shareq.client.admin.redrives import Letter, LetterFilter
from shareq.ops.cli.dlq.redrives import MOST_RANGES, names_of, ranges_of
from shareq.ops.cli.main import main

ALL = LetterFilter()
LETTER = Letter("orders", 1, 42, "packers", 3, "Offset rejected by client.", "CLIENT_REJECTED", 5_000)


def test_neighbours_are_one_range_and_no_letter_is_in_two() -> None:
    assert ranges_of([(0, 0), (1, 1)]) == [(0, 1)]
    assert ranges_of([(7, 9), (0, 5), (3, 6)]) == [(0, 9)]
    assert ranges_of([(4, 4), (0, 9), (11, 11)]) == [(0, 9), (11, 11)]
    assert ranges_of([]) == []


def test_one_redrive_has_the_name_and_several_have_numbers() -> None:
    assert names_of("monday", 1) == ["monday"]
    assert names_of("monday", 2) == ["monday.1", "monday.2"]


@pytest.mark.parametrize(
    ("change", "takes"),
    [
        ({}, True),
        ({"group": "packers"}, True),
        ({"group": "others"}, False),
        ({"source_topic": "orders", "source_partition": 1}, True),
        ({"source_topic": "orders", "source_partition": 0}, False),
        ({"first_source_offset": 42, "last_source_offset": 42}, True),
        ({"first_source_offset": 43}, False),
        ({"last_source_offset": 41}, False),
        ({"reason": "CLIENT_REJECTED"}, True),
        ({"reason": "MAX_DELIVERY_ATTEMPTS_REACHED"}, False),
        ({"died_from_ms": 5_000, "died_until_ms": 5_001}, True),
        ({"died_from_ms": 5_001}, False),
        ({"died_until_ms": 5_000}, False),
    ],
)
def test_a_filter_is_understood_as_the_broker_does(change: dict[str, object], takes: bool) -> None:
    assert ALL._replace(**change).takes(LETTER, 9_000) is takes  # type: ignore[arg-type]  # fields by name


def test_a_letter_without_a_time_of_death_has_the_one_of_its_record() -> None:
    letter = LETTER._replace(died_ms=None)
    assert not ALL._replace(died_until_ms=9_000).takes(letter, 9_000)
    assert ALL._replace(died_until_ms=9_001).takes(letter, 9_000)


@pytest.mark.parametrize("text", ["x", "-1", "5-", "5-4", "1-2-3", "1.5", ""])
def test_what_is_no_offset_is_refused_before_anything_is_sent(text: str) -> None:
    ran = CliRunner().invoke(main, ["dlq", "redrive", "a", "dlq.orders:0", "--offset", text, "--yes"])
    assert (ran.exit_code, ran.stderr.count("\n")) == (2, 1)
    assert "--offset" in ran.stderr


def test_more_ranges_than_a_broker_runs_are_refused() -> None:
    words = [word for number in range(MOST_RANGES + 1) for word in ("--offset", str(number * 2))]
    ran = CliRunner().invoke(main, ["dlq", "redrive", "a", "dlq.orders:0", *words, "--yes"])
    assert (ran.exit_code, ran.stderr.count("\n")) == (2, 1)
    assert f"{MOST_RANGES + 1} ranges; {MOST_RANGES} at most" in ran.stderr
