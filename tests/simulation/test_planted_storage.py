"""Faults planted in what the broker makes of its files: seeds about storage notice, and do not without the fault."""

from __future__ import annotations

from itertools import chain
from typing import Final

import pytest

from tests.simulation import storage
from tests.simulation.planted import Fault
from tests.simulation.planted_storage import FAULTS
from tests.simulation.runner import Outcome, run_seed

# Seeds to try first. What a seed lives through changes with the broker: then one of the others has to notice.
KNOWN: Final = {
    "synced_point_is_not_looked_at": 53,
    "damage_is_cut_off": 53,
    "damage_takes_the_rest_of_its_segment": 53,
    "clean_shutdown_stays": 83,
    "damaged_batches_are_served": 83,
    "damage_is_told_of_the_rest_of_the_log": 43,
    "share_groups_stop_at_damage": 43,
}
OTHERS: Final = range(storage.STORAGE_SEED, 1_500, storage.STORAGE_AMONG)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_planted_fault_is_caught(fault: Fault) -> None:
    caught = _caught(fault)
    assert caught is not None, f"{len(OTHERS)} seeds and nobody noticed"


def _caught(fault: Fault) -> Outcome | None:
    """The first outcome that names the fault, of a seed that ends well without it."""
    for seed in chain([KNOWN.get(fault.__name__, OTHERS[0])], OTHERS):
        with fault():
            outcome = run_seed(seed)
        noticed = any(words in outcome.failure for words in FAULTS[fault])
        if noticed and not run_seed(seed).failure:
            return outcome
    return None


def test_every_seed_to_try_first_is_of_a_fault() -> None:
    assert KNOWN.keys() <= {fault.__name__ for fault in FAULTS}
