"""`python -m tests.fuzz FRAMES`: mutated requests of every RPC against a broker in memory. Exit code 1 if one of them
does harm.

`--process`: against a broker process, with sockets; `--stalling`: with stalls of its loop, which must be noticed.
`--world N`: repeat one world. `--frame HEX`: send one frame, its size included, to a new broker that has topics, groups
and members, and print the outcome.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter

from devtools.provenance import commit, machine
from tests.campaign.soak.planted import Fault
from tests.fuzz.memory_world import FRAMES, MemoryWorld
from tests.fuzz.oracle import Defect, Outcome, log_of_broker
from tests.fuzz.process_world import ProcessWorld
from tests.fuzz.report import never_right, table, totals
from tests.fuzz.runner import run_world, run_worlds

PROGRESS_S = 10
RUNS = ("broker", "coordinator", "protocol", "devtools", "tests/fuzz", "tests/support")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("frames", type=int, nargs="?", default=20_000, help="how many (default 20,000)")
    parser.add_argument("--from", dest="first", type=int, default=0, metavar="N", help="the first world (default 0)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: one per core)")
    parser.add_argument("--process", action="store_true", help="a broker process with sockets")
    parser.add_argument("--stalling", action="store_true", help="with --process: plant stalls of 0.5 s in it")
    parser.add_argument("--world", type=int, metavar="N", help="run this world alone")
    parser.add_argument("--frame", metavar="HEX", help="send this frame alone")
    parser.add_argument("--table", action="store_true", help="print what came of the frames by RPC")
    options = parser.parse_args(arguments)
    if options.frame is not None:
        return _one_frame(bytes.fromhex(options.frame))
    if options.world is not None:
        result = run_world(options.world)
        print(result.reported() if result.failure else f"world {options.world}: {totals(result.counts)}")
        return bool(result.failure)
    print(f"commit {commit(*RUNS)}; {machine()}", flush=True)
    if options.process:
        return _process(options.frames, options.first, Fault.STALL if options.stalling else None)
    return _memory(options.frames, options.first, options.jobs, with_table=options.table)


def _memory(frames: int, first: int, jobs: int, *, with_table: bool) -> int:
    counts: Counter[tuple[str, bool, Outcome]] = Counter()
    worlds = -(-frames // FRAMES)
    taken = failed = longest_ns = peak = rss_kb = 0
    began = reported = time.monotonic()
    for done, result in enumerate(run_worlds(range(first, first + worlds), jobs), 1):
        counts.update(result.counts)
        taken += result.taken
        longest_ns, peak = max(longest_ns, result.longest_ns), max(peak, result.largest_peak)
        rss_kb = max(rss_kb, result.rss_kb)
        if result.failure:
            failed += 1
            print(result.reported(), flush=True)
        if time.monotonic() - reported > PROGRESS_S:
            reported = time.monotonic()
            print(f"{done} of {worlds} worlds, {failed} failed, {reported - began:.0f} s, {rss_kb} kB", flush=True)
    if with_table:
        print(table(counts))
    print(f"never without error: {', '.join(never_right(counts)) or 'none'}")
    took = time.monotonic() - began
    print(totals(counts))
    print(
        f"{taken:,} frames in {worlds} worlds, {failed} failed; the longest tick {longest_ns / 1e6:.0f} ms of CPU, "
        f"at most {peak / 1e6:.1f} MB for a frame, {rss_kb / 1e3:.0f} MB a process; "
        f"{took:.0f} s, {taken / took:.0f} a second"
    )
    return 1 if failed else 0


def _process(frames: int, seed: int, fault: Fault | None) -> int:
    world = ProcessWorld(seed, frames, fault)
    began = time.monotonic()
    failure = ""
    try:
        world.run()
    except Defect as defect:
        failure = str(defect)
        print(f"{failure}\n" + "\n".join(f"  {frame}\n    {frame.data.hex()[:8000]}" for frame in world.sent))
    took = time.monotonic() - began
    print(totals(world.counts))
    print(
        f"{sum(world.counts.values()):,} frames to a process; at most {world.longest_ns / 1e6:.0f} ms of its loop's "
        f"CPU for one, {world.rss_kb / 1e3:.0f} MB, of which {world.grown_kb / 1e3:.0f} MB since the first thousand; "
        f"the neighbour's longest step {world.longest_step_s * 1e3:.0f} ms; {took:.0f} s"
    )
    print(f"its loop: {world.stalls or 'not looked at'}")
    return 1 if failure else 0


def _one_frame(data: bytes) -> int:
    with log_of_broker() as log:
        world = MemoryWorld(0, log, 200)
        try:
            print(world.run_one(data))
        except Defect as defect:
            print(f"defect: {defect}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
