"""An allowance, which computes a rate only near the quota, compared with a rate that is always computed."""

from __future__ import annotations

from random import Random

import pytest

from shareq.broker.quotas.allowance import Allowance, Throttles, Usage
from shareq.broker.quotas.rate import Rate, Windows
from tests.support.each import for_each
from tests.unit.broker.quotas.apache_kafkas_rates import RUNS

BOUND = 100.0


@pytest.mark.parametrize(("number", "size_ms", "steps"), RUNS)
def test_the_times_to_wait_are_apache_kafkas(
    number: int, size_ms: int, steps: tuple[tuple[int, int, int, int, int], ...]
) -> None:
    allowance = Allowance(BOUND, Windows(number, size_ms), Throttles(), Usage())
    for now_ms, value, throttle_ms, _, _ in steps:
        assert allowance.spend(value, now_ms) == throttle_ms, now_ms


@for_each("seed", range(100))
def test_waits_are_those_of_a_rate_that_is_looked_at_each_time(seed: int) -> None:
    """There are several uses at one moment, uses of nothing, returned amounts, long pauses and changed quotas."""
    random = Random(seed)
    windows = Windows(random.choice([1, 2, 3, 11]), random.choice([10, 1000]))
    bound, mean = BOUND, random.choice([1, 20, 60, 95, 105, 300]) * windows.size_ms / 1000
    allowance, now_ms = Allowance(bound, windows, throttles := Throttles(), usage := Usage()), 1000
    rate, waits = Rate(now_ms), list[int]()
    for _ in range(400):
        amount = random.choice([0, 1, random.randrange(int(4 * mean) + 1)])
        rate.record(amount, now_ms, windows)
        expected = rate.throttle_ms(bound, now_ms, windows)
        allowance.begin(now_ms)
        allowance.pending += amount
        got = allowance.throttle_ms() if allowance.pending > allowance.room else 0
        assert got == expected
        waits.append(got)
        if got and random.random() < 0.3:
            rate.record(-amount, now_ms, windows)
            allowance.take_back(amount)
        if random.random() < 0.02:
            bound *= random.choice([0.5, 2])
            allowance.limit(bound, usage)
        now_ms += random.choice(
            [0, 0, 1, windows.size_ms // 2, windows.size_ms, random.choice([0, 20]) * windows.size_ms]
        )
    assert (throttles.number, throttles.total_ms) == (sum(map(bool, waits)), sum(waits))
    assert usage.throttles.total_ms == sum(waits)


def test_far_below_the_quota_hardly_anything_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    look, looks = Rate.throttle_ms, list[int]()

    def looking(self: Rate, bound: float, now_ms: int, windows: Windows) -> int:
        looks.append(now_ms)
        return look(self, bound, now_ms, windows)

    monkeypatch.setattr(Rate, "throttle_ms", looking)
    allowance = Allowance(BOUND, Windows(), Throttles(), Usage())
    for now_ms in range(100_000):  # half of the quota for a hundred seconds
        assert allowance.spend(now_ms % 20 == 0, now_ms) == 0
    assert 1 < len(looks) < 20


def test_what_is_idle_and_what_was_used() -> None:
    usage = Usage()
    allowance = Allowance(BOUND, Windows(), Throttles(), usage)
    assert allowance.is_idle(0)
    for now_ms in (5, 5, 6):
        allowance.spend(7, now_ms)
    assert not allowance.is_idle(11_005)
    assert allowance.is_idle(11_006)
    assert usage.amount == 21


def test_a_wait_of_one_window_is_the_longest_where_it_is_bounded() -> None:
    allowance = Allowance(10.0, Windows(), Throttles(), Usage(), unit=1e-7, longest_ms=1000)
    assert allowance.spend(1_000_000_000, 0) == 0  # a second, in percent over ten seconds
    assert allowance.spend(10_000_000, 0) == 100
    assert allowance.spend(1_000_000_000, 0) == 1000
