"""`make dlq-kills`: groups with dead-letter queues, and redrives, while the broker is killed.

Exit code 1 if a record is missing in its topic and its queue, was delivered after its end, was accepted but has a
letter, or if a letter is wrong.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from devtools.documents import show_and_write
from devtools.provenance import machine
from tests.campaign.command import all_found, show
from tests.campaign.dlq_kills.broker import FAULTS, OF_REMOVALS, REMOVAL_FAULTS, Aim
from tests.campaign.dlq_kills.campaign import GROUPS, MEMBERS, Campaign, Result
from tests.campaign.dlq_kills.removals import AIMS, Operation, Removals, Removed
from tests.campaign.dlq_kills.troubles import Trouble

BEGIN, END = "<!-- dead-letter kills: begin -->", "<!-- dead-letter kills: end -->"
OF_REMOVALS_BEGIN, OF_REMOVALS_END = "<!-- kills in removals: begin -->", "<!-- kills in removals: end -->"
REMOVALS_SHARE: Final = 5
PLANTED_KILLS: Final = 12
PLANTED_ROUNDS: Final = 3
COUNTS: Final = (
    "deliveries",
    "redeliveries",
    "acknowledgements",
    "acknowledgements refused",
    "accepted",
    "accepted, the answer was lost",
    "dead-lettered",
    "dead, without a letter",
    "letters",
    "letters twice",
    "redrives",
    "letters redriven",
)

REMOVAL_COUNTS: Final = (
    "rejections answered",
    "kills with letters owed",
    "owed at kills",
    "operations answered in the life that began them",
    "operations tried again",
    "dead-lettered",
    "letters",
    "letters twice",
)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.campaign.dlq_kills", description=__doc__)
    parser.add_argument("--kills", type=int, default=200, help="of the broker (default 200)")
    parser.add_argument(
        "--removals",
        type=int,
        help="kills while offsets are altered or deleted, or groups deleted, that owe letters (default: a fifth more)",
    )
    parser.add_argument("--seed", type=int, default=1, help="of records, members and kills (default 1)")
    parser.add_argument(
        "--planted", action="store_true", help="instead: brokers with a planted fault, each to be found"
    )
    parser.add_argument("--write", type=Path, metavar="FILE", help="put the result into a Markdown file, too")
    options = parser.parse_args(arguments)
    if options.planted:
        return _planted(options.seed)
    broken: list[str] = []
    if options.kills:
        result = Campaign(options.kills, options.seed, show=show).run()
        broken += result.broken
        show_and_write(markdown(result, options.seed), options.write, BEGIN, END)
    kills = options.kills // REMOVALS_SHARE if options.removals is None else options.removals
    if kills:
        removed = Removals(kills, options.seed, show=show).run()
        broken += removed.broken
        show_and_write(markdown_of_removals(removed, options.seed), options.write, OF_REMOVALS_BEGIN, OF_REMOVALS_END)
    return 1 if broken else 0


def markdown_of_removals(result: Removed, seed: int) -> list[str]:
    lines = [
        f"{result.kills} kills, {result.seen['records']:,} records, all of them rejected, seed {seed}, "
        f"{result.took_s:,.0f} s; {machine()}. Broken: {len(result.broken)}.",
        "",
        _counted((name, result.seen[name]) for name in REMOVAL_COUNTS),
        _counted((operation.value, result.operations[operation]) for operation in Operation),
        f"Moments of the kills: {_spread([result.met[aim] for aim in AIMS])}.",
    ]
    return lines + [f"* {line}" for line in result.broken[:20]]


def markdown(result: Result, seed: int) -> list[str]:
    lines = [
        f"{result.kills} kills, {len(GROUPS)} groups of {MEMBERS} members, {result.seen['records']:,} records, seed "
        f"{seed}, {result.took_s:,.0f} s; {machine()}. Broken: {len(result.broken)}.",
        "",
        _counted((name, result.seen[name]) for name in COUNTS),
        f"Moments of the kills: {_spread([result.met[aim] for aim in Aim if aim not in OF_REMOVALS])}; states of the "
        f"queue of two groups: {_spread([result.troubles[trouble] for trouble in Trouble])}.",
    ]
    return lines + [f"* {line}" for line in result.broken[:20]]


def _counted(named: Iterable[tuple[str, int]]) -> str:
    return "; ".join(f"{name}: {count:,}" for name, count in named).capitalize() + "."


def _spread(times: Sequence[int]) -> str:
    """Return the number of kinds, and the counts of the rarest and the most frequent one."""
    return f"{len(times)} kinds, each {min(times)} to {max(times)} times"


def _planted(seed: int) -> int:
    """Run short campaigns with each faulty broker until the fault is found; return 1 if one is not."""
    faults = {name: partial(_found, name) for name in (*FAULTS, *REMOVAL_FAULTS)}
    return all_found(faults, seed, PLANTED_ROUNDS, PLANTED_KILLS)


def _found(fault: str, seed: int) -> list[str]:
    made = Removals if fault in REMOVAL_FAULTS else Campaign
    return made(PLANTED_KILLS, seed, planted=fault).run().broken


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
