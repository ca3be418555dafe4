"""`python -m tests.simulation SEEDS`: many seeds over all cores. Exit code 1 when one of them fails."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter

from devtools.provenance import commit, machine
from tests.simulation.runner import run_seeds, shortest

PROGRESS_S = 10
RUNS = ("broker", "coordinator", "protocol", "devtools", "tests/simulation", "tests/support")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("seeds", type=int, help="how many")
    parser.add_argument("--from", dest="first", type=int, default=0, metavar="N", help="the first seed (default 0)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: one per core)")
    parser.add_argument("--shrink", action="store_true", help="look for fewer steps that fail, too")
    options = parser.parse_args(arguments)
    print(
        f"commit {commit(*RUNS)}; {machine()}; seeds {options.first} to {options.first + options.seeds - 1}", flush=True
    )
    seen, failed = Counter[str](), 0
    began = reported = time.monotonic()
    seeds = range(options.first, options.first + options.seeds)
    for done, outcome in enumerate(run_seeds(seeds, options.jobs), 1):
        seen.update(outcome.seen)
        if outcome.failure:
            failed += 1
            print((shortest(outcome.seed) if options.shrink else outcome).reported(), flush=True)
        if time.monotonic() - reported > PROGRESS_S:
            reported = time.monotonic()
            print(f"{done} of {options.seeds} seeds, {failed} failed, {reported - began:.0f} s", flush=True)
    for name, times in sorted(seen.items()):
        print(f"  {times:>12,} {name}")
    models = [name for name in seen if name.startswith("crashes, ")]
    crashes = sum(seen[name] for name in models)
    print(
        f"{options.seeds} seeds, {failed} failed, {len(models)} crash models, {seen['deliveries']} deliveries, "
        f"{crashes} crashes, {time.monotonic() - began:.0f} s"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
