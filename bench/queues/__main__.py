"""A comparison of queues: the same jobs, the same machine, one run.

    python -m bench.queues                                   # all; needs redis-server and rabbitmq-server
    python -m bench.queues --only worker celery taskiq       # some
    python -m bench.queues --write docs/evidence/queue-speed.md   # the table goes there

`make bench-queues` has the environment with all clients.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import Final, TypeVar

from bench.proc import load_average
from bench.queues.measure import Kill, Latency, Scale, Speed, kill_of_server, kill_of_worker, latency, speed
from bench.queues.report import BEGIN, END, Figures, as_lines
from bench.queues.servers import missing
from bench.queues.systems import SYSTEMS, System
from devtools.documents import add_write_option, show_and_write
from devtools.provenance import commit, machine

Result = TypeVar("Result")
QUICK: Final = Scale(jobs=600, latency_jobs=100, kill_s=8.0)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=SYSTEMS, metavar="SYSTEM", help=f"of {', '.join(SYSTEMS)}")
    parser.add_argument("--quick", action="store_true", help="a tenth of it, to see that it works")
    parser.add_argument("--no-kills", action="store_true", help="speed alone")
    add_write_option(parser, BEGIN, END)
    options = parser.parse_args(arguments)
    began, load = time.monotonic(), load_average()
    scale = QUICK if options.quick else Scale()
    rows: dict[str, Figures] = {}
    for name in options.only or SYSTEMS:
        system = SYSTEMS[name]
        if system.program is not None and missing(system.program):
            print(f"{system.label}: left out, there is no {system.program}", file=sys.stderr)
            continue
        rows[system.label] = figures(system, scale, with_kills=not options.no_kills)
    about = f"{machine()}; commit {commit('bench', 'broker', 'client', 'src')}; load before {load:.1f}; "
    lines = as_lines(rows, scale, f"{about}{time.monotonic() - began:.0f} s")
    show_and_write(lines, options.write, BEGIN, END)
    return 0


def figures(system: System, scale: Scale, *, with_kills: bool) -> Figures:
    """Return all figures of one system, and print a line for each measurement."""
    fast: Speed = said(system, "speed", lambda: speed(system, scale))
    soon: Latency = said(system, "latency", lambda: latency(system, scale))
    if not with_kills:
        return Figures(fast, soon, None, None)
    worker: Kill = said(system, "kills of a worker", lambda: kill_of_worker(system, scale))
    server: Kill = said(system, "kills of the server", lambda: kill_of_server(system, scale))
    return Figures(fast, soon, worker, server)


def said(system: System, what: str, measured: Callable[[], Result]) -> Result:
    began = time.monotonic()
    result = measured()
    print(f"{system.label}: {what} {result}, {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    return result


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
