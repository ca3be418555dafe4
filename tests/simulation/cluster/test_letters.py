"""Fixed seeds of a node's dead letters on a simulated cluster, and faults that they must notice."""

from __future__ import annotations

from typing import Final

import pytest

from tests.simulation.cluster import planted_letters as planted
from tests.simulation.cluster.letters_run import run
from tests.support.fixed_seeds import FixedSeeds
from tests.support.planting import Fault

SEEDS: Final = FixedSeeds(run, range(40), chunk=10)

# What they must have brought about together, at least.
AT_LEAST: Final = {
    "letters": 3_000,
    "letters that came again": 50,
    "letters without content": 50,
    "retries": 100,
    "take-overs": 50,
    "queues that were deleted": 10,
    "partitions whose order was looked at": 5,
}

KNOWN_SEEDS: Final[dict[Fault, int]] = {
    planted.what_is_not_here_is_not_there: 0,
    planted.letters_hold_the_next_record: 0,
    planted.what_is_not_here_is_looked_for_once: 0,
    planted.letters_whose_answer_is_lost_are_written: 2,
    planted.letters_need_no_follower: 160,
    planted.the_last_to_die_come_first: 39,
    planted.letters_of_all_partitions_go_to_one: 0,
    planted.kept_dead_are_given_up: 4,
    planted.what_was_known_of_queues_stays_so: 14,
    planted.a_missing_queue_is_never_created: 4,
}


@pytest.mark.parametrize("first", SEEDS.firsts)
def test_every_dead_record_has_its_letter(first: int) -> None:
    SEEDS.run_from(first)


def test_enough_happened_over_the_fixed_seeds() -> None:
    assert SEEDS.too_seldom(AT_LEAST) == {}


@pytest.mark.parametrize("seed", [299, 470])
def test_a_queue_that_one_broker_has_not_heard_of_is_asked_for_with_pauses(seed: int) -> None:
    """The broker says the queue exists but not its properties, so a pause comes before the next question."""
    run(seed)


def test_every_planted_fault_has_a_known_seed() -> None:
    assert set(KNOWN_SEEDS) == set(planted.FAULTS)


@pytest.mark.parametrize("fault", planted.FAULTS, ids=lambda fault: fault.__name__)
def test_a_planted_fault_is_noticed(fault: Fault) -> None:
    with fault(), pytest.raises((AssertionError, RuntimeError)):
        run(KNOWN_SEEDS[fault])
