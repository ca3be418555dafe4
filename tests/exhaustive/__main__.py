"""`python -m tests.exhaustive DEPTH`: every life of a share partition in a small world.

Exit code 1 when one breaks a promise.

`--scope NAME` searches one of the scopes alone. `--minutes M` searches each scope as deep as one process can within
that much CPU time, at most to DEPTH; other scopes are searched at the same time. `--write` puts the table into
docs/evidence/small-scope.md.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Final

from devtools.documents import write_between
from devtools.provenance import commit, machine
from tests.exhaustive.scope import Scope
from tests.exhaustive.search import Searched, search

SCOPES: Final = {
    "two batches of two": Scope(),
    "four records": Scope(batches=(1, 1, 1, 1), trimmed=False),
    "dead letters": Scope(dead_letters=True),
    "dead letters, one attempt": Scope(batches=(1, 1), dead_letters=True, delivery_count_limit=1),
    "delays": Scope(batches=(2,), backoff_ms=15),
    "dates": Scope(batches=(2,), dates=(0, 15)),
    "dates, a narrow window": Scope(batches=(1, 1, 1), window=2, dates=(15, 5, 15), trimmed=False),
    "dates, order and a backoff": Scope(batches=(1, 1), keys=(1, 1), dates=(15, 0), backoff_ms=5),
    "expiry": Scope(batches=(1, 2), ends=(4, 0, 12), trimmed=False),
    "expiry, dead letters": Scope(batches=(1, 1), ends=(4, 14), dead_letters=True),
    "expiry, dates and order": Scope(batches=(1, 1), keys=(1, 1), dates=(0, 5), ends=(4, 14), trimmed=False),
    "order": Scope(batches=(2, 2), keys=(1, 2, 1, 1), trimmed=False),
    "order, some without a key": Scope(batches=(1, 2), keys=(1, 0, 1)),
    "order, delays and dead letters": Scope(batches=(1, 1), keys=(1, 1), dead_letters=True, backoff_ms=5),
    "all of it": Scope(batches=(1, 1), dead_letters=True, backoff_ms=5),
    "order, three keys": Scope(batches=(2, 2), keys=(1, 2, 3, 1), trimmed=False),
    "order, three keys, delays": Scope(batches=(2, 2), keys=(1, 2, 3, 1), backoff_ms=5, trimmed=False),
    "two of a key": Scope(batches=(2, 1), keys=(1, 1, 1), per_key=2),
    "two of a key, delays": Scope(batches=(1, 1, 1), keys=(1, 1, 1), per_key=2, backoff_ms=5, trimmed=False),
    "order, looking ahead": Scope(batches=(1, 1, 1), keys=(1, 1, 2), window=2, ahead=1, trimmed=False),
    "a narrow window": Scope(batches=(1, 1, 1), window=2, trimmed=False),
}
RUNS: Final = ("broker", "coordinator", "tests/exhaustive")
DOCUMENT: Final = Path(__file__).parents[2] / "docs" / "evidence" / "small-scope.md"
BEGIN: Final = "<!-- small scope: begin -->"
END: Final = "<!-- small scope: end -->"
AFTERWARDS: Final = 0.2
"""The time for finishing the work of a world, as a fraction of the time for taking every next step from it."""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.exhaustive", description=__doc__)
    parser.add_argument("depth", type=int, nargs="?", default=5, help="how many steps (default 5)")
    parser.add_argument("--scope", choices=SCOPES, action="append", help="instead of all; may be repeated")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: one per core)")
    parser.add_argument("--minutes", type=float, help="of CPU for each scope, in one process; DEPTH is the limit then")
    parser.add_argument("--write", action="store_true", help=f"the table into {DOCUMENT.name}; needs all scopes")
    options = parser.parse_args(arguments)
    if options.write and options.scope:
        parser.error("--write needs all scopes")
    budget = "" if options.minutes is None else f"; {options.minutes:g} minutes of CPU at most for each scope"
    lines = [f"commit {commit(*RUNS)}; {machine()}{budget}", ""]
    lines += [
        f"| scope | depth | states | steps | s{'' if options.minutes is None else ' of CPU'} |",
        "|---|---|---|---|---|",
    ]
    print(*lines, sep="\n", flush=True)
    failed = False
    names = options.scope or list(SCOPES)
    with ProcessPoolExecutor(options.jobs) as executor:
        for name, (searched, took) in zip(names, _all_searched(names, options, executor), strict=True):
            lines.append(_row(name, searched, took))
            print(lines[-1], flush=True)
            if searched.found is not None:
                failed = True
                print(searched.found.listed(SCOPES[name]), flush=True)
    if options.write and not failed:
        write_between(DOCUMENT, BEGIN, END, lines)
    return failed


def _all_searched(
    names: list[str], options: argparse.Namespace, executor: Executor
) -> Iterator[tuple[Searched, float]]:
    """Search one scope after the other in all processes; with `--minutes`, each scope in one process, whose CPU is
    counted.

    Yield each result with the seconds that it took.
    """
    if options.minutes is not None:
        yield from executor.map(_searched_within, names, repeat(options.depth), repeat(options.minutes * 60))
        return
    for name in names:
        began = time.monotonic()
        yield search(SCOPES[name], options.depth, executor, partial(_shown, name)), time.monotonic() - began


def _searched_within(name: str, depth: int, limit_s: float) -> tuple[Searched, float]:
    """Search as deep as this much CPU time of the process allows; return the seconds used, too."""
    ends = [time.process_time()]

    def deeper(searched: Searched) -> bool:
        ends.append(time.process_time())
        return _shown(name, searched) and enough_time(searched, ends, limit_s)

    searched = search(SCOPES[name], depth, None, deeper)
    return searched, time.process_time() - ends[0]


def enough_time(searched: Searched, ends: list[float], limit_s: float) -> bool:
    """Return whether one step more, and its remaining work, fits if it grows as the last step did.

    `ends`: when the search began, and when each step ended, in seconds.
    """
    if searched.depth < 2:
        return True
    growth = searched.states[-1] / searched.states[-2]
    step_s = (ends[-1] - ends[-2]) * growth
    return ends[-1] - ends[0] + step_s * (1 + growth * AFTERWARDS) <= limit_s


def _shown(name: str, searched: Searched) -> bool:
    """Show the search's progress on a terminal. Always True: the search continues."""
    if sys.stderr.isatty():
        print(f"{name}, depth {searched.depth}: {searched.states[-1]:,} new states", file=sys.stderr, flush=True)
    return True


def _row(name: str, searched: Searched, seconds: float) -> str:
    return f"| {name} | {searched.depth} | {sum(searched.states):,} | {searched.steps:,} | {seconds:.0f} |"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
