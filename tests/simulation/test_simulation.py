"""Fixed seeds of the whole broker on virtual time and a disk that forgets; more with `make sim SEEDS=n`."""

from __future__ import annotations

from typing import Final

import pytest

from tests.simulation.fixed_seeds import fixed_seeds
from tests.simulation.runner import run_seed
from tests.simulation.world import is_about_jobs

# Seeds that failed once, each with the fault of the broker that it found. What a seed lives through changes with the
# simulation: the faults themselves are unit tests now, and the shorter ones are planted again (`regressed_faults`).
FOUND: Final = {
    20285: "a renewed lock took the timer with it: another share partition's lock outlived its deadline",
    20213: "a failed lock-expiry write let the start offset pass what an ACCEPT was then answered for, as if durable",
    20071: "as 20213, and a crash delivered the accepted record again",
    21435: "as 20071, in the second group",
    31: "after a restart nobody expired before a client asked for the group's shard",
    3587: "a half-failed initialisation left share state that DeleteGroups did not find: it fenced the next group",
    633: "a segment of which nothing survived stayed in the log: what its tombstones had deleted came back",
    52217: "offsets were deleted while a partition was being initialised, which then counted as initialised, stateless",
    1540: "altering part of a topic whose offsets were being deleted forgot the rest: its state outlived the group",
}

# What the fixed seeds must have brought about together, at least; for those about jobs see `test_jobs.py`.
AT_LEAST: Final = {
    "deliveries": 12_000,
    "redeliveries": 4_500,
    "crashes, PROCESS_KILL": 300,
    "crashes, POWER_LOSS": 300,
    "crashes at a commit": 14,
    "restarts": 240,
    "restarts with other settings": 60,
    "writes that failed": 210,
    "syncs that failed": 44,
    "commits that failed": 7,
    "full disks": 74,
    "requests that a crash cut off": 120,
    "answers that were lost": 12,
    "locks that ran out": 300,
    "renewals": 300,
    "given up at the limit": 120,
    "acknowledgements with a fetch": 450,
    "acknowledgements that failed": 150,
    "acknowledgements of another's records": 18,
    "batches sent again": 90,
    "truncations": 44,
    "config changes": 90,
    "heartbeats": 4_500,
    "heartbeats whose answer was lost": 60,
    "heartbeats with a wrong epoch": 30,
    "subscriptions that changed": 90,
    "members that were expired": 60,
    "members that were fenced": 30,
    "members that left": 450,
    "groups that converged": 90,
    "topics created": 360,
    "partitions added": 74,
    "topics deleted": 44,
    "offsets altered": 44,
    "offsets deleted": 26,
    "groups deleted": 74,
    "operations on groups that were refused": 74,
    "operations on groups that failed": 8,
    "descriptions of offsets": 74,
    "descriptions of groups": 54,
    "passes of the cleaner": 600,
    "passes that were cut off": 60,
    "transactions committed": 134,
    "transactions aborted": 120,
    "audits": 900,
    "waits that were kept": 90,
    "ranges that wait": 60,
    "wall clocks that were set": 44,
    "starts without the database of metadata": 120,
    "starts without the journal of metadata": 120,
    "starts without the marker of metadata": 120,
    "starts with the journal behind": 8,
}

SEEDS: Final = fixed_seeds(lambda seed: not is_about_jobs(seed), chunk=37)


@pytest.mark.parametrize("first", SEEDS.firsts)
def test_fixed_seeds(first: int) -> None:
    SEEDS.run_from(first)


def test_enough_happened_over_the_fixed_seeds() -> None:
    assert SEEDS.too_seldom(AT_LEAST) == {}


@pytest.mark.parametrize("seed", FOUND)
def test_seed_that_failed_once(seed: int) -> None:
    outcome = run_seed(seed)
    if outcome.failure:
        pytest.fail(outcome.reported(), pytrace=False)


def test_seed_is_repeatable() -> None:
    """The same seed replays the same events, so that a failure can be examined again."""
    assert run_seed(7).seen == run_seed(7).seen
