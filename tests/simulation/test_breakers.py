"""Fixed seeds in which groups have a breaker; `make sim SEEDS=n` runs n / 10 of them, too."""

from __future__ import annotations

from typing import Final

import pytest

from tests.simulation.breakers import FIRST_SEED, is_about_breakers
from tests.simulation.fixed_seeds import fixed_seeds

SEEDS: Final = fixed_seeds(is_about_breakers, chunk=14, seeds=range(FIRST_SEED, FIRST_SEED + 150))

# What they must have brought about together, at least.
AT_LEAST: Final = {
    "groups that their breaker paused": 12,
}


@pytest.mark.parametrize("first", SEEDS.firsts)
def test_fixed_seeds_with_breakers(first: int) -> None:
    SEEDS.run_from(first)


def test_enough_groups_were_paused_over_the_fixed_seeds() -> None:
    assert SEEDS.too_seldom(AT_LEAST) == {}
