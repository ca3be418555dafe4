"""Fixed seeds of the whole broker on virtual time and a disk that forgets; more with `make sim SEEDS=n`."""

from __future__ import annotations

from collections import Counter
from typing import Final

import pytest

from tests.simulation.runner import Outcome, run_seed

SEEDS: Final = 1_250
CHUNK: Final = 50

# Seeds that failed once, each with the fault of the broker that it found. What a seed lives through changes with the
# simulation: the faults themselves are unit tests now, and the shorter ones are planted again (`planted_again`).
FOUND: Final = {
    20285: "a renewed lock took the timer with it: another share partition's lock outlived its deadline",
    20213: "a failed lock-expiry write let the start offset pass what an ACCEPT was then answered for, as if durable",
    20071: "as 20213, and a crash delivered the accepted record again",
    21435: "as 20071, in the second group",
    31: "after a restart nobody expired before somebody asked for the group's shard",
    3587: "a half-failed initialisation left share state that DeleteGroups did not find: it fenced the next group",
    633: "a segment of which nothing survived stayed in the log: what its tombstones had deleted came back",
    52217: "offsets were deleted while a partition was being initialised, which then counted as initialised, stateless",
    1540: "altering part of a topic whose offsets were being deleted forgot the rest: its state outlived the group",
}

# What the fixed seeds must have brought about together, at least: a simulation in which nothing happens finds nothing.
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
    "groups that became calm": 300,
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
    "heartbeats of consumers": 9_000,
    "heartbeats of zombies": 25,
    "consumers that fell silent": 200,
    "consumers that had to join again": 700,
    "consumers that left": 100,
    "processes started again": 200,
    "jobs that became calm": 35,
    "records that jobs read": 6_000,
    "copies that were read": 3_500,
    "offsets fetched": 4_000,
    "offsets that were unstable": 70,
    "offsets committed plainly": 350,
    "offset commits that were fenced": 25,
    "commits of an earlier epoch": 20,
    "offsets committed in transactions": 600,
    "jobs' transactions committed": 500,
    "jobs' transactions aborted": 35,
    "transactions refused by their group": 30,
    "troubles at the end of a transaction": 30,
    "ends asked for again": 12,
    "producers that went on after an error": 200,
    "producers fenced for their age": 5,
    "producer ids that were used up": 20,
    "groups that changed their kind": 30,
    "transactional ids that were forgotten": 3,
    "zombies refused": 200,
}

_seen: Counter[str] = Counter()
_chunks_run: set[int] = set()


def told(failed: list[Outcome]) -> str:
    """The seeds that failed, and how the first of them ended."""
    seeds = ", ".join(str(outcome.seed) for outcome in failed)
    return f"seeds {seeds} failed; `make sim SEEDS=1 ARGS='--from {failed[0].seed}'`\n{failed[0].told()}"


@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_fixed_seeds(first: int) -> None:
    outcomes = [run_seed(seed) for seed in range(first, first + CHUNK)]
    failed = [outcome for outcome in outcomes if outcome.failure]
    if failed:
        pytest.fail(told(failed), pytrace=False)
    _chunks_run.add(first)
    for outcome in outcomes:
        _seen.update(outcome.seen)


def test_enough_happened_over_the_fixed_seeds() -> None:
    if len(_chunks_run) != SEEDS // CHUNK:
        pytest.skip("not all of the fixed seeds were run")
    assert {name: _seen[name] for name, least in AT_LEAST.items() if _seen[name] < least} == {}


@pytest.mark.parametrize("seed", FOUND)
def test_seed_that_failed_once(seed: int) -> None:
    outcome = run_seed(seed)
    if outcome.failure:
        pytest.fail(outcome.told(), pytrace=False)


def test_seed_is_repeatable() -> None:
    """The same seed lives the same life: a failure can be looked at again."""
    assert run_seed(7).seen == run_seed(7).seen
