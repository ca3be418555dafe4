"""Fixed seeds with redrives (ADR 11); more with `make sim SEEDS=n ARGS='--from 2000000'`."""

from __future__ import annotations

from typing import Final

import pytest

from tests.simulation.fixed_seeds import fixed_seeds
from tests.simulation.redrives import FIRST_SEED, is_about_redrives
from tests.simulation.runner import run_seed

SEEDS: Final = fixed_seeds(is_about_redrives, chunk=14, seeds=range(FIRST_SEED, FIRST_SEED + 100))

# What they must have brought about together, at least.
AT_LEAST: Final = {
    "redrives": 112,
    "redrives that were cancelled": 3,
    "letters that went back": 225,
    "dead letters": 45,
    "crashes, PROCESS_KILL": 90,
    "crashes, POWER_LOSS": 90,
    "writes that failed": 27,
}

# Seeds that failed once, each with the fault of the broker that it found.
FOUND: Final = {
    2_000_500: "a redrive that was just beginning was answered to be cancelled, and went on",
    2_003_337: "the same",
}


@pytest.mark.parametrize("first", SEEDS.firsts)
def test_fixed_seeds_with_redrives(first: int) -> None:
    SEEDS.run_from(first)


@pytest.mark.parametrize("seed", FOUND)
def test_seed_that_failed_once(seed: int) -> None:
    outcome = run_seed(seed)
    if outcome.failure:
        pytest.fail(outcome.reported(), pytrace=False)


def test_enough_was_sent_back_over_the_fixed_seeds() -> None:
    assert SEEDS.too_seldom(AT_LEAST) == {}
