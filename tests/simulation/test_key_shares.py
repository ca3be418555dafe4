"""Fixed seeds in which keys have shares; `make sim SEEDS=n` runs n / 10 of them, too."""

from __future__ import annotations

from typing import Final

import pytest

from tests.simulation.fixed_seeds import fixed_seeds
from tests.simulation.key_shares import FIRST_SEED, is_about_key_shares

SEEDS: Final = fixed_seeds(is_about_key_shares, chunk=14, seeds=range(FIRST_SEED, FIRST_SEED + 60))

# What they must have brought about together, at least.
AT_LEAST: Final = {"deliveries in the order of keys": 1_000, "windows that look ahead": 5}


@pytest.mark.parametrize("first", SEEDS.firsts)
def test_fixed_seeds_with_keys_that_have_shares(first: int) -> None:
    SEEDS.run_from(first)


def test_enough_was_in_hand_over_the_fixed_seeds() -> None:
    assert SEEDS.too_seldom(AT_LEAST) == {}
