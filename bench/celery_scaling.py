"""N workers of Celery on one partition: tasks a second for 1, 2, 4 and 8 of them.

    python -m bench.celery_scaling
    python -m bench.celery_scaling --workers 1 2 --seconds 10
    python -m bench.celery_scaling --write docs/celery.md    # the table goes there

Each task sleeps, as one that waits for another service does; each worker has two processes. All tasks are sent, then
the workers start. The time counts while all processes are at work: from the first moment with a task in each until nine
tenths of the tasks have begun. So the ideal rate is known: every process sleeps through one task after another.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from bench.proc import load_average
from bench.queues.job import AT_ONCE, Done, count, read
from bench.queues.stand import standing
from bench.queues.systems import SYSTEMS
from devtools.documents import add_write_option, show_and_write
from devtools.provenance import commit, machine

WORKERS: Final = (1, 2, 4, 8)
TASK_S: Final = 0.1
BEGIN: Final = "<!-- celery scaling -->"
END: Final = "<!-- end of celery scaling -->"


@dataclass(frozen=True, slots=True)
class Row:
    """A row. `at_once` is the most tasks that ran at one time; `rate` the tasks per second while that many ran."""

    workers: int
    tasks: int
    at_once: int
    rate: float
    cores: float

    @property
    def part(self) -> float:
        """The rate, divided by that of workers that only sleep."""
        return self.rate * TASK_S / (self.workers * AT_ONCE)


def measure(workers: int, seconds: float) -> Row:
    """Run workers for `seconds` on a broker of their own."""
    tasks = round(workers * AT_ONCE * seconds / TASK_S)
    with standing(replace(SYSTEMS["celery"], units=workers)) as stand:
        taken, _ = stand.send(tasks, seconds=TASK_S).taken()
        stand.workers.start()
        began, cpu_s = time.monotonic(), sum(stand.cpu_s())
        while count(stand.journal) < len(taken):
            time.sleep(0.2)
        cores = (sum(stand.cpu_s()) - cpu_s) / (time.monotonic() - began)
        at_once, rate = steady(read(stand.journal), workers * AT_ONCE)
    return Row(workers, len(taken), at_once, rate, cores)


def steady(journal: Sequence[Done], places: int) -> tuple[int, float]:
    """Return the most tasks that ran at once, up to `places`, and the tasks ended per second while so many ran.

    The time counts from the first moment with so many until nine tenths of all tasks have begun.
    """
    changes = sorted([(each.begun_s, 1) for each in journal] + [(each.ended_s, -1) for each in journal])
    now, most, since = 0, 0, 0.0
    for at, change in changes:
        now += change
        if now > most and most < places:
            most, since = now, at
    until = sorted(each.begun_s for each in journal)[len(journal) * 9 // 10]
    ended = sum(since < each.ended_s <= until for each in journal)
    return most, ended / (until - since) if until > since else 0.0


def as_lines(rows: Sequence[Row], about: str) -> list[str]:
    """Return the table, in Markdown."""
    lines = [
        "| workers | processes | at work at once | tasks/s | of what sleeping allows |",
        "| ---: | ---: | ---: | ---: | ---: |",
    ]
    lines += [
        f"| {row.workers} | {row.workers * AT_ONCE} | {row.at_once} | {row.rate:,.0f} | {row.part:.0%} |"
        for row in rows
    ]
    return [*lines, "", f"Tasks of {TASK_S * 1000:.0f} ms. {about}"]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, nargs="+", default=WORKERS, metavar="N")
    parser.add_argument("--seconds", type=float, default=40.0, help="of work for each number of workers")
    add_write_option(parser, BEGIN, END)
    options = parser.parse_args(arguments)
    began, load = time.monotonic(), load_average()
    rows: list[Row] = []
    for workers in options.workers:
        rows.append(measure(workers, options.seconds))
        print(f"{workers} workers: {rows[-1].rate:.1f} tasks/s, {rows[-1].cores:.1f} cores", file=sys.stderr)
    about = f"{machine()}; commit {commit('bench', 'broker', 'client', 'src')}; load before {load:.1f}; "
    lines = as_lines(rows, f"{about}{time.monotonic() - began:.0f} s")
    show_and_write(lines, options.write, BEGIN, END)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
