"""Fixed seeds with dead-letter queues (KIP-1191); more with `make sim SEEDS=n ARGS='--from 1000000'`."""

from __future__ import annotations

from collections import Counter
from typing import Final

import pytest

from tests.simulation.deaths import FIRST_SEED, is_about_dead_letters
from tests.simulation.runner import run_seed

CHUNK: Final = 20
CHUNKS: Final = range(FIRST_SEED, FIRST_SEED + 200, CHUNK)

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

_seen: Counter[str] = Counter()
_run: set[int] = set()


@pytest.mark.parametrize("first", CHUNKS)
def test_fixed_seeds_with_dead_letters(first: int) -> None:
    outcomes = [run_seed(seed) for seed in range(first, first + CHUNK) if is_about_dead_letters(seed)]
    failed = [outcome for outcome in outcomes if outcome.failure]
    if failed:
        pytest.fail("\n\n".join(outcome.reported() for outcome in failed), pytrace=False)
    _run.add(first)
    for outcome in outcomes:
        _seen.update(outcome.seen)


def test_enough_records_died_over_the_fixed_seeds() -> None:
    if _run != set(CHUNKS):
        pytest.skip("not all of the fixed seeds were run")
    assert {name: _seen[name] for name, least in AT_LEAST.items() if _seen[name] < least} == {}
