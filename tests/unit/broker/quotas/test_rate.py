"""Rates and token buckets with the throttle times of Apache Kafka, to the millisecond."""

from __future__ import annotations

import pytest

from shareq.broker.quotas.rate import LONGEST_THROTTLE_MS, Rate, TokenBucket, Windows
from tests.unit.broker.quotas.apache_kafkas_rates import RUNS

BOUND, TOKENS = 100.0, 4.0
Steps = tuple[tuple[int, int, int, int, int], ...]


@pytest.mark.parametrize(("number", "size_ms", "steps"), RUNS)
def test_the_times_to_wait_are_apache_kafkas(number: int, size_ms: int, steps: Steps) -> None:
    windows = Windows(number, size_ms)
    rate, bucket = Rate(steps[0][0]), TokenBucket()
    for now_ms, value, throttle_ms, tokens, tokens_ms in steps:
        rate.record(value, now_ms, windows)
        assert rate.throttle_ms(BOUND, now_ms, windows) == throttle_ms, now_ms
        bucket.take(tokens, TOKENS, now_ms, windows)
        assert bucket.throttle_ms(TOKENS, now_ms, windows) == tokens_ms, now_ms
    assert sum(step[2] > 0 for step in steps) > 10
    assert sum(step[4] > 0 for step in steps) > 10


def test_what_is_recorded_is_forgotten_when_its_windows_are_over() -> None:
    windows, rate = Windows(), Rate(0)
    rate.record(5000, 0, windows)
    assert rate.throttle_ms(BOUND, 0, windows) == 40_000
    assert not rate.is_idle(10_999, windows)
    assert rate.throttle_ms(BOUND, 10_999, windows) > 0
    assert rate.is_idle(11_000, windows)
    assert rate.throttle_ms(BOUND, 11_000, windows) == 0


def test_a_single_window_has_no_wait_when_it_begins() -> None:
    """Apache Kafka's arithmetic gives an infinite rate over no time, and so no wait, for `quota.window.num=1`."""
    windows, rate = Windows(1, 1000), Rate(0)
    rate.record(5000, 0, windows)
    assert rate.throttle_ms(BOUND, 0, windows) == 0
    assert rate.throttle_ms(BOUND, 500, windows) == 49_500


def test_no_wait_is_longer_than_an_answer_can_say() -> None:
    rate, bucket = Rate(0), TokenBucket()
    rate.record(1e18, 0, Windows())
    bucket.take(1e18, 1.0, 0, Windows())
    assert rate.throttle_ms(1.0, 0, Windows()) == LONGEST_THROTTLE_MS
    assert bucket.throttle_ms(1.0, 0, Windows()) == LONGEST_THROTTLE_MS


def test_the_tiniest_bound_there_is_has_the_longest_wait() -> None:
    """Any quota above 0 is accepted."""
    rate, bucket, tiniest = Rate(0), TokenBucket(), 5e-324
    rate.record(1, 0, Windows())
    bucket.take(1, tiniest, 0, Windows())
    assert rate.throttle_ms(tiniest, 0, Windows()) == LONGEST_THROTTLE_MS
    assert bucket.throttle_ms(tiniest, 0, Windows()) == LONGEST_THROTTLE_MS


def test_a_full_bucket_holds_all_windows() -> None:
    bucket = TokenBucket()
    assert bucket.left(2.0, 0, Windows()) == 22
    bucket.take(22, 2.0, 0, Windows())
    assert (bucket.left(2.0, 0, Windows()), bucket.throttle_ms(2.0, 0, Windows())) == (0, 0)
    assert bucket.left(2.0, 500, Windows()) == 1
    assert not bucket.is_idle(11_499, Windows())
    assert bucket.is_idle(11_500, Windows())
