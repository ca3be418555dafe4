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
    "damage_is_cut_off": 53,
    "clean_shutdown_stays": 223,
    "log_ends_where_its_files_do": 283,
    "logs_without_a_promise_have_damage_alone": 63,
    "sequences_of_damaged_batches_count": 173,
    "unsynced_records_are_promised": 23,
    "failed_sync_is_forgotten_at_the_next_start": 493,
    "replaced_segments_come_back": 983,
    "unreadable_blocks_are_errors": 143,
    "half_a_header_is_the_end": 43,
    "any_offset_is_believed": 23,
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
