"""Fixed seeds about jobs: consumer groups, committed offsets and transactions; see `test_simulation.py`."""

from __future__ import annotations

from typing import Final

import pytest

from tests.simulation.fixed_seeds import FixedSeeds
from tests.simulation.runner import run_seed
from tests.simulation.world import is_about_jobs

# What the fixed seeds must have brought about together, at least.
AT_LEAST: Final = {
    "crashes, PROCESS_KILL": 150,
    "crashes, POWER_LOSS": 150,
    "restarts": 150,
    "writes that failed": 150,
    "syncs that failed": 30,
    "passes of the cleaner": 600,
    "passes that were cut off": 12,
    "transactions committed": 80,
    "transactions aborted": 80,
    "audits": 900,
    "heartbeats of consumers": 9_000,
    "heartbeats of zombies": 25,
    "consumers that fell silent": 200,
    "consumers that had to join again": 700,
    "consumers that left": 100,
    "processes started again": 200,
    "jobs that converged": 35,
    "records that jobs read": 6_000,
    "fetches that waited": 600,
    "copies that were read": 3_500,
    "offsets fetched": 4_000,
    "offsets that were unstable": 90,
    "offsets committed plainly": 350,
    "offset commits that were fenced": 20,
    "commits of an earlier epoch": 14,
    "offsets committed in transactions": 600,
    "jobs' transactions committed": 500,
    "jobs' transactions aborted": 35,
    "transactions refused by their group": 22,
    "troubles at the end of a transaction": 30,
    "ends asked for again": 5,
    "producers that went on after an error": 200,
    "producers fenced for their age": 12,
    "producer ids that were used up": 20,
    "groups that changed their kind": 30,
    "transactional ids that were forgotten": 2,
    "zombies refused": 200,
    "topics deleted": 60,
    "topics deleted while offsets were on their way": 10,
    "fetches from topics that are gone": 15,
    "offsets asked for in topics that are gone": 400,
    "offsets committed in topics that are gone": 2,
    "offsets deleted": 25,
    "offsets deleted while they were pending": 8,
    "deletions of offsets that were refused": 50,
    "groups deleted": 12,
    "deletions of groups that were refused": 30,
    "groups that went": 80,
    "deletions of records": 100,
    "positions that were out of range": 40,
    "copies that were deleted before a reader went on": 6,
    "long times": 40,
    "long times with offsets pending": 5,
    "offsets that had expired": 12,
}

_seeds = FixedSeeds(is_about_jobs, chunk=125)


@pytest.mark.parametrize("first", _seeds.chunks)
def test_fixed_seeds_about_jobs(first: int) -> None:
    _seeds.run(first)


def test_enough_happened_over_the_fixed_seeds_about_jobs() -> None:
    _seeds.check_happened(AT_LEAST)


def test_seed_about_jobs_is_repeatable() -> None:
    assert run_seed(4).seen == run_seed(4).seen
