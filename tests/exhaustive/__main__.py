"""`python -m tests.exhaustive DEPTH`: every life of a share partition in a small world. Exit code 1 when one
breaks a promise.

`--scope NAME` searches one of the scopes alone.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from typing import Final

from devtools.provenance import commit, machine
from tests.exhaustive.scope import Scope
from tests.exhaustive.search import Searched, search

SCOPES: Final = {
    "two batches of two": Scope(),
    "four records": Scope(batches=(1, 1, 1, 1), trimmed=False),
    "dead letters": Scope(dead_letters=True),
    "dead letters, one attempt": Scope(batches=(1, 1), dead_letters=True, delivery_count_limit=1),
    "delays": Scope(batches=(2,), backoff_ms=15),
    "order": Scope(batches=(2, 2), keys=(1, 2, 1, 1), trimmed=False),
    "order, some without a key": Scope(batches=(1, 2), keys=(1, 0, 1)),
    "order, delays and dead letters": Scope(batches=(1, 1), keys=(1, 1), dead_letters=True, backoff_ms=5),
    "all of it": Scope(batches=(1, 1), dead_letters=True, backoff_ms=5),
    "a narrow window": Scope(batches=(1, 1, 1), window=2, trimmed=False),
}
RUNS: Final = ("broker", "coordinator", "tests/exhaustive")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.exhaustive", description=__doc__)
    parser.add_argument("depth", type=int, nargs="?", default=5, help="how many steps (default 5)")
    parser.add_argument("--scope", choices=SCOPES, action="append", help="instead of all; may be repeated")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: one per core)")
    options = parser.parse_args(arguments)
    print(f"commit {commit(*RUNS)}; {machine()}", flush=True)
    print("| scope | depth | states | steps | s |\n|---|---|---|---|---|", flush=True)
    failed = False
    with ProcessPoolExecutor(options.jobs) as executor:
        for name in options.scope or SCOPES:
            began = time.monotonic()
            searched = search(SCOPES[name], options.depth, executor, _progress)
            print(_row(name, searched, time.monotonic() - began), flush=True)
            if searched.found is not None:
                failed = True
                print(searched.found.listed(SCOPES[name]), flush=True)
    return failed


def _progress(searched: Searched) -> None:
    if sys.stderr.isatty():
        print(f"depth {searched.depth}: {searched.states[-1]:,} new states", file=sys.stderr, flush=True)


def _row(name: str, searched: Searched, seconds: float) -> str:
    return f"| {name} | {searched.depth} | {sum(searched.states):,} | {searched.steps:,} | {seconds:.0f} |"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
