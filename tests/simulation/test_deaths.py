"""Fixed seeds with dead-letter queues (KIP-1191); `make sim SEEDS=n` runs n / 10 of them, too."""

from __future__ import annotations

from typing import Final

import pytest

from tests.simulation import breakers, dates, expiries, key_shares, pauses, redrives
from tests.simulation.__main__ import seed_ranges
from tests.simulation.deaths import FIRST_SEED, is_about_dead_letters
from tests.simulation.fixed_seeds import fixed_seeds

SEEDS: Final = fixed_seeds(is_about_dead_letters, chunk=14, seeds=range(FIRST_SEED, FIRST_SEED + 100))

# What they must have brought about together, at least.
AT_LEAST: Final = {
    "dead letters": 180,
    "dead letters twice": 2,
    "deaths with a letter": 90,
    "troubles of dead-letter queues": 36,
    "crashes, PROCESS_KILL": 45,
    "crashes, POWER_LOSS": 45,
    "writes that failed": 22,
}


@pytest.mark.parametrize("first", SEEDS.firsts)
def test_fixed_seeds_with_dead_letters(first: int) -> None:
    SEEDS.run_from(first)


def test_enough_records_died_over_the_fixed_seeds() -> None:
    assert SEEDS.too_seldom(AT_LEAST) == {}


def test_many_seeds_are_run_with_shares_of_those_about_dead_letters_redrives_and_so_on() -> None:
    plain, dead, redriven, paused, dated, broken, mortal, shared = seed_ranges(20_000)
    assert (plain, dead) == (range(20_000), range(FIRST_SEED, FIRST_SEED + 2_000))
    assert redriven == range(redrives.FIRST_SEED, redrives.FIRST_SEED + 2_000)
    assert paused == range(pauses.FIRST_SEED, pauses.FIRST_SEED + 2_000)
    assert dated == range(dates.FIRST_SEED, dates.FIRST_SEED + 2_000)
    assert broken == range(breakers.FIRST_SEED, breakers.FIRST_SEED + 2_000)
    assert mortal == range(expiries.FIRST_SEED, expiries.FIRST_SEED + 2_000)
    assert shared == range(key_shares.FIRST_SEED, key_shares.FIRST_SEED + 2_000)
    assert sum(map(is_about_dead_letters, dead)) == 1_400
    assert sum(map(redrives.is_about_redrives, redriven)) == 1_400
    assert sum(map(pauses.is_about_pauses, paused)) == 1_400
    assert sum(map(dates.is_about_dates, dated)) == 1_400
    assert sum(map(breakers.is_about_breakers, broken)) == 1_400
    assert sum(map(expiries.is_about_expiries, mortal)) == 1_400
    assert sum(map(key_shares.is_about_key_shares, shared)) == 1_400
    later = (redrives, pauses, dates, breakers, expiries, key_shares)
    firsts = (FIRST_SEED, *(kind.FIRST_SEED for kind in later))
    assert seed_ranges(1) == [range(1), *(range(first, first + 1) for first in firsts)]


def test_from_a_seed_on_no_others_are_run() -> None:
    assert seed_ranges(2, 4711) == [range(4711, 4713)]
