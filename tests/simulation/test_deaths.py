"""Fixed seeds with dead-letter queues (KIP-1191); more with `make sim SEEDS=n ARGS='--from 1000000'`."""

from __future__ import annotations

from typing import Final

import pytest

from tests.simulation.deaths import FIRST_SEED, is_about_dead_letters
from tests.simulation.fixed_seeds import FixedSeeds

_seeds = FixedSeeds(is_about_dead_letters, chunk=20, seeds=range(FIRST_SEED, FIRST_SEED + 200))

# What they must have brought about together, at least.
AT_LEAST: Final = {
    "dead letters": 400,
    "dead letters twice": 5,
    "deaths with a letter": 200,
    "troubles of dead-letter queues": 80,
    "crashes, PROCESS_KILL": 100,
    "crashes, POWER_LOSS": 100,
    "writes that failed": 50,
}


@pytest.mark.parametrize("first", _seeds.chunks)
def test_fixed_seeds_with_dead_letters(first: int) -> None:
    _seeds.run(first)


def test_enough_records_died_over_the_fixed_seeds() -> None:
    _seeds.check_happened(AT_LEAST)
