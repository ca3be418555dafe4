"""Fixed seeds of the settings that nodes share on a simulated cluster, and faults that they must notice."""

from __future__ import annotations

from typing import Final

import pytest

from tests.simulation.cluster import planted_config as planted
from tests.simulation.cluster.config_run import run
from tests.support.fixed_seeds import FixedSeeds
from tests.support.planting import Fault

SEEDS: Final = FixedSeeds(run, range(20), chunk=10)

# What they must have brought about together, at least.
AT_LEAST: Final = {
    "changes": 2_000,
    "answered NONE": 1_000,
    "answered REQUEST_TIMED_OUT": 150,
    "elections": 75,
    "reads from the start": 150,
    "records that were lost": 5,
}

KNOWN_SEEDS: Final[dict[Fault, int]] = {
    planted.what_is_read_again_is_no_news: 0,
    planted.rows_that_are_gone_stay: 0,
    planted.the_last_secret_counts: 1,
    planted.doubtful_writes_are_confirmed: 0,
    planted.writes_are_confirmed_before_they_are_read_back: 0,
    planted.a_read_goes_on_where_it_failed: 0,
    planted.what_may_be_appended_is_sent_again: 180,
    planted.a_deposed_leader_is_read: 1534,
    planted.offers_of_secrets_are_sent_again: 1448,
}


@pytest.mark.parametrize("first", SEEDS.firsts)
def test_all_nodes_have_what_the_log_has(first: int) -> None:
    SEEDS.run_from(first)


def test_enough_happened_over_the_fixed_seeds() -> None:
    assert SEEDS.too_seldom(AT_LEAST) == {}


def test_every_planted_fault_has_a_known_seed() -> None:
    assert set(KNOWN_SEEDS) == set(planted.FAULTS)


@pytest.mark.parametrize("fault", planted.FAULTS, ids=lambda fault: fault.__name__)
def test_a_planted_fault_is_noticed(fault: Fault) -> None:
    with fault(), pytest.raises((AssertionError, RuntimeError)):
        run(KNOWN_SEEDS[fault])
