"""`python -m tests.simulation SEEDS`: many seeds over all cores. Exit code 1 when one of them fails.

Runs SEEDS seeds from 0 on, and a tenth as many of each of the later kinds: dead letters, redrives, pauses, dates,
breakers, expiries, keys' shares. With `--from`, runs SEEDS seeds from that number on, and no others.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from itertools import chain

from devtools.provenance import commit, machine
from tests.simulation import breakers, dates, deaths, expiries, key_shares, pauses, redrives
from tests.simulation.runner import run_seeds, shortest

PROGRESS_S = 10
SHARE = 10
"""The number of seeds for each seed that is run of every later kind."""
RUNS = ("broker", "coordinator", "protocol", "devtools", "tests/simulation", "tests/support")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("seeds", type=int, help="how many")
    parser.add_argument("--from", dest="first", type=int, metavar="N", help="the first seed; no others are run then")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: one per core)")
    parser.add_argument("--shrink", action="store_true", help="look for fewer steps that fail, too")
    options = parser.parse_args(arguments)
    ranges = seed_ranges(options.seeds, options.first)
    number = sum(map(len, ranges))
    print(f"commit {commit(*RUNS)}; {machine()}; seeds {_listed(ranges)}", flush=True)
    seen, failed = Counter[str](), 0
    began = reported = time.monotonic()
    for done, outcome in enumerate(run_seeds(chain(*ranges), options.jobs), 1):
        seen.update(outcome.seen)
        if outcome.failure:
            failed += 1
            print((shortest(outcome.seed) if options.shrink else outcome).reported(), flush=True)
        if time.monotonic() - reported > PROGRESS_S:
            reported = time.monotonic()
            print(f"{done} of {number} seeds, {failed} failed, {reported - began:.0f} s", flush=True)
    seen["seeds about dead letters"] = sum(map(deaths.is_about_dead_letters, chain(*ranges)))
    seen["seeds about redrives"] = sum(map(redrives.is_about_redrives, chain(*ranges)))
    for name, times in sorted(seen.items()):
        print(f"  {times:>12,} {name}")
    models = [name for name in seen if name.startswith("crashes, ")]
    crashes = sum(seen[name] for name in models)
    print(
        f"{number} seeds ({_listed(ranges)}), {failed} failed, {len(models)} crash models, "
        f"{seen['deliveries']} deliveries, {seen['dead letters']} dead letters, "
        f"{seen['letters that went back']} letters that went back, {crashes} crashes, {time.monotonic() - began:.0f} s"
    )
    return 1 if failed else 0


def seed_ranges(seeds: int, first: int | None = None) -> list[range]:
    """Return the seeds to run: from `first` on, or some of each kind."""
    if first is not None:
        return [range(first, first + seeds)]
    share = -(-seeds // SHARE)
    kinds = (deaths, redrives, pauses, dates, breakers, expiries, key_shares)
    return [range(seeds), *(range(kind.FIRST_SEED, kind.FIRST_SEED + share) for kind in kinds)]


def _listed(ranges: list[range]) -> str:
    return ", ".join(f"{each.start} to {each.stop - 1}" for each in ranges)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
