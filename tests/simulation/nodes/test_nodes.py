"""Fixed seeds of nodes in front of a simulated cluster, and planted faults. `make sim-cluster SEEDS=n` runs more."""

from __future__ import annotations

from functools import cache
from typing import Final

import pytest

from tests.simulation.nodes import planted
from tests.simulation.nodes.known_seeds import KNOWN_SEEDS
from tests.simulation.nodes.noticing import STEPS, noticed_by
from tests.simulation.nodes.world import run
from tests.support.fixed_seeds import FixedSeeds
from tests.support.planting import Fault

FIXED: Final = range(8)
SEEDS: Final = FixedSeeds(run, FIXED, chunk=2)
OTHER_SEEDS: Final = 100
AT_LEAST: Final = {
    "confirmed": 1_000,
    "owners of slots": 30,
    "nodes killed": 5,
    "nodes held": 3,
    "zombies": 4,
    "nodes taken for ended": 1,
    "machines suspended": 1,
    "cuts": 5,
    "silences": 1,
    "clean elections that lost appends": 1,
    "records lost by elections": 2,
    "rights taken away": 2,
    "topics made later": 2,
    "compactions": 10,
}


@pytest.mark.parametrize("first", SEEDS.firsts)
def test_nothing_is_lost_or_comes_again_after_it_was_confirmed(first: int) -> None:
    SEEDS.run_from(first)


def test_enough_happened_over_the_fixed_seeds() -> None:
    assert SEEDS.too_seldom(AT_LEAST) == {}


def test_every_planted_fault_has_a_known_seed() -> None:
    assert set(KNOWN_SEEDS) == set(planted.FAULTS)


@pytest.mark.parametrize("fault", planted.FAULTS, ids=lambda fault: fault.__name__)
def test_a_planted_fault_is_noticed(fault: Fault) -> None:
    """The known seeds are tried first; after a change of the product others may notice it instead."""
    seeds = dict.fromkeys((*KNOWN_SEEDS[fault], *range(OTHER_SEEDS)))
    noticing = next((seed for seed in seeds if noticed_by(fault, seed)), None)
    assert noticing is not None, "`noticing.py` looks for known seeds"
    if noticing not in FIXED or fault in STEPS:  # the fixed seeds have tests of their own
        run_without_a_fault(noticing, STEPS.get(fault, ""))  # it is the fault that it notices


@cache
def run_without_a_fault(seed: int, steps: str) -> None:
    run(seed, steps)
