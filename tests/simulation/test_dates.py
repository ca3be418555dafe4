"""Fixed seeds with dated records; `make sim SEEDS=n` runs n / 10 of them, too."""

from __future__ import annotations

from typing import Final

import pytest

from tests.simulation.dates import FIRST_SEED, is_about_dates
from tests.simulation.fixed_seeds import fixed_seeds

SEEDS: Final = fixed_seeds(is_about_dates, chunk=14, seeds=range(FIRST_SEED, FIRST_SEED + 100))

# What they must have brought about together, at least.
AT_LEAST: Final = {
    "dated records handed out": 2_800,
    "records given back with a time": 28,
    "waits that were kept": 38,
    "ranges that wait": 850,
    "windows that are half full of what waits": 5,
    "dated records that stay behind the window": 2,
}


@pytest.mark.parametrize("first", SEEDS.firsts)
def test_fixed_seeds_with_dates(first: int) -> None:
    SEEDS.run_from(first)


def test_enough_was_dated_over_the_fixed_seeds() -> None:
    assert SEEDS.too_seldom(AT_LEAST) == {}
