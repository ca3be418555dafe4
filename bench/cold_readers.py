"""Producers' latency while another client reads old records: from memory, from the disk, and from a slow one.

    python -m bench.cold_readers                   # shareq, and Apache Kafka beside it
    python -m bench.cold_readers --mb 2000 --rounds 3 --only shareq

In each round a fresh broker gets a topic of old records; then one producer writes a record every 4 ms to another topic,
alone, while a consumer reads the old ones from the first offset, and while it reads as many from another broker. The
disk is made cold by having the system forget the files. With a slow disk each read of it takes 30 ms longer, in
whichever thread: shareq's alone can be slowed down.
"""

from __future__ import annotations

import argparse
import glob
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from bench.brokers import SCRATCH, Kind, Shareq
from bench.proc import cpu_seconds, load_average, machine
from devtools.kafka.apache_kafka import ApacheKafka, why_unavailable
from devtools.ports import free_port

OLD: Final = "old"
NEW: Final = "new"
PAUSE_S: Final = 0.004
ALONE_S: Final = 4.0
SLOW_MS: Final = 30
MOST_S: Final = 60.0
"""The longest time for which one reader is watched, in seconds."""

_LONGEST: Final = re.compile(r'^shareq_event_loop_stall_seconds_bucket\{le="([^"]+)"\} (\d+)', re.MULTILINE)


@dataclass(slots=True)
class Phase:
    """One phase of a round: the producer's latencies in ms, the reader's MB/s, and the broker's CPU seconds per GB."""

    latencies: list[float] = field(default_factory=list)
    mb_s: float = 0.0
    cpu_s_gb: float = 0.0
    longest_ms: float = 0.0

    def at(self, part: float) -> float:
        """Return the latency at this quantile."""
        return sorted(self.latencies)[min(int(len(self.latencies) * part), len(self.latencies) - 1)]


PRODUCER: Final = """
import json, sys, time
from confluent_kafka import Producer
address, seconds, pause = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
producer = Producer({"bootstrap.servers": address, "linger.ms": 0, "acks": "all"})
def one():
    began = time.perf_counter()
    producer.produce("new", b"x" * 100)
    producer.flush()
    return (time.perf_counter() - began) * 1000
for _ in range(50):
    one()
print("ready", flush=True)
sys.stdin.readline()
found, end = [], time.perf_counter() + seconds
import select
while time.perf_counter() < end and not select.select([sys.stdin], [], [], 0)[0]:
    found.append(one())
    time.sleep(pause)
print(json.dumps(found), flush=True)
"""
"""The producer: prints its latencies when the time is up, or its input has a second line."""


class Prober:
    """The producer, in a process of its own."""

    def __init__(self, address: str, seconds: float) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", PRODUCER, address, str(seconds), str(PAUSE_S)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdout.readline()
        self._process.stdin.write("go\n")
        self._process.stdin.flush()

    def stop(self) -> list[float]:
        """Stop, and return the latencies in ms."""
        out, _ = self._process.communicate("stop\n", timeout=60)
        found: list[float] = json.loads(out.splitlines()[-1])
        return found


def fill(address: str, mb: int) -> None:
    """Create the topics, and write the old records: 1 KB each, in a producer's own batches."""
    admin = AdminClient({"bootstrap.servers": address})
    for made in admin.create_topics([NewTopic(OLD, 1, 1), NewTopic(NEW, 1, 1)]).values():
        made.result(30)
    producer = Producer({"bootstrap.servers": address, "linger.ms": 20, "batch.size": 1_000_000, "acks": "all"})
    values = [os.urandom(1_000) for _ in range(64)]
    for number in range(mb * 1_000):
        while True:
            try:
                producer.produce(OLD, values[number % 64])
                break
            except BufferError:
                producer.poll(0.1)
    producer.flush()


def forget(folder: Path) -> None:
    """Drop a data folder's files from the page cache."""
    os.sync()
    for path in glob.glob(f"{folder}/**/*", recursive=True):
        if os.path.isfile(path):
            fd = os.open(path, os.O_RDONLY)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)


def watched(address: str, pid: int, mb: int, stalls: Stalls, produce_to: str | None = None) -> Phase:
    """Read the old records while the producer writes, there or to another broker; the reader is this process."""
    stalls.begin()
    prober, phase = Prober(produce_to or address, MOST_S), Phase()
    consumer = Consumer({"bootstrap.servers": address, "group.id": "reader", "enable.auto.commit": False})
    consumer.assign([TopicPartition(OLD, 0, 0)])
    began, before, got = time.perf_counter(), cpu_seconds(pid), 0
    while got < mb * 1_000 and time.perf_counter() - began < MOST_S:
        got += len(consumer.consume(5_000, 1.0))
    seconds, cpu = time.perf_counter() - began, cpu_seconds(pid) - before
    phase.latencies = prober.stop()
    consumer.close()
    phase.mb_s, phase.cpu_s_gb = got / 1_000 / seconds, cpu / max(got, 1) * 1e6
    phase.longest_ms = stalls.longest_ms()
    return phase


class Stalls:
    """The longest turn of shareq's loop, by its metrics; 0 for another broker."""

    def __init__(self, port: int | None) -> None:
        self._port = port
        self._before: dict[str, int] = {}

    def begin(self) -> None:
        """Count from now on."""
        self._before = self._buckets()

    def longest_ms(self) -> float:
        """Return the upper bound of the last bucket that has grown."""
        grown, below = 0.0, 0
        for bound, count in self._buckets().items():
            more = count - self._before.get(bound, 0)
            if more > below:
                grown, below = float(bound) * 1_000, more
        return grown

    def _buckets(self) -> dict[str, int]:
        if self._port is None:
            return {}
        with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/metrics") as answer:
            text = answer.read().decode()
        return {bound: int(count) for bound, count in _LONGEST.findall(text)}


NO_STALLS: Final = Stalls(None)


def alone(address: str) -> Phase:
    """Watch the producer without a reader."""
    prober = Prober(address, ALONE_S)
    time.sleep(ALONE_S)
    return Phase(prober.stop())


def apart(address: str, kind: Kind, mb: int) -> Phase:
    """Watch the producer while the reader uses a broker of its own, to see what the shared CPUs alone cost."""
    folder = Path(tempfile.mkdtemp(prefix=f"apart-{kind}-", dir=SCRATCH))
    other: Shareq | ApacheKafka = ApacheKafka(folder) if kind == "apache" else Shareq(folder)
    try:
        other.start()
        fill(other.address, mb)
        return watched(other.address, other.pid, mb, NO_STALLS, produce_to=address)
    finally:
        other.stop()
        shutil.rmtree(folder, ignore_errors=True)


def round_of(kind: Kind, mb: int, *, slow: bool) -> dict[str, Phase]:
    """Return the phases of one round, by name."""
    SCRATCH.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f"cold-{kind}-", dir=SCRATCH))
    metrics = free_port()
    broker: Shareq | ApacheKafka = ApacheKafka(folder)
    if kind == "shareq":
        broker = Shareq(folder, options=("--metrics", f"127.0.0.1:{metrics}"))
    stalls = Stalls(metrics if kind == "shareq" else None)
    try:
        broker.start()
        fill(broker.address, mb)
        phases = {"alone": alone(broker.address)}
        phases["warm"] = watched(broker.address, broker.pid, mb, stalls)
        phases["apart"] = apart(broker.address, kind, mb)
        forget(folder)
        phases["cold"] = watched(broker.address, broker.pid, mb, stalls)
        if slow and isinstance(broker, Shareq):
            broker.stop()
            os.environ["SHAREQ_BENCH_SLOW_MS"] = str(SLOW_MS)
            broker = Shareq(folder, options=("--metrics", f"127.0.0.1:{metrics}"), module="bench.slow_disk")
            broker.start()
            forget(folder)
            phases["slow"] = watched(broker.address, broker.pid, min(mb, 200), stalls)
        return phases
    finally:
        broker.stop()
        shutil.rmtree(folder, ignore_errors=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for each phase of each broker: least, median and most of the rounds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mb", type=int, default=1_000, help="old records")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=["shareq", "apache"])
    parser.add_argument("--no-slow", action="store_true", help="no slow disk")
    options = parser.parse_args(arguments)
    kinds: list[Kind] = [options.only] if options.only else ["shareq", "apache"]
    missing = why_unavailable() if "apache" in kinds else None
    if missing:
        print(f"without Apache Kafka: {missing}", file=sys.stderr)
        kinds.remove("apache")
    print(f"{machine()}; load before {load_average():.1f}; {options.mb} MB of old records")
    found: dict[Kind, list[dict[str, Phase]]] = {kind: [] for kind in kinds}
    for _ in range(options.rounds):
        for kind in kinds:
            found[kind].append(round_of(kind, options.mb, slow=not options.no_slow))
    for kind, rounds in found.items():
        for name in rounds[0]:
            print(f"{kind:7} {name:6}", *_cells([each[name] for each in rounds]), sep="  ", flush=True)


def _cells(phases: Sequence[Phase]) -> list[str]:
    columns = {
        "p50 ms": [each.at(0.5) for each in phases],
        "p99 ms": [each.at(0.99) for each in phases],
        "max ms": [max(each.latencies) for each in phases],
        "MB/s": [each.mb_s for each in phases],
        "CPU s/GB": [each.cpu_s_gb for each in phases],
        "longest turn ms": [each.longest_ms for each in phases],
    }
    return [f"{name} {_spread(values)}" for name, values in columns.items()]


def _spread(values: Sequence[float]) -> str:
    return f"{min(values):.2f}/{statistics.median(values):.2f}/{max(values):.2f}"


if __name__ == "__main__":
    main()
