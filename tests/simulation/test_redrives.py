"""Fixed seeds with redrives (ADR 11); more with `make sim SEEDS=n ARGS='--from 2000000'`."""

from __future__ import annotations

from collections import Counter
from typing import Final

import pytest

from tests.simulation.redrives import FIRST_SEED, is_about_redrives
from tests.simulation.runner import run_seed

CHUNK: Final = 20
CHUNKS: Final = range(FIRST_SEED, FIRST_SEED + 200, CHUNK)

# What they must have brought about together, at least.
AT_LEAST: Final = {
    "redrives": 250,
    "redrives that were cancelled": 8,
    "letters that went back": 500,
    "dead letters": 100,
    "crashes, PROCESS_KILL": 200,
    "crashes, POWER_LOSS": 200,
    "writes that failed": 60,
}

# Seeds that failed once, each with the fault of the broker that it found.
FOUND: Final = {
    2_000_500: "a redrive that was just beginning was answered to be cancelled, and went on",
    2_003_337: "the same",
}

_seen: Counter[str] = Counter()
_run: set[int] = set()


@pytest.mark.parametrize("first", CHUNKS)
def test_fixed_seeds_with_redrives(first: int) -> None:
    outcomes = [run_seed(seed) for seed in range(first, first + CHUNK) if is_about_redrives(seed)]
    failed = [outcome for outcome in outcomes if outcome.failure]
    if failed:
        pytest.fail("\n\n".join(outcome.reported() for outcome in failed), pytrace=False)
    _run.add(first)
    for outcome in outcomes:
        _seen.update(outcome.seen)


@pytest.mark.parametrize("seed", FOUND)
def test_seed_that_failed_once(seed: int) -> None:
    outcome = run_seed(seed)
    if outcome.failure:
        pytest.fail(outcome.reported(), pytrace=False)


def test_enough_was_sent_back_over_the_fixed_seeds() -> None:
    if _run != set(CHUNKS):
        pytest.skip("not all of the fixed seeds were run")
    assert {name: _seen[name] for name, least in AT_LEAST.items() if _seen[name] < least} == {}
