"""Share groups by way of a node compared with the cluster's own, and a node's cost for Produce and Fetch.

    python -m bench.nodes [--quick] [--write docs/cluster.md]

One broker of Apache Kafka 4.3.1, which has share groups itself, and two nodes before it, of which one is active. The
same librdkafka client works by way of the nodes and at the cluster, in turns; the median of the repetitions counts. CPU
is that of all brokers that a client works with: the cluster alone, or the cluster and both nodes.
"""

from __future__ import annotations

import argparse
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, NamedTuple

import confluent_kafka

import shareq
from bench.brokers import ROOT, SCRATCH, compile_modules
from bench.figure import Row, Sample, Target
from bench.proc import load_average, machine, resident_mb
from bench.report import Run, as_markdown, collect
from bench.setup import create_topic, read_from_start
from bench.stage import run_client
from devtools.documents import add_write_option, write_between
from devtools.kafka.apache_kafka import ApacheKafka, why_unavailable
from devtools.ports import free_port

BEGIN, END = "<!-- nodes:begin -->", "<!-- nodes:end -->"
KAFKA: Final = "4.3.1"
PARTITIONS: Final = 4
RECORD_BYTES: Final = 1000
PATIENCE_S: Final = 240
IDLE_AFTER_S: Final = 5.0
THROUGH, DIRECT = "shareq", "apache"
COLUMNS: Final = ("by way of a node", "the cluster itself")
ROWS: Final = (
    Row("job_p50_ms", "a job: produced, received, confirmed, p50, ms", "{:.2f}", Target("ratio", "<=", 1.0)),
    Row("job_p99_ms", "the same, p99, ms", "{:.2f}", Target("ratio", "<=", 1.0)),
    Row("apart_p50_ms", "a job whose producer stays at the cluster, p50, ms", "{:.2f}", Target("ratio", "<=", 1.0)),
    Row("apart_p99_ms", "a job whose producer stays at the cluster, p99, ms", "{:.2f}", Target("ratio", "<=", 1.0)),
    Row("job_cpu_us", "CPU per job, µs", "{:,.0f}"),
    Row("job_first_cpu_us", "of it the node's, µs", "{:,.0f}"),
    Row("drain_rate", "share consume, records/s", "{:,.0f}", Target("ratio", ">=", 1.0)),
    Row("drain_cpu_us", "CPU per record share-fetched and acked, µs", "{:.3f}"),
    Row(
        "each_rate",
        "share consume, each record acknowledged by itself, records/s",
        "{:,.0f}",
        Target("ratio", ">=", 1.0),
    ),
    Row("each_cpu_us", "CPU per record of these, µs", "{:.3f}"),
    Row("produce_ms", "Produce of one record, p50, ms", "{:.2f}"),
    Row("produce_added_ms", "added by the node to Produce, p50, ms", "{:.2f}", Target("value", "<=", 0.5)),
    Row("fetch_ms", "from Produce at the cluster to a consumer at the log's end, p50, ms", "{:.2f}"),
    Row("fetch_added_ms", "added by the node to Fetch, p50, ms", "{:.2f}", Target("value", "<=", 0.5)),
    Row("produce_mb_s", "produce, records of 1 KB, MB/s", "{:,.0f}"),
    Row("produce_millicores", "the node's CPU for Produce, millicores per MB/s", "{:.1f}", Target("value", "<=", 25.0)),
    Row("fetch_mb_s", "fetch, records of 1 KB, MB/s", "{:,.0f}"),
    Row("fetch_millicores", "the node's CPU for Fetch, millicores per MB/s", "{:.1f}", Target("value", "<=", 25.0)),
    Row("active_mb", "memory of the active node, idle, MB", "{:,.0f}", Target("value", "<=", 60.0)),
    Row("waiting_mb", "memory of the waiting node, MB", "{:,.0f}", Target("value", "<=", 60.0)),
)
FIGURES: Final = ("jobs", "drains", "hops", "streams")


class Scale(NamedTuple):
    """The scale of a run: the amounts of records and repetitions."""

    repeats: int
    jobs: int
    records: int  # of 100 bytes, for share groups
    hops: int
    stream_records: int  # of 1 KB


FULL: Final = Scale(repeats=3, jobs=1000, records=500_000, hops=500, stream_records=200_000)
QUICK: Final = Scale(repeats=1, jobs=200, records=100_000, hops=100, stream_records=50_000)


class Node:
    """`shareq serve --cluster` in a process of its own."""

    def __init__(self, folder: Path, cluster: str) -> None:
        self.address = f"127.0.0.1:{free_port()}"
        self._log = folder / f"{self.address}.log"
        command = [sys.executable, "-m", "shareq", "serve", "--cluster", cluster, "--listen", self.address]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait_until_it_says(self, pattern: str) -> None:
        """Wait until the node logs a matching line. Raise RuntimeError if it ends first, or the time is over."""
        give_up = time.monotonic() + PATIENCE_S
        while not re.search(pattern, self._log.read_text()):
            if self._process.poll() is not None or time.monotonic() > give_up:
                raise RuntimeError(f"a node does not say {pattern!r}:\n{self._log.read_text()[-2000:]}")
            time.sleep(0.05)

    def stop(self) -> None:
        """End it; harmless the second time."""
        self._process.terminate()
        self._process.wait(20)


class Side(NamedTuple):
    """A bootstrap address for clients, and the processes that serve them, the node first, if there is one."""

    address: str
    pids: Sequence[int]

    def run(self, program: str, **arguments: Any) -> Sample:
        """Run a client program in a process of its own."""
        return run_client(self, program, {"broker_pid": self.pids, **arguments})

    @property
    def pid(self) -> int:
        return self.pids[0]


class Setting:
    """The cluster and its two nodes. Names of topics and groups are never reused."""

    def __init__(self, stack: ExitStack) -> None:
        SCRATCH.mkdir(parents=True, exist_ok=True)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="nodes-", dir=SCRATCH)))
        cluster = ApacheKafka(folder / "cluster", version=KAFKA)
        stack.callback(cluster.stop)
        cluster.start(PATIENCE_S)
        compile_modules()
        self.active = Node(folder, cluster.address)
        stack.callback(self.active.stop)
        self.active.wait_until_it_says("slots: all [0-9]+ that are this node's are served")
        self.waiting = Node(folder, cluster.address)
        stack.callback(self.waiting.stop)
        self.waiting.wait_until_it_says("2 nodes, 0 slots here")
        self.sides: Final[Mapping[str, Side]] = {
            THROUGH: Side(self.active.address, (self.active.pid, self.waiting.pid, cluster.pid)),
            DIRECT: Side(cluster.address, (cluster.pid,)),
        }
        self._names = 0

    @property
    def cluster(self) -> Side:
        return self.sides[DIRECT]

    def topic(self, partitions: int) -> str:
        """Make a topic in the cluster."""
        self._names += 1
        create_topic(self.cluster.address, f"bench-{self._names}", partitions)
        return f"bench-{self._names}"

    def filled(self, partitions: int, records: int, value_bytes: int = 100) -> str:
        """Make a topic with records."""
        name = self.topic(partitions)
        self.cluster.run("produce", topic=name, partitions=partitions, records=records, value_bytes=value_bytes)
        return name

    def group(self, side: Side) -> str:
        """Name a share group that starts at the first record."""
        self._names += 1
        read_from_start(side.address, [f"bench-{self._names}"])
        return f"bench-{self._names}"


def jobs(setting: Setting, side: Side, scale: Scale) -> Sample:
    """Measure one job at a time: with the producer at the same address, and with the producer at the cluster's."""
    shown = (
        ("p50_ms", "p99_ms", "cpu_us") if side is setting.cluster else ("p50_ms", "p99_ms", "cpu_us", "first_cpu_us")
    )
    sample = side.run("jobs", topic=setting.topic(1), group=setting.group(side), jobs=scale.jobs)
    found = {f"job_{key}": sample[key] for key in shown}
    at = setting.cluster.address
    apart = side.run("jobs", topic=setting.topic(1), group=setting.group(side), jobs=scale.jobs, produce_at=at)
    return found | {f"apart_{key}": apart[key] for key in ("p50_ms", "p99_ms")}


def drains(setting: Setting, side: Side, scale: Scale) -> Sample:
    """Measure a topic that is read and acknowledged, by ranges and record by record."""
    found: Sample = {}
    topic = setting.filled(PARTITIONS, scale.records)
    for name, each in (("drain", False), ("each", True)):
        sample = side.run("share", topic=topic, group=setting.group(side), records=scale.records, each=each)
        found |= {f"{name}_{key}": sample[key] for key in ("rate", "cpu_us")}
    return found


def hops(setting: Setting, side: Side, scale: Scale) -> Sample:
    """Send one record at a time through a plain producer, and a plain consumer."""
    sample = side.run("hops", topic=setting.topic(1), round_trips=scale.hops, produce_at=setting.cluster.address)
    return {key: sample[key] for key in ("produce_ms", "fetch_ms")}


def streams(setting: Setting, side: Side, scale: Scale) -> Sample:
    """Send many records through a plain producer, and a plain consumer."""
    topic, records = setting.topic(PARTITIONS), scale.stream_records
    sizes = {"topic": topic, "partitions": PARTITIONS, "records": records}
    found: Sample = {}
    for name, more in (("produce", {"value_bytes": RECORD_BYTES}), ("fetch", {})):
        sample = side.run(name, **sizes, **more)
        found[f"{name}_mb_s"] = sample["rate"] * RECORD_BYTES / 1e6
        if side is not setting.cluster:
            found[f"{name}_millicores"] = sample["first_cpu_us"] / RECORD_BYTES * 1000
    return found


MEASURES: Final[Mapping[str, Callable[[Setting, Side, Scale], Sample]]] = {
    "jobs": jobs,
    "drains": drains,
    "hops": hops,
    "streams": streams,
}


def measured(setting: Setting, names: Sequence[str], scale: Scale) -> dict[str, dict[str, list[float]]]:
    """Return every repetition, by side and figure. The sides take turns in being first."""
    samples: dict[str, dict[str, list[float]]] = {side: {} for side in setting.sides}
    for name in names:
        taken: dict[str, list[Sample]] = {side: [] for side in setting.sides}
        for repeat in range(-1 if scale.repeats > 1 else 0, scale.repeats):  # the first one has the JVM compile
            for side in sorted(setting.sides, reverse=repeat % 2 == 0):
                sample = MEASURES[name](setting, setting.sides[side], scale)
                _show(f"{side}: {', '.join(f'{key} {value:,.4g}' for key, value in sample.items())}")
                if repeat >= 0:
                    taken[side].append(sample)
        for side, repetitions in taken.items():
            samples[side] |= collect(repetitions)
    for hop in ("produce", "fetch"):
        through, direct = (samples[side].get(f"{hop}_ms", []) for side in (THROUGH, DIRECT))
        samples[THROUGH][f"{hop}_added_ms"] = [one - other for one, other in zip(through, direct, strict=True)]
    return samples


def main() -> int:
    options = _options()
    missing = why_unavailable(KAFKA)
    if missing:
        _show(f"needs Apache Kafka {KAFKA}: {missing}")
        return 1
    scale: Scale = QUICK if options.quick else FULL
    began = time.monotonic()
    with ExitStack() as stack:
        setting = Setting(stack)
        time.sleep(IDLE_AFTER_S)
        idle = {"active_mb": [resident_mb(setting.active.pid)], "waiting_mb": [resident_mb(setting.waiting.pid)]}
        samples = measured(setting, options.figures, scale)
    samples[THROUGH] |= idle
    rows = [row for row in ROWS if samples[THROUGH].get(row.key)]
    run = Run(_about(scale, time.monotonic() - began), rows, samples, COLUMNS)
    print(as_markdown(run))
    if options.write:
        write_between(options.write, BEGIN, END, as_markdown(run).splitlines())
    return 0


def _about(scale: Scale, elapsed_s: float) -> dict[str, str]:
    described = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, check=False, capture_output=True, text=True
    )
    return {
        "machine": machine(),
        "versions": (
            f"shareq {shareq.__version__}, Apache Kafka {KAFKA}, Python {platform.python_version()}, "
            f"librdkafka {confluent_kafka.libversion()[0]}"
        ),
        "commit": described.stdout.strip() or "unknown",
        "run": (
            f"{time.strftime('%Y-%m-%d')}, {elapsed_s:.0f} s, {scale.jobs:,} jobs, {scale.records:,} records, "
            f"median of {scale.repeats}, load average {load_average():.1f}"
            + ("" if scale.repeats > 1 else "; QUICK: the JVM is not warm, not for quoting")
        ),
    }


def _show(text: str) -> None:
    print(f"bench: {text}", file=sys.stderr, flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.nodes", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small numbers, each figure once")
    parser.add_argument("--figures", nargs="+", choices=FIGURES, default=FIGURES, help="some figures alone")
    add_write_option(parser, BEGIN, END)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
