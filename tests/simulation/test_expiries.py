"""Fixed seeds with records that expire; `make sim SEEDS=n` runs n / 10 of them, too."""

from __future__ import annotations

from typing import Final

import pytest

from tests.simulation.expiries import FIRST_SEED, is_about_expiries
from tests.simulation.fixed_seeds import fixed_seeds

SEEDS: Final = fixed_seeds(is_about_expiries, chunk=14, seeds=range(FIRST_SEED, FIRST_SEED + 60))

# What they must have brought about together, at least.
AT_LEAST: Final = {"letters of expired records": 600, "mortal records handed out": 200}


@pytest.mark.parametrize("first", SEEDS.firsts)
def test_fixed_seeds_with_records_that_expire(first: int) -> None:
    SEEDS.run_from(first)


def test_enough_expired_over_the_fixed_seeds() -> None:
    assert SEEDS.too_seldom(AT_LEAST) == {}
