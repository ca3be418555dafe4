"""The time of 200 tests, each on a broker of its own, how soon one listens, and what 1,000 brokers leave behind.

    python -m bench.fresh_brokers                          # a verdict: 1 if a bound below is broken
    python -m bench.fresh_brokers --write docs/testing.md  # the table goes there
    python -m bench.fresh_brokers --brokers 0 --java 0     # the tests alone, without Apache Kafka beside them

The test is the same everywhere: a topic, a record that is written and read. Apache Kafka, in Java, does ten of them.
"""

from __future__ import annotations

import argparse
import gc
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

from bench.proc import load_average, resident_mb
from devtools.documents import add_write_option, show_and_write
from devtools.kafka.apache_kafka import KAFKA_VERSION, broker_class_path, why_unavailable
from devtools.provenance import ROOT, commit, machine
from shareq.testing import Broker
from shareq.testing.broker import Mode, child_environment
from shareq.testing.process import Nursery

MODES: Final[tuple[Mode, ...]] = ("thread", "process")
MOST_START_MS: Final = {"thread": 50.0, "process": 150.0}
"""The longest median of a start, by mode."""
MOST_GROWTH_MB: Final = 4.0
"""The most that a process's memory may grow, from a tenth of the brokers on to their end."""
COUNTED: Final = ("descriptors", "threads", "children")
"""The counts that may not grow at all."""
STARTS: Final = 20
LOOKS: Final = 10
BEGIN: Final = "<!-- fresh brokers: begin -->"
END: Final = "<!-- fresh brokers: end -->"

SUITE: Final = """
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

{fixture}

@pytest.mark.parametrize("number", range({tests}))
def test_an_order(bootstrap, number):
    producer = Producer({{"bootstrap.servers": bootstrap}})
    producer.produce("orders", str(number))
    assert producer.flush(30) == 0
    consumer = Consumer({{"bootstrap.servers": bootstrap, "group.id": "judge", "enable.auto.commit": False}})
    consumer.assign([TopicPartition("orders", 0, 0)])
    (message,) = consumer.consume(1, 30)
    assert message.value() == str(number).encode()
    consumer.close()
"""
OURS: Final = """
pytestmark = pytest.mark.shareq(topics=["orders"])

@pytest.fixture
def bootstrap(shareq_broker):
    return shareq_broker.bootstrap
"""
JAVA: Final = """
from pathlib import Path

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from devtools.kafka.apache_kafka import ApacheKafka

@pytest.fixture
def bootstrap(tmp_path):
    kafka = ApacheKafka(tmp_path)
    took_s = kafka.start()
    with open(Path(__file__).with_name("starts.txt"), "a") as starts:
        starts.write(f"{took_s * 1000}\\n")
    admin = AdminClient({"bootstrap.servers": kafka.address})
    admin.create_topics([NewTopic("orders", 1, 1)])["orders"].result(30)
    yield kafka.address
    kafka.kill()
"""


@dataclass(frozen=True, slots=True)
class Look:
    """A process's open resources after so many brokers."""

    brokers: int
    descriptors: int
    threads: int
    children: int
    resident_mb: float


@dataclass(slots=True)
class Column:
    """The figures of one kind of broker.

    Test times include setup and teardown, in ms; `looks` by process.
    """

    name: str
    starts_ms: list[float] = field(default_factory=list)
    tests_ms: list[float] = field(default_factory=list)
    seconds: float = 0.0
    cpu_s: float = 0.0
    looks: Mapping[str, Sequence[Look]] = field(default_factory=dict)


def run_tests(column: Column, fixture: str, tests: int, workers: int, *options: str) -> None:
    """Run the suite; `seconds` and `cpu_s` include pytest's own start."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "test_fresh.py").write_text(SUITE.format(tests=tests, fixture=fixture))
        report = Path(folder, "report.xml")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}", *options]
        began, cpu_s = time.perf_counter(), children_s()
        result = subprocess.run(
            [*command, "-n", str(workers)],
            cwd=folder,
            env={**child_environment(), "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}"},
            capture_output=True,
            text=True,
            check=False,
        )
        column.seconds, column.cpu_s = time.perf_counter() - began, children_s() - cpu_s
        if result.returncode:
            raise SystemExit(result.stdout + result.stderr)
        column.tests_ms = [float(case.attrib["time"]) * 1000 for case in ElementTree.parse(report).iter("testcase")]
        starts = Path(folder, "starts.txt")
        if starts.exists():
            column.starts_ms = [float(line) for line in starts.read_text().split()]


def children_s() -> float:
    """Return the CPU seconds of processes that were waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def starts_ms(mode: Mode, count: int) -> list[float]:
    """Return the milliseconds until each of some brokers listens; a first broker, not measured, warms up."""
    with Broker(mode=mode):
        pass
    took = []
    for _ in range(count):
        began = time.perf_counter()
        with Broker(mode=mode):
            took.append((time.perf_counter() - began) * 1000)
    return took


def look_at(pid: int, brokers: int) -> Look:
    """Return a process's descriptors, threads, children and memory now (Linux)."""
    process = Path(f"/proc/{pid}")
    threads = list((process / "task").iterdir())
    children = sum(len((thread / "children").read_text().split()) for thread in threads)
    return Look(brokers, len(list((process / "fd").iterdir())), len(threads), children, resident_mb(pid))


def left_behind(mode: Mode, brokers: int) -> dict[str, list[Look]]:
    """Start and stop brokers, each with a topic and a record; look at each process ten times."""
    pids = {"test": os.getpid()}
    if mode == "process":
        pids["nursery"] = Nursery.get()._process.pid
    looks: dict[str, list[Look]] = {name: [] for name in pids}
    for number in range(1, brokers + 1):
        with Broker(mode=mode) as broker:
            broker.produce(broker.topic(), "x")
        if number % max(1, brokers // LOOKS) == 0:
            gc.collect()
            for name, pid in pids.items():
                looks[name].append(look_at(pid, number))
                print(f"mode={mode}: {name}: {looks[name][-1]}", file=sys.stderr)
    return looks


def faults_of(column: Column) -> list[str]:
    """Return the broken limits, in a line each."""
    found = []
    most_ms = MOST_START_MS.get(column.name)
    if most_ms is not None and column.starts_ms and statistics.median(column.starts_ms) > most_ms:
        found.append(
            f"{column.name}: a start took {statistics.median(column.starts_ms):.0f} ms, more than {most_ms:.0f}"
        )
    for process, looks in column.looks.items():
        first, last = looks[0], looks[-1]
        for name in COUNTED:
            before, after = getattr(first, name), getattr(last, name)
            if after > before:
                found.append(f"{column.name}: {process}: {name} grew from {before} to {after}")
        if last.resident_mb - first.resident_mb > MOST_GROWTH_MB:
            grown = f"{first.resident_mb:.1f} to {last.resident_mb:.1f} MB, by more than {MOST_GROWTH_MB:.0f}"
            found.append(f"{column.name}: {process}: memory grew from {grown}")
    return found


def as_lines(columns: Sequence[Column], workers: int, about: str) -> list[str]:
    """Return the table, in Markdown."""
    rows = {
        "start, ms: median, lowest to highest": [spread(each.starts_ms) for each in columns],
        "a test, ms: median, lowest to highest": [spread(each.tests_ms) for each in columns],
        "tests": [str(len(each.tests_ms)) for each in columns],
        "all of them, s": [f"{each.seconds:.1f}" for each in columns],
        "CPU, s a test": [f"{each.cpu_s / max(1, len(each.tests_ms)):.2f}" for each in columns],
    }
    if any(each.looks for each in columns):
        (brokers,) = {looks[-1].brokers for each in columns for looks in each.looks.values()}
        rows[f"left of {brokers:,} brokers: {'/'.join(COUNTED)}, memory"] = [growth(each.looks) for each in columns]
    lines = [f"| | {' | '.join(each.name for each in columns)} |", "| --- |" + " ---: |" * len(columns)]
    lines += [f"| {name} | {' | '.join(cells)} |" for name, cells in rows.items()]
    return [*lines, "", f"With `pytest -n {workers}`, whose start is in all of them, and in the CPU. {about}"]


def spread(values: Sequence[float]) -> str:
    """Format the median and range of times in ms."""
    return f"{statistics.median(values):,.0f}, {min(values):,.0f} to {max(values):,.0f}" if values else "-"


def growth(looks: Mapping[str, Sequence[Look]]) -> str:
    """Format the growth of each process from the first look to the last."""
    cells = []
    for process, rows in looks.items():
        first, last = rows[0], rows[-1]
        counts = [getattr(last, name) - getattr(first, name) for name in COUNTED]
        cells.append(f"{process}: {'/'.join(map(str, counts))}, {last.resident_mb - first.resident_mb:+.1f} MB")
    return "; ".join(cells) or "-"


def measured(mode: Mode, tests: int, workers: int, brokers: int) -> Column:
    """Measure our own brokers."""
    column = Column(mode, starts_ms(mode, STARTS))
    if tests:
        run_tests(column, OURS, tests, workers, f"--shareq-mode={mode}")
    if brokers:
        column.looks = left_behind(mode, brokers)
    return column


def measured_java(tests: int, workers: int) -> Column:
    """Measure Apache Kafka: its start excludes formatting the disk; the test's time includes both."""
    column = Column(f"Apache Kafka {KAFKA_VERSION}")
    broker_class_path()  # fetched before the time counts
    run_tests(column, JAVA, tests, workers)
    return column


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tests", type=int, default=200)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--brokers", type=int, default=1000)
    parser.add_argument("--java", type=int, default=10, metavar="TESTS", help="on a fresh Apache Kafka each; 0: none")
    add_write_option(parser, BEGIN, END)
    options = parser.parse_args(arguments)
    load = load_average()
    columns = [measured(mode, options.tests, options.workers, options.brokers) for mode in MODES]
    if options.java:
        missing = why_unavailable()
        if missing is None:
            columns.append(measured_java(options.java, options.workers))
        else:
            print(f"without Apache Kafka: {missing}", file=sys.stderr)
    about = f"{machine()}; commit {commit('bench', 'broker', 'src')}; load before {load:.1f}."
    lines = as_lines(columns, options.workers, about)
    show_and_write(lines, options.write, BEGIN, END)
    faults = [fault for column in columns for fault in faults_of(column)]
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
