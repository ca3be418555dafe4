from __future__ import annotations

from typing import Final

import pytest

from tests.simulation.cluster import planted_records as planted
from tests.simulation.cluster.records_run import run
from tests.support.fixed_seeds import FixedSeeds
from tests.support.planting import Fault

SEEDS: Final = FixedSeeds(run, range(20), chunk=10)

# What they must have brought about together, at least.
AT_LEAST: Final = {
    "batches": 12_500,
    "batches of aborted transactions": 100,
    "reads of what was not there yet": 10_000,
    "logs that were cut": 15,
    "chunks that gave way": 5_000,
    "readers below a log start": 25,
}

KNOWN_SEEDS: Final[dict[Fault, int]] = {
    planted.a_cut_log_is_not_noticed: 0,
    planted.a_cut_log_keeps_its_chunks: 12,
    planted.answers_of_deposed_leaders_count: 0,
    planted.transactions_are_all_decided: 0,
    planted.an_aborted_transaction_ends_with_its_chunk: 3,
    planted.an_aborted_transaction_ends_with_any_marker: 5,
    planted.only_the_first_chunk_is_asked_for_aborted_ones: 5,
    planted.nothing_gives_way: 0,
    planted.log_starts_do_not_move: 0,
    planted.sessions_outlive_lost_answers: 0,
    planted.what_is_wanted_is_asked_for_once: 0,
    planted.a_left_out_tail_is_not_looked_at: 0,
    planted.what_is_out_of_range_stays_so: 25,
    planted.sources_stay_with_their_first_leaders: 0,
}


@pytest.mark.parametrize("first", SEEDS.firsts)
def test_every_reader_gets_what_the_log_has(first: int) -> None:
    SEEDS.run_from(first)


def test_enough_happened_over_the_fixed_seeds() -> None:
    assert SEEDS.too_seldom(AT_LEAST) == {}


def test_every_planted_fault_has_a_known_seed() -> None:
    assert set(KNOWN_SEEDS) == set(planted.FAULTS)


@pytest.mark.parametrize("fault", planted.FAULTS, ids=lambda fault: fault.__name__)
def test_a_planted_fault_is_noticed(fault: Fault) -> None:
    with fault(), pytest.raises((AssertionError, RuntimeError)):
        run(KNOWN_SEEDS[fault])
