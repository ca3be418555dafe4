"""Fixed seeds of the whole broker on virtual time and a disk that forgets; more with `make sim SEEDS=n`."""

from __future__ import annotations

from typing import Final

import pytest

from tests.simulation.fixed_seeds import FixedSeeds
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
    "deliveries": 40_000,
    "redeliveries": 15_000,
    "crashes, PROCESS_KILL": 1_000,
    "crashes, POWER_LOSS": 1_000,
    "crashes at a commit": 50,
    "restarts": 800,
    "restarts with other settings": 200,
    "writes that failed": 700,
    "syncs that failed": 150,
    "commits that failed": 25,
    "full disks": 250,
    "requests that a crash cut off": 400,
    "answers that were lost": 40,
    "locks that ran out": 1_000,
    "renewals": 1_000,
    "given up at the limit": 400,
    "acknowledgements with a fetch": 1_500,
    "acknowledgements that failed": 500,
    "acknowledgements of another's records": 60,
    "batches sent again": 300,
    "truncations": 150,
    "config changes": 300,
    "heartbeats": 15_000,
    "heartbeats whose answer was lost": 200,
    "heartbeats with a wrong epoch": 100,
    "subscriptions that changed": 300,
    "members that were expired": 200,
    "members that were fenced": 100,
    "members that left": 1_500,
    "groups that converged": 300,
    "topics created": 1_200,
    "partitions added": 250,
    "topics deleted": 150,
    "offsets altered": 150,
    "offsets deleted": 90,
    "groups deleted": 250,
    "operations on groups that were refused": 250,
    "operations on groups that failed": 30,
    "descriptions of offsets": 250,
    "descriptions of groups": 180,
    "passes of the cleaner": 2_000,
    "passes that were cut off": 200,
    "transactions committed": 450,
    "transactions aborted": 400,
    "audits": 3_000,
    "waits that were kept": 300,
    "ranges that wait": 200,
    "wall clocks that were set": 150,
    "starts without the database of metadata": 400,
    "starts without the journal of metadata": 400,
    "starts without the marker of metadata": 400,
    "starts with the journal behind": 30,
}

_seeds = FixedSeeds(lambda seed: not is_about_jobs(seed), chunk=50)


@pytest.mark.parametrize("first", _seeds.chunks)
def test_fixed_seeds(first: int) -> None:
    _seeds.run(first)


def test_enough_happened_over_the_fixed_seeds() -> None:
    _seeds.check_happened(AT_LEAST)


@pytest.mark.parametrize("seed", FOUND)
def test_seed_that_failed_once(seed: int) -> None:
    outcome = run_seed(seed)
    if outcome.failure:
        pytest.fail(outcome.reported(), pytrace=False)


def test_seed_is_repeatable() -> None:
    """The same seed lives the same life: a failure can be looked at again."""
    assert run_seed(7).seen == run_seed(7).seen
