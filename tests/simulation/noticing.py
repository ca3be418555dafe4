"""The seeds that notice a planted fault; as a program, the search for new ones when no known seed notices it any more.

`python -m tests.simulation.noticing [FAULT]...` prints the rows of `known_seeds.py` that have to change.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from itertools import chain, islice
from typing import Final

from tests.simulation import (
    breakers,
    dates,
    deaths,
    expiries,
    key_shares,
    pauses,
    planted,
    planted_breakers,
    planted_coordinators,
    planted_dates,
    planted_deaths,
    planted_deletions,
    planted_expiries,
    planted_groups,
    planted_jobs,
    planted_key_shares,
    planted_logs,
    planted_order,
    planted_pauses,
    planted_redrives,
    planted_storage,
    planted_waits,
    redrives,
    regressed_faults,
    storage,
    waits,
)
from tests.simulation.deaths import is_about_dead_letters
from tests.simulation.fixed_seeds import SEEDS as FIXED
from tests.simulation.key_ledger import is_about_order
from tests.simulation.known_seeds import KNOWN
from tests.simulation.redrives import is_about_redrives
from tests.simulation.runner import Outcome, run_seed
from tests.simulation.world import is_about_jobs
from tests.support.planting import Fault

Words = Sequence[str]

SHARE_FAULTS: Final[dict[Fault, Words]] = {
    **planted.FAULTS,
    **planted_coordinators.FAULTS,
    **planted_groups.FAULTS,
    **planted_logs.FAULTS,
    **regressed_faults.FAULTS,
}
JOB_FAULTS: Final[dict[Fault, Words]] = {**planted_jobs.FAULTS, **planted_deletions.FAULTS}
STORAGE_FAULTS: Final[dict[Fault, Words]] = {**planted_storage.FAULTS}
DEATH_FAULTS: Final[dict[Fault, Words]] = {**planted_deaths.FAULTS}
WAIT_FAULTS: Final[dict[Fault, Words]] = {**planted_waits.FAULTS}
ORDER_FAULTS: Final[dict[Fault, Words]] = {**planted_order.FAULTS}
REDRIVE_FAULTS: Final[dict[Fault, Words]] = {**planted_redrives.FAULTS}
PAUSE_FAULTS: Final[dict[Fault, Words]] = {**planted_pauses.FAULTS}
DATE_FAULTS: Final[dict[Fault, Words]] = {**planted_dates.FAULTS}
BREAKER_FAULTS: Final[dict[Fault, Words]] = {**planted_breakers.FAULTS}
EXPIRY_FAULTS: Final[dict[Fault, Words]] = {**planted_expiries.FAULTS}
KEY_SHARE_FAULTS: Final[dict[Fault, Words]] = {**planted_key_shares.FAULTS}
# What the failure says that a fault leads to: one of these.
FAULTS: Final = {
    **SHARE_FAULTS,
    **JOB_FAULTS,
    **STORAGE_FAULTS,
    **DEATH_FAULTS,
    **WAIT_FAULTS,
    **ORDER_FAULTS,
    **REDRIVE_FAULTS,
    **PAUSE_FAULTS,
    **DATE_FAULTS,
    **BREAKER_FAULTS,
    **EXPIRY_FAULTS,
    **KEY_SHARE_FAULTS,
}

SEARCHED: Final = 6_000  # numbers; those among them that are about the fault's subject are tried
KEPT: Final = 2  # seeds of each fault: a change of the broker that costs one leaves the other


def first_to_notice(fault: Fault, seeds: Iterable[int], tried: Callable[[Outcome], object] = id) -> Outcome | None:
    """Return the outcome of the first seed that fails for the fault's reason, and passes without the fault.

    `tried` gets the outcome of each seed. The fixed seeds need no run without the fault: they have tests of their own.
    """
    for seed in seeds:
        with fault():
            outcome = run_seed(seed)
        tried(outcome)
        for_its_reason = any(words in outcome.failure for words in FAULTS[fault])
        if for_its_reason and (seed < FIXED or passes_without_a_fault(seed)):
            return outcome
    return None


@cache
def passes_without_a_fault(seed: int) -> bool:
    """Return whether a seed passes. It is run once for all faults that it notices."""
    return not run_seed(seed).failure


def is_about(fault: Fault, seed: int) -> bool:
    if fault in STORAGE_FAULTS:
        return storage.is_about_storage(seed)
    if fault in DEATH_FAULTS:
        return is_about_dead_letters(seed)
    if fault in WAIT_FAULTS:
        return waits.is_about_waits(seed)
    if fault in ORDER_FAULTS:
        return is_about_order(seed)
    if fault in REDRIVE_FAULTS:
        return is_about_redrives(seed)
    if fault in PAUSE_FAULTS:
        return pauses.is_about_pauses(seed)
    if fault in DATE_FAULTS:
        return dates.is_about_dates(seed)
    if fault in BREAKER_FAULTS:
        return breakers.is_about_breakers(seed)
    if fault in EXPIRY_FAULTS:
        return expiries.is_about_expiries(seed)
    if fault in KEY_SHARE_FAULTS:
        return key_shares.is_about_key_shares(seed)
    return is_about_jobs(seed) is (fault in JOB_FAULTS)


def first_of(fault: Fault) -> int:
    first = {**dict.fromkeys(DEATH_FAULTS, deaths.FIRST_SEED), **dict.fromkeys(REDRIVE_FAULTS, redrives.FIRST_SEED)}
    first |= {**dict.fromkeys(PAUSE_FAULTS, pauses.FIRST_SEED), **dict.fromkeys(DATE_FAULTS, dates.FIRST_SEED)}
    first |= {
        **dict.fromkeys(KEY_SHARE_FAULTS, key_shares.FIRST_SEED),
        **dict.fromkeys(EXPIRY_FAULTS, expiries.FIRST_SEED),
    }
    return {**first, **dict.fromkeys(BREAKER_FAULTS, breakers.FIRST_SEED)}.get(fault, 0)


def search(fault: Fault) -> Iterator[int]:
    """Yield the seeds that notice the fault: the known ones first, then from 0 on."""
    known = KNOWN.get(fault.__name__, ())
    first = first_of(fault)
    others = (seed for seed in range(first, first + SEARCHED) if seed not in known and is_about(fault, seed))
    seeds = chain(known, others)
    while outcome := first_to_notice(fault, seeds):
        yield outcome.seed


def row_of(name: str) -> tuple[int, ...]:
    """Return the seeds for a fault's row: the present ones if one of them notices the fault, otherwise new ones."""
    fault = next(fault for fault in FAULTS if fault.__name__ == name)
    known = KNOWN.get(name, ())
    if known and first_to_notice(fault, known):
        return known
    return tuple(islice(search(fault), KEPT))


def main(arguments: list[str]) -> int:
    """Run the search; return exit code 1 if a row has to change."""
    names = [fault.__name__ for fault in FAULTS]
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.noticing", description=__doc__)
    parser.add_argument("faults", nargs="*", metavar="FAULT", help="names of planted faults (default: all of them)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: one per core)")
    options = parser.parse_args(arguments)
    if unknown := set(options.faults) - set(names):
        parser.error(f"no planted faults: {', '.join(sorted(unknown))}")
    wanted, changed = options.faults or names, 0
    with ProcessPoolExecutor(options.jobs) as pool:
        for name, row in zip(wanted, pool.map(row_of, wanted), strict=True):
            if row != KNOWN.get(name):
                changed += 1
                print(f'    "{name}": {row},' if row else f"{name}: none of {SEARCHED} seeds notices it", flush=True)
    print(f"{len(wanted)} faults, {changed} rows to change")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
