"""Fixed seeds in which groups are paused; `make sim SEEDS=n` runs n / 10 of them, too."""

from __future__ import annotations

from typing import Final

import pytest

from tests.simulation.fixed_seeds import fixed_seeds
from tests.simulation.pauses import FIRST_SEED, is_about_pauses

SEEDS: Final = fixed_seeds(is_about_pauses, chunk=14, seeds=range(FIRST_SEED, FIRST_SEED + 60))

# What they must have brought about together, at least.
AT_LEAST: Final = {
    "pauses": 60,
    "resumptions": 55,
    "fetches of paused groups": 75,
}


@pytest.mark.parametrize("first", SEEDS.firsts)
def test_fixed_seeds_with_pauses(first: int) -> None:
    SEEDS.run_from(first)


def test_enough_was_paused_over_the_fixed_seeds() -> None:
    assert SEEDS.too_seldom(AT_LEAST) == {}
