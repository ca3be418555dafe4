"""Fixed seeds about jobs: consumer groups, committed offsets and transactions; see `test_simulation.py`."""

from __future__ import annotations

from typing import Final

import pytest

from tests.simulation.fixed_seeds import FixedSeeds
from tests.simulation.runner import run_seed
from tests.simulation.world import is_about_jobs

# What the fixed seeds must have brought about together, at least.
AT_LEAST: Final = {
    "crashes, PROCESS_KILL": 67,
    "crashes, POWER_LOSS": 67,
    "restarts": 67,
    "writes that failed": 67,
    "syncs that failed": 13,
    "passes of the cleaner": 270,
    "passes that were cut off": 5,
    "transactions committed": 36,
    "transactions aborted": 36,
    "audits": 405,
    "heartbeats of consumers": 4_050,
    "heartbeats of zombies": 11,
    "consumers that fell silent": 90,
    "consumers that had to join again": 315,
    "consumers that left": 45,
    "processes started again": 90,
    "jobs that converged": 15,
    "records that jobs read": 2_700,
    "fetches that waited": 270,
    "copies that were read": 1_575,
    "offsets fetched": 1_800,
    "offsets that were unstable": 40,
    "offsets committed plainly": 157,
    "offset commits that were fenced": 9,
    "commits of an earlier epoch": 6,
    "offsets committed in transactions": 270,
    "jobs' transactions committed": 225,
    "jobs' transactions aborted": 15,
    "transactions refused by their group": 9,
    "troubles at the end of a transaction": 13,
    "ends asked for again": 2,
    "producers that went on after an error": 90,
    "producers fenced for their age": 5,
    "producer ids that were used up": 9,
    "groups that changed their kind": 13,
    "transactional ids that were forgotten": 1,
    "zombies refused": 90,
    "topics deleted": 27,
    "topics deleted while offsets were on their way": 4,
    "fetches from topics that are gone": 6,
    "offsets asked for in topics that are gone": 180,
    "offsets committed in topics that are gone": 1,
    "offsets deleted": 11,
    "offsets deleted while they were pending": 3,
    "deletions of offsets that were refused": 22,
    "groups deleted": 5,
    "deletions of groups that were refused": 13,
    "groups that went": 36,
    "deletions of records": 45,
    "positions that were out of range": 18,
    "copies that were deleted before a reader went on": 2,
    "long times": 18,
    "long times with offsets pending": 2,
    "offsets that had expired": 5,
}

_seeds = FixedSeeds(is_about_jobs, chunk=100)


@pytest.mark.parametrize("first", _seeds.chunks)
def test_fixed_seeds_about_jobs(first: int) -> None:
    _seeds.run(first)


def test_enough_happened_over_the_fixed_seeds_about_jobs() -> None:
    _seeds.check_happened(AT_LEAST)


def test_seed_about_jobs_is_repeatable() -> None:
    assert run_seed(4).seen == run_seed(4).seen
