"""The throughput that order by key leaves, with one member and with several, in the same run:

    python -m bench.ordered_members                                # two minutes
    python -m bench.ordered_members --write docs/order-by-key.md   # the table goes there

Producer and members are librdkafka's. The producer puts a key where its partitioner says, so each of four partitions
has a quarter of the 1,000 keys; members count what they get, and acknowledge it with the next poll. For a machine that
does nothing else: the members share it with the broker.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import product
from multiprocessing.synchronize import Barrier
from statistics import median
from typing import Any, Final, NamedTuple

from bench.figures.ordered import JAVAS_BATCH_BYTES, KEYS
from bench.proc import cpu_seconds, load_average
from bench.setup import order_by_key
from bench.stage import Stage
from devtools.documents import add_write_option, show_and_write
from devtools.provenance import commit, machine

BEGIN: Final = "<!-- ordered members: begin -->"
END: Final = "<!-- ordered members: end -->"
RUNS: Final = 3
SHOWN_PARTITIONS: Final = 1
"""The table has the cases of one partition; the others are printed while they are measured."""
_LONGEST_S: Final = 60.0


class Case(NamedTuple):
    """A way to produce records, and the number of members that read them.

    `batch_bytes`: 0 for librdkafka's megabyte.
    """

    members: int
    at_random: bool
    batch_bytes: int
    partitions: int

    @property
    def text(self) -> str:
        """The beginning of a row of the table."""
        size = "16 KB" if self.batch_bytes else "1 MB"
        return f"{self.members} | {'at random' if self.at_random else 'in turn'} | {size} | {self.partitions}"


class Result(NamedTuple):
    """A result: records per second of all members together, and µs of the broker's CPU per record."""

    rate: float
    cpu_us: float


class Together(NamedTuple):
    """The members' shared state.

    `counts`, `first` and `last` have each member's number of records, and the times of its first and its last delivery.
    """

    ready: Barrier
    counts: Any
    first: Any
    last: Any


def cases(members: Sequence[int]) -> list[Case]:
    return [Case(*each) for each in product(members, (False, True), (JAVAS_BATCH_BYTES, 0), (1, 4))]


def consume(address: str, topic: str, group: str, wanted: int, together: Together, place: int) -> None:
    """Run one member in a process of its own, until all members together have so many records."""
    from confluent_kafka import ShareConsumer

    consumer = ShareConsumer({"bootstrap.servers": address, "group.id": group, "log_level": 2})
    together.ready.wait(_LONGEST_S)
    consumer.subscribe([topic])
    over = time.monotonic() + _LONGEST_S
    while sum(together.counts) < wanted:
        came = len(consumer.poll(0.1))
        now = time.monotonic()
        assert now < over, f"{list(together.counts)} of {wanted} records in {_LONGEST_S:g} s"
        if came:
            together.counts[place] += came
            together.first[place] = together.first[place] or now
            together.last[place] = now
    consumer.commit_sync(20.0)
    consumer.close()


def drain(stage: Stage, topic: str, case: Case, records: int, *, ordered: bool) -> Result:
    """Drain the topic by a new group, measured from the first delivery to any member until the last.

    The records of the first delivery count, too: at most one batch of librdkafka, 2 % of all.
    """
    group, address = stage.group(), stage.broker.address
    if ordered:
        order_by_key(address, group)
    spawn = multiprocessing.get_context("spawn")
    together = Together(
        spawn.Barrier(case.members),
        spawn.RawArray("q", case.members),
        spawn.RawArray("d", case.members),
        spawn.RawArray("d", case.members),
    )
    before = cpu_seconds(stage.broker.pid)
    members = [
        spawn.Process(target=consume, args=(address, topic, group, records, together, place))
        for place in range(case.members)
    ]
    for each in members:
        each.start()
    for each in members:
        each.join()
        assert each.exitcode == 0, "a member failed"
    elapsed_s = max(together.last) - min(at for at in together.first if at)
    return Result(records / elapsed_s, (cpu_seconds(stage.broker.pid) - before) / records * 1e6)


def measure(stage: Stage, case: Case, records: int) -> tuple[Result, Result]:
    """Measure without and with order by key, alternately; return the medians."""
    topic = stage.topic(case.partitions)
    stage.client(
        "produce",
        topic=topic,
        partitions=0,
        records=records,
        keys=KEYS,
        batch_bytes=case.batch_bytes,
        random_keys=case.at_random,
    )
    turns = [[drain(stage, topic, case, records, ordered=ordered) for ordered in (False, True)] for _ in range(RUNS)]
    without, with_order = zip(*turns, strict=True)
    return middle(without), middle(with_order)


def middle(taken: Sequence[Result]) -> Result:
    return Result(median(each.rate for each in taken), median(each.cpu_us for each in taken))


def row(case: Case, without: Result, with_order: Result) -> str:
    return (
        f"| {case.text} | {without.rate:,.0f} | {with_order.rate:,.0f} | {with_order.rate / without.rate:.2f}x "
        f"| {without.cpu_us:.2f} | {with_order.cpu_us:.2f} |"
    )


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--members", type=int, nargs="+", default=[1, 4], help="how many, one after the other")
    parser.add_argument("--records", type=int, default=400_000)
    add_write_option(parser, BEGIN, END)
    options = parser.parse_args(arguments)
    load, began = load_average(), time.monotonic()
    lines = [
        "| members | 1,000 keys | batches | partitions | records/s without order | with order | "
        "| broker's CPU a record without, µs | with |",
        "| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    left_out = list[float]()
    with ExitStack() as stack:
        stage = Stage("shareq", stack)
        for case in cases(options.members):
            without, with_order = measure(stage, case, options.records)
            print(row(case, without, with_order), file=sys.stderr, flush=True)
            if case.partitions == SHOWN_PARTITIONS:
                lines.append(row(case, without, with_order))
            else:
                left_out.append(with_order.rate / without.rate)
    lines += [
        "",
        f"Left out: {len(left_out)} cases of 4 partitions, {min(left_out):.2f}x to {max(left_out):.2f}x.",
        f"{options.records:,} records of 100 bytes, medians of {RUNS}. {machine()}; commit "
        f"{commit('bench', 'broker', 'coordinator', 'protocol')}; load before {load:.1f}; "
        f"{time.monotonic() - began:.0f} s.",
    ]
    show_and_write(lines, options.write, BEGIN, END)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
