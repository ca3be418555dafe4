"""Fixed seeds of nodes that each own some of the slots, and planted faults.

`make sim-cluster ARGS=--spread` runs more seeds.
"""

from __future__ import annotations

from typing import Final

import pytest

from tests.simulation.nodes import planted
from tests.simulation.nodes.world import run_spread
from tests.support.fixed_seeds import FixedSeeds
from tests.support.planting import Fault

SEEDS: Final = FixedSeeds(run_spread, range(3), chunk=1)
AT_LEAST: Final = {
    "confirmed": 400,
    "owners of slots": 15,
    "nodes killed": 2,
    "nodes held": 2,
    "cuts between nodes": 2,
}
MOST_SEEDS: Final = 12


@pytest.mark.parametrize("first", SEEDS.firsts)
def test_nothing_is_lost_or_comes_again_after_it_was_confirmed(first: int) -> None:
    SEEDS.run_from(first)


def test_enough_happened_over_the_fixed_seeds() -> None:
    assert SEEDS.too_seldom(AT_LEAST) == {}


def notices(fault: Fault, seed: int) -> bool:
    """Return True if a run ends differently with the fault; without it none of these seeds fails."""
    with fault():
        try:
            run_spread(seed)
        except (AssertionError, RuntimeError):
            return True
    return False


@pytest.mark.parametrize("fault", planted.OF_SEVERAL_OWNERS, ids=lambda fault: fault.__name__)
def test_a_planted_fault_is_noticed(fault: Fault) -> None:
    noticing = next((seed for seed in range(MOST_SEEDS) if notices(fault, seed)), None)
    assert noticing is not None
    run_spread(noticing)  # it is the fault that it notices
