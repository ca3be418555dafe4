from __future__ import annotations

from shareq.broker.quotas.owned_rate import OwnedRate


def test_a_burst_and_then_a_rate_for_each_owner() -> None:
    rate = OwnedRate(5, 20)
    assert [rate.take("a", wanted, 0) for wanted in (60, 60, 1)] == [60, 40, 0]
    assert rate.take("b", 1000, 0) == 100
    assert [rate.take("a", 50, now_ms) for now_ms in (199, 200, 1_200)] == [0, 1, 5]
    assert rate.take("a", 1000, 60_000) == 100


def test_owners_that_have_all_of_it_again_are_forgotten() -> None:
    rate = OwnedRate(5, 20)
    for number in range(10_000):
        rate.take(number, 1, number * 100)
    assert len(rate) <= 2_000
