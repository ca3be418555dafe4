"""`python -m tests.simulation.nodes SEEDS`: seeds of nodes before a simulated cluster, over all cores.

Exit code 1 when one of them fails; the end of the first one's transcript is printed then.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Final, NamedTuple

from tests.simulation.nodes.world import NodesWorld

TAIL: Final = 60
"""The number of lines that are printed of a failed seed's transcript."""


class Outcome(NamedTuple):
    """The result of a seed: `failure` is empty if all promises were kept."""

    seed: int
    failure: str
    transcript: list[str]
    happened: Counter[str]


def run_seed(seed: int, *, spreads: bool) -> Outcome:
    world = NodesWorld(seed, spreads=spreads)
    failure = ""
    try:
        world.run()
    except Exception as error:
        failure = f"{type(error).__name__}: {error}"
    return Outcome(seed, failure, world.transcript[-TAIL:] if failure else [], world.happened)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.nodes", description=__doc__)
    parser.add_argument("seeds", type=int, help="how many")
    parser.add_argument("--from", dest="first", type=int, default=0, metavar="N", help="the first seed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: one per core)")
    parser.add_argument("--spread", action="store_true", help="slots on all nodes (shareq.cluster.placement=topic)")
    options = parser.parse_args(arguments)
    happened, failed, began = Counter[str](), 0, time.monotonic()
    with ProcessPoolExecutor(options.jobs) as pool:
        for outcome in pool.map(
            partial(run_seed, spreads=options.spread), range(options.first, options.first + options.seeds)
        ):
            happened.update(outcome.happened)
            if outcome.failure:
                print("\n".join(() if failed else outcome.transcript), flush=True)
                print(f"seed {outcome.seed}: {outcome.failure}", flush=True)
                failed += 1
    for name, times in sorted(happened.items()):
        print(f"  {times:>12,} {name}")
    print(f"{options.seeds} seeds from {options.first} on, {failed} failed, {time.monotonic() - began:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
