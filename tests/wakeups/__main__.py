"""`python -m tests.wakeups`: how late a share fetch that waits is answered, when a record's wait is over. Exit code 1
when one is later than `--within` milliseconds.

200 records of one group are released one after the other, each when the one before has come back: alone, beside 100,000
ranges of another group that wait for longer, and beside as many of the same share partition. Then as many records with
delivery times of their own come beside others that wait for theirs (`dated.py`). Lateness is measured at the member,
including the way of its request and of the answer.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from devtools.clients.admin import configure_group
from devtools.documents import write_between
from devtools.provenance import machine
from shareq.testing import Broker
from tests.interop.support.share_wire import ACCEPT, RELEASE, Member, append
from tests.interop.test_delayed_redelivery import member_of
from tests.wakeups.dated import dated

BEGIN: Final = "<!-- wake-ups: begin -->"
END: Final = "<!-- wake-ups: end -->"
DELAYS: Final = 200
OTHERS: Final = 100_000
WAIT_S: Final = 0.1
CLOCK_S: Final = 0.001
LONG_S: Final = 300.0
CONFIG: Final = {"group.share.max.partition.max.record.locks": "300000"}


class Lateness(NamedTuple):
    what: str
    delays: int
    p50: float
    p99: float
    most: float

    @classmethod
    def of(cls, what: str, late_s: Sequence[float]) -> Lateness:
        ordered = sorted(each * 1_000 for each in late_s)

        def part(share: float) -> float:
            return ordered[min(int(share * len(ordered)), len(ordered) - 1)]

        return cls(what, len(ordered), part(0.5), part(0.99), ordered[-1])


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.wakeups", description=__doc__)
    parser.add_argument("--delays", type=int, default=DELAYS, help=f"of each kind (default {DELAYS})")
    parser.add_argument("--others", type=int, default=OTHERS, help=f"ranges that wait beside them (default {OTHERS:,})")
    parser.add_argument("--within", type=float, default=20, metavar="MS", help="the latest that is right (default 20)")
    parser.add_argument("--write", type=Path, metavar="FILE", help="put the table into a Markdown file, too")
    options = parser.parse_args(arguments)
    lines = [f"{machine()}; each wait {WAIT_S * 1_000:.0f} ms", ""]
    lines += ["| beside it wait | delays | median, ms late | p99 | longest |", "| --- | --- | --- | --- | --- |"]
    print(*lines, sep="\n", flush=True)
    found = measured(options.delays, options.others)
    with Broker(config=CONFIG) as own:
        of_their_own = dated(own, options.delays, options.others)
    found.append(Lateness.of(f"{options.others:,} records with times of their own", of_their_own.late_s))
    for each in found:
        lines.append(f"| {each.what} | {each.delays} | {each.p50:.1f} | {each.p99:.1f} | {each.most:.1f} |")
        print(lines[-1], flush=True)
    cost = f"{of_their_own.more_mb:.0f} MB, {of_their_own.loaded_s:.1f} s until they wait"
    print(f"records with times of their own: {cost}, {of_their_own.loaded_again_s:.1f} s behind a kill", flush=True)
    if options.write is not None:
        write_between(options.write, BEGIN, END, lines)
    return int(any(each.most > options.within for each in found))


def measured(delays: int, others: int) -> list[Lateness]:
    found: list[Lateness] = []
    with Broker(config=CONFIG) as own:
        with member_of(own.bootstrap, own.port, "prompt", records=delays, wait_s=WAIT_S) as member:
            found.append(Lateness.of("nothing", _late(member, delays)))
        with member_of(own.bootstrap, own.port, "many", records=2 * others, wait_s=LONG_S, locks="300000") as many:
            _release_every_second(many, 2 * others)
            with member_of(own.bootstrap, own.port, "beside", records=delays, wait_s=WAIT_S) as member:
                found.append(Lateness.of(f"{others:,} ranges of another group", _late(member, delays)))
            configure_group(own.bootstrap, "many", {"shareq.redelivery.backoff.ms": str(int(WAIT_S * 1_000))})
            append(many.client, "many-topic", delays)
            found.append(Lateness.of(f"{others:,} ranges of the same share partition", _late(many, delays)))
    return found


def _release_every_second(member: Member, records: int) -> None:
    taken = 0
    while taken < records:
        for first, last, _ in member.take(5_000):
            taken += last - first + 1
            kinds = [RELEASE if offset % 2 else ACCEPT for offset in range(first, last + 1)]
            member.acknowledged((first, last, kinds))


def _late(member: Member, delays: int) -> list[float]:
    """Return the seconds from the time of each record to the answer with it. Raise ValueError for a record that comes
    early.

    The broker counts in whole milliseconds, rounded down, so a client may see up to one millisecond less.
    """
    offsets: list[int] = []
    while len(offsets) < delays:
        offsets += [offset for first, last, _ in member.take(delays) for offset in range(first, last + 1)]
    late = []
    for offset in offsets:
        began = time.monotonic()
        member.acknowledged((offset, offset, RELEASE))
        answered = time.monotonic()
        member.fetch(max_wait_ms=5_000)
        came = time.monotonic()
        if [each[:2] for each in member.acquired] != [(offset, offset)]:
            raise RuntimeError(f"offset {offset} was to come back, {member.acquired} did")
        if came - began < WAIT_S - CLOCK_S:
            raise ValueError(f"offset {offset} came {came - began:.4f} s after its release began")
        late.append(max(came - answered - WAIT_S, 0.0))
        member.acknowledged((offset, offset, ACCEPT))
    return late


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
