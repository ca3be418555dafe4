"""The number of records that a worker acquires ahead, by its handler's duration."""

from __future__ import annotations

from shareq.worker.ahead import MOST, Ahead

LOCK_S = 30.0


def after(*calls: float, concurrency: int = 1) -> Ahead:
    ahead = Ahead(concurrency, concurrency)
    for seconds in calls:
        ahead.took(seconds)
    return ahead


def test_before_the_first_call_and_the_first_lock_it_is_the_least() -> None:
    assert after(concurrency=3).count(LOCK_S) == 3
    assert after(0.001, concurrency=3).count(0.0) == 3


def test_short_calls_get_what_they_can_begin_within_a_tenth_of_a_second() -> None:
    assert after(0.01).count(LOCK_S) == 10
    assert after(0.01, concurrency=4).count(LOCK_S) == 40
    assert after(0.000_01).count(LOCK_S) == MOST
    assert after(0.0).count(LOCK_S) == MOST


def test_of_a_short_lock_it_is_a_hundredth() -> None:
    assert after(0.001).count(1.0) == 10


def test_slow_calls_get_the_least() -> None:
    assert after(2.0).count(LOCK_S) == 1
    assert after(2.0, concurrency=8).count(LOCK_S) == 8


def test_a_slow_call_counts_at_once_and_quick_ones_by_and_by() -> None:
    ahead = after(*[0.001] * 50)
    assert ahead.count(LOCK_S) == 100
    ahead.took(5.0)
    assert ahead.count(LOCK_S) == 1
    ahead.took(0.001)
    assert ahead.count(LOCK_S) == 1
    for _ in range(200):
        ahead.took(0.001)
    assert ahead.count(LOCK_S) > 90


def test_only_what_was_acquired_beyond_the_least_goes_back() -> None:
    assert after(0.001).patience_s(LOCK_S) == 3.0
    assert after(2.0).patience_s(LOCK_S) is None
    assert after().patience_s(LOCK_S) is None
