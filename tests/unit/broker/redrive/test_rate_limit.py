"""The rate of a redrive: the size of a round, and the start of the next one."""

from __future__ import annotations

from shareq.broker.redrive.rate_limit import records_of_a_round, wait_ms


def test_a_round_sends_what_the_rate_allows_in_a_tenth_of_a_second() -> None:
    assert [records_of_a_round(rate, 100) for rate in (10, 100, 199, 999, 1_000)] == [1, 10, 19, 99, 100]


def test_a_round_sends_one_letter_however_low_the_rate_is_and_no_more_than_it_may() -> None:
    assert [records_of_a_round(rate, 100) for rate in (1, 9, 1_001, 1_000_000)] == [1, 1, 100, 100]


def test_the_next_round_waits_until_the_rate_is_kept() -> None:
    assert [wait_ms(records, 3) for records in (0, 1, 3)] == [0, 334, 1_000]
