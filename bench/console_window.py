"""A client's waits while a browser looks at a window of 10,000 records, and while none does.

    python -m bench.console_window                              # three minutes
    python -m bench.console_window --write docs/console.md      # the table goes there

One member holds 10,000 records of one share partition; with --split every second one of them is accepted, so that the
window has 10,000 ranges. The other client produces a record and waits until its share consumer has it, again and again.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

from bench.brokers import Shareq
from bench.client.end_to_end import run
from bench.proc import load_average
from bench.setup import create_topic, read_from_start
from devtools.documents import add_write_option, show_and_write
from devtools.ports import free_port
from devtools.provenance import commit, machine
from shareq.client.config import ClientConfig
from shareq.client.share.range_consumer import AckRange, ShareRangeConsumer
from shareq.protocol.share import AcknowledgeType

BEGIN: Final = "<!-- console window: begin -->"
END: Final = "<!-- console window: end -->"
HELD: Final = 10_000
REFRESH_S: Final = 1.0
TURNS: Final = 5
ROUND_TRIPS: Final = 20_000
VIEW: Final = "/api/window?group=holders&topic=held&partition=0"


@contextmanager
def at_work(folder: Path, console: int) -> Iterator[Shareq]:
    """Run a broker with its console, and a member that holds 10,000 records."""
    locks = ("group.share.max.partition.max.record.locks=20000", "group.share.partition.max.record.locks=20000")
    times = ("group.share.max.record.lock.duration.ms=3600000", "group.share.record.lock.duration.ms=3600000")
    broker = Shareq(folder, (*locks, *times), options=("--console", f"127.0.0.1:{console}"))
    broker.start()
    try:
        yield broker
    finally:
        broker.stop()


def hold(broker: Shareq, *, split: bool) -> ShareRangeConsumer:
    """Let a member acquire the records; with `split` it accepts every second one."""
    from confluent_kafka import Producer

    create_topic(broker.address, "held", 1)
    read_from_start(broker.address, ["holders"])
    producer = Producer({"bootstrap.servers": broker.address, "linger.ms": 5})
    for number in range(HELD):
        producer.produce("held", b"%d" % number)
    producer.flush()
    config = ClientConfig.from_properties({"bootstrap.servers": broker.address})
    member = ShareRangeConsumer(config, "holders", ["held"])
    held = 0
    while held < HELD:
        for one in member.poll(max_records=HELD, max_wait_ms=1000):
            held += one.last - one.first + 1
            if split:
                seconds = range(one.first + 1, one.last + 1, 2)
                parts = [AckRange(one.topic_id, one.partition, offset, offset) for offset in seconds]
                assert all(not code for _, code in member.acknowledge(parts, AcknowledgeType.ACCEPT))
    return member


@contextmanager
def looking(console: int) -> Iterator[list[int]]:
    """Run a browser with the window open that polls once a second; yield the bytes of each answer."""
    ended, sizes = threading.Event(), list[int]()

    def look() -> None:
        while True:
            with urllib.request.urlopen(f"http://127.0.0.1:{console}{VIEW}", timeout=30) as answer:
                sizes.append(len(answer.read()))
            if ended.wait(REFRESH_S):
                return

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield sizes
    finally:
        ended.set()
        thread.join()


def passing(broker: Shareq, name: str) -> dict[str, float]:
    """Run one turn of the other client, on a topic and a group of its own."""
    create_topic(broker.address, name, 1)
    read_from_start(broker.address, [name])
    return run(broker.address, broker.pid, name, name, ROUND_TRIPS)


def measure(*, split: bool) -> list[str]:
    """Return rows of the table: alone and beside a browser, alternately; the median of the turns."""
    with ExitStack() as stack:
        console = free_port()
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="shareq-console-")))
        broker = stack.enter_context(at_work(folder, console))
        member = hold(broker, split=split)
        stack.callback(member.close)
        alone, beside, sizes = list[dict[str, float]](), list[dict[str, float]](), list[int]()
        for turn in range(TURNS):
            member.poll(max_records=1, max_wait_ms=0)  # its heartbeat
            alone.append(passing(broker, f"alone-{turn}"))
            with looking(console) as seen:
                beside.append(passing(broker, f"beside-{turn}"))
            sizes += seen
    print(f"split {split}: alone {alone}, beside {beside}", file=sys.stderr, flush=True)
    window = f"{HELD:,} records, {'every second accepted' if split else 'all held'}"
    cells = [f"{window} ({median(sizes) / 1000:,.0f} kB an answer)"]
    for key, form in (("p50_ms", "{:.2f}"), ("p99_ms", "{:.2f}"), ("cpu_us", "{:,.0f}")):
        cells += [form.format(median(sample[key] for sample in samples)) for samples in (alone, beside)]
    return cells


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_write_option(parser, BEGIN, END)
    options = parser.parse_args(arguments)
    load, began = load_average(), time.monotonic()
    rows = [measure(split=split) for split in (False, True)]
    lines = [
        "| window | p50 alone, ms | beside a browser | p99 alone, ms | beside a browser "
        "| broker's CPU a record, µs | beside a browser |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
        *(f"| {' | '.join(row)} |" for row in rows),
        "",
        f"Medians of {TURNS} turns of {ROUND_TRIPS:,} records each. {machine()}; commit "
        f"{commit('bench', 'broker', 'client')}; load before {load:.1f}; {time.monotonic() - began:.0f} s.",
    ]
    show_and_write(lines, options.write, BEGIN, END)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
