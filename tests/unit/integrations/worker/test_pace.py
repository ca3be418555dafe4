from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shareq.client.errors import ConfigError
from shareq.worker.pace import AT_ONCE_S, Pace, rate_of

RATES = st.sampled_from([0.1, 1.0, 3.0, 10.0, 250.0])


@given(RATES, st.lists(st.floats(0, 5), min_size=1, max_size=60))
def test_no_time_sees_more_calls_than_the_rate_allows(per_s: float, pauses: list[float]) -> None:
    pace, now = Pace(per_s), 1000.0
    began: list[float] = []
    for pause_s in pauses:
        for _ in range(pace.ready(now)):
            pace.began(now)
            began.append(now)
        now += pause_s / per_s
    at_once = max(1, per_s * AT_ONCE_S)
    for at, first in enumerate(began):
        for count, last in enumerate(began[at:], 1):
            assert count <= (last - first) * per_s + at_once + 1e-6


@given(RATES, st.integers(1, 200))
def test_waiting_as_long_as_it_says_is_enough_and_loses_no_call(per_s: float, calls: int) -> None:
    pace, now = Pace(per_s), 50.0
    for _ in range(calls):
        while not pace.ready(now):
            assert pace.wait_s(now) > 0
            now += pace.wait_s(now) + 1e-9
        assert pace.wait_s(now) == pytest.approx(0, abs=1e-6)
        pace.began(now)
    assert now - 50.0 <= max(0, calls - max(1, int(per_s * AT_ONCE_S))) / per_s * 1.001 + 1e-3


@pytest.mark.parametrize(("text", "per_s"), [("100/s", 100), ("30/m", 0.5), ("1.5/s", 1.5), ("36/h", 0.01)])
def test_a_rate_is_calls_in_a_unit_of_time(text: str, per_s: float) -> None:
    assert rate_of(text) == per_s


@pytest.mark.parametrize("text", ["", "0/s", "-1/s", "10", "10/d", "1e9/s", "nan/s", "0.0/m", "9" * 400 + "/s"])
def test_another_text_is_refused_with_what_is_allowed(text: str) -> None:
    with pytest.raises(ConfigError, match='must be calls a second, minute or hour: "100/s", "30/m", "5/h"'):
        rate_of(text)
