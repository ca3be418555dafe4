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
    "deliveries": 18_000,
    "redeliveries": 6_750,
    "crashes, PROCESS_KILL": 450,
    "crashes, POWER_LOSS": 450,
    "crashes at a commit": 22,
    "restarts": 360,
    "restarts with other settings": 90,
    "writes that failed": 315,
    "syncs that failed": 67,
    "commits that failed": 11,
    "full disks": 112,
    "requests that a crash cut off": 180,
    "answers that were lost": 18,
    "locks that ran out": 450,
    "renewals": 450,
    "given up at the limit": 180,
    "acknowledgements with a fetch": 675,
    "acknowledgements that failed": 225,
    "acknowledgements of another's records": 27,
    "batches sent again": 135,
    "truncations": 67,
    "config changes": 135,
    "heartbeats": 6_750,
    "heartbeats whose answer was lost": 90,
    "heartbeats with a wrong epoch": 45,
    "subscriptions that changed": 135,
    "members that were expired": 90,
    "members that were fenced": 45,
    "members that left": 675,
    "groups that converged": 135,
    "topics created": 540,
    "partitions added": 112,
    "topics deleted": 67,
    "offsets altered": 67,
    "offsets deleted": 40,
    "groups deleted": 112,
    "operations on groups that were refused": 112,
    "operations on groups that failed": 13,
    "descriptions of offsets": 112,
    "descriptions of groups": 81,
    "passes of the cleaner": 900,
    "passes that were cut off": 90,
    "transactions committed": 202,
    "transactions aborted": 180,
    "audits": 1_350,
    "waits that were kept": 135,
    "ranges that wait": 90,
    "wall clocks that were set": 67,
    "starts without the database of metadata": 180,
    "starts without the journal of metadata": 180,
    "starts without the marker of metadata": 180,
    "starts with the journal behind": 13,
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
