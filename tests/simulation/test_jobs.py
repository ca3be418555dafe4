"""Fixed seeds about jobs: consumer groups, committed offsets and transactions; see `test_simulation.py`."""

from __future__ import annotations

from typing import Final

import pytest

from tests.simulation.fixed_seeds import fixed_seeds
from tests.simulation.runner import run_seed
from tests.simulation.world import is_about_jobs

# What the fixed seeds must have brought about together, at least.
AT_LEAST: Final = {
    "crashes, PROCESS_KILL": 44,
    "crashes, POWER_LOSS": 44,
    "restarts": 44,
    "writes that failed": 44,
    "syncs that failed": 8,
    "passes of the cleaner": 180,
    "passes that were cut off": 3,
    "transactions committed": 24,
    "transactions aborted": 24,
    "audits": 270,
    "heartbeats of consumers": 2_700,
    "heartbeats of zombies": 7,
    "consumers that fell silent": 60,
    "consumers that had to join again": 210,
    "consumers that left": 30,
    "processes started again": 60,
    "jobs that converged": 10,
    "records that jobs read": 1_800,
    "fetches that waited": 180,
    "copies that were read": 1_050,
    "offsets fetched": 1_200,
    "offsets that were unstable": 26,
    "offsets committed plainly": 104,
    "offset commits that were fenced": 6,
    "commits of an earlier epoch": 4,
    "offsets committed in transactions": 180,
    "jobs' transactions committed": 150,
    "jobs' transactions aborted": 10,
    "transactions refused by their group": 6,
    "troubles at the end of a transaction": 8,
    "ends asked for again": 1,
    "producers that went on after an error": 60,
    "producers fenced for their age": 3,
    "producer ids that were used up": 6,
    "groups that changed their kind": 8,
    "transactional ids that were forgotten": 1,
    "zombies refused": 60,
    "topics deleted": 18,
    "topics deleted while offsets were on their way": 2,
    "fetches from topics that are gone": 4,
    "offsets asked for in topics that are gone": 120,
    "offsets committed in topics that are gone": 1,
    "offsets deleted": 7,
    "offsets deleted while they were pending": 2,
    "deletions of offsets that were refused": 14,
    "groups deleted": 3,
    "deletions of groups that were refused": 8,
    "groups that went": 24,
    "deletions of records": 30,
    "positions that were out of range": 12,
    "copies that were deleted before a reader went on": 1,
    "long times": 12,
    "long times with offsets pending": 1,
    "offsets that had expired": 3,
}

SEEDS: Final = fixed_seeds(is_about_jobs, chunk=25)


@pytest.mark.parametrize("first", SEEDS.firsts)
def test_fixed_seeds_about_jobs(first: int) -> None:
    SEEDS.run_from(first)


def test_enough_happened_over_the_fixed_seeds_about_jobs() -> None:
    assert SEEDS.too_seldom(AT_LEAST) == {}


def test_seed_about_jobs_is_repeatable() -> None:
    assert run_seed(4).seen == run_seed(4).seen
