"""The Spark source compared with Spark's own Kafka source, on the same topics of one broker: `make bench-spark`.

Both read in one session each, local[2], with trigger(availableNow=True) into the sink that throws everything away. They
take turns; the median of the repetitions is reported, with the CPU of the broker and of Spark with all its processes.
Time is from the start of a query to its end.
"""

from __future__ import annotations

import argparse
import platform
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from confluent_kafka import Producer, libversion

import shareq
from bench.brokers import SCRATCH, Kind, RunningBroker, Shareq
from bench.proc import cpu_seconds, load_average, machine, tree_cpu_seconds
from bench.report import BEGIN, END, write_between_markers
from bench.setup import create_topic
from bench.spark.cases import DEFAULT_LOCKS, PARTITIONS, WIDEST, Case, cases
from bench.spark.session import Session
from devtools.clients.admin import configure_group
from devtools.documents import add_write_option
from devtools.kafka.apache_kafka import KAFKA_VERSION, ROOT, ApacheKafka

CHUNK = 10_000
PHASES = ("latestOffset", "addBatch")  # of a micro-batch
WARM_UPS = 2  # rounds until the JVM has compiled what matters
Sample = dict[str, float]


def main() -> int:
    options = _options()
    sizes = {100: options.records, 1000: options.records // 3}
    sizes = {size: count for size, count in sizes.items() if size in options.sizes}
    tables = [one_broker(kind, sizes, options) for kind in options.broker]
    text = "\n".join(tables)
    print(text)
    if options.write:
        write_between_markers(options.write, text)
    return 0


def one_broker(kind: Kind, sizes: dict[int, int], options: argparse.Namespace) -> str:
    """Start a broker, and return its table."""
    wanted = [case for case in cases(kind, sizes, options.most) if options.only in case.label]
    started = time.monotonic()
    SCRATCH.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="spark-", dir=SCRATCH)))
        broker = _broker(kind, folder)
        stack.callback(broker.stop)
        broker.start()
        sources = sorted({case.source for case in wanted})
        configs = dict(options.conf)
        sessions: dict[str, Session] = {
            source: stack.enter_context(Session(folder / source, configs=configs)) for source in sources
        }
        samples = measure(broker, sessions, wanted, options.repeats, options.seed)
        about = _about(kind, options, next(iter(sessions.values())).version, time.monotonic() - started)
    return table(wanted, samples, about)


def measure(
    broker: RunningBroker, sessions: Mapping[str, Session], wanted: Sequence[Case], repeats: int, seed: int
) -> dict[Case, list[Sample]]:
    """Return every repetition of each case, after rounds that warm up."""
    topics: dict[tuple[int, int], str] = {}
    for case in wanted:
        if (case.value_bytes, case.records) not in topics:
            topic = topics[case.value_bytes, case.records] = f"bench-{case.value_bytes}-{case.records}"
            create_topic(broker.address, topic, PARTITIONS)
            produce(broker.address, topic, case, seed)
    samples: dict[Case, list[Sample]] = {case: [] for case in wanted}
    for turn in range(-WARM_UPS, repeats):
        for case in wanted:
            if turn < 0 and (case.locks == DEFAULT_LOCKS or case.value_bytes != wanted[0].value_bytes):
                continue  # the code is the same
            group = f"{case.source}-{case.locks}-{case.value_bytes}-{turn}"
            if case.locks is not None:
                window = {"share.partition.max.record.locks": str(case.locks)}
                configure_group(broker.address, group, {"share.auto.offset.reset": "earliest", **window})
            reader = case.options(broker.address, topics[case.value_bytes, case.records], group)
            sample = drain(broker, sessions[case.source], case, reader)
            if turn >= 0:
                samples[case].append(sample)
            numbers = ", ".join(f"{key} {value:,.4g}" for key, value in sample.items())
            _show(f"{turn}: {case.label}, {case.value_bytes} B: {numbers}")
    return samples


def drain(broker: RunningBroker, session: Session, case: Case, options: dict[str, str]) -> Sample:
    """Run one query. Raise RuntimeError if it did not read all records."""
    before, spark_before = cpu_seconds(broker.pid), tree_cpu_seconds(session.pid)
    reported = session.drain(case.source, options)
    cpu_s = cpu_seconds(broker.pid) - before
    spark_s = tree_cpu_seconds(session.pid) - spark_before
    if reported["rows"] != case.records:
        raise RuntimeError(f"{case.label}: {reported['rows']} rows of {case.records}")
    full = [(rows, phases) for rows, phases in reported["batches"] if rows]
    return {
        "rate": case.records / reported["elapsed_s"],
        "broker_us": cpu_s / case.records * 1e6,
        "spark_us": spark_s / case.records * 1e6,
        "batches": len(full),
        "batch_ms": median(phases["triggerExecution"] for _, phases in full),
        **{f"{name}_ms": sum(phases.get(name, 0) for _, phases in reported["batches"]) for name in PHASES},
        "elapsed_s": reported["elapsed_s"],
    }


def produce(address: str, topic: str, case: Case, seed: int) -> None:
    """Produce random values, without keys or compression, in batches of at most 1000 records, smaller than any window
    of locks.
    """
    chance = random.Random(seed)
    values = [{"value": chance.randbytes(case.value_bytes)} for _ in range(CHUNK)]
    limits = {"queue.buffering.max.messages": 500_000, "queue.buffering.max.kbytes": 1_000_000}
    producer = Producer({"bootstrap.servers": address, "log_level": 2, "batch.num.messages": 1000, **limits})
    for start in range(0, case.records, CHUNK):
        chunk = values[: case.records - start]
        while producer.produce_batch(topic, chunk, partition=start // CHUNK % PARTITIONS) < len(chunk):
            raise RuntimeError("the producer's queue is full")
        while len(producer) > 400_000:
            producer.poll(0.05)
    if producer.flush(120):
        raise RuntimeError("records were not confirmed")


def table(wanted: Sequence[Case], samples: dict[Case, list[Sample]], about: dict[str, str]) -> str:
    lines = [
        "| source | value | records | rows/s | beside Spark's | µs of CPU a record: broker+Spark |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for case in wanted:
        figures = _medians(samples[case])
        cells = [
            case.label,
            f"{case.value_bytes}B",
            f"{case.records:,}",
            f"{figures['rate']:,.0f}",
            "-",
            f"{figures['broker_us']:.2f}+{figures['spark_us']:.2f}",
        ]
        beside = [other for other in wanted if other.locks is None and other.value_bytes == case.value_bytes]
        if beside:
            spark = _medians(samples[beside[0]])
            cells[4] = f"{figures['rate'] / spark['rate']:.2f}x"
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([f"{'; '.join(about.values())}:", "", *lines, ""])


def _medians(samples: Sequence[Sample]) -> Sample:
    return {key: median(sample[key] for sample in samples) for key in samples[0]}


def _broker(kind: Kind, folder: Path) -> RunningBroker:
    bound = ("group.share.max.partition.max.record.locks", str(WIDEST[kind]))
    if kind == "shareq":
        return Shareq(folder, ("=".join(bound),))
    return ApacheKafka(folder / "kafka", dict([bound]))


def _about(kind: Kind, options: argparse.Namespace, spark: str, elapsed_s: float) -> dict[str, str]:
    described = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, check=False, capture_output=True, text=True
    )
    broker = f"shareq {shareq.__version__}" if kind == "shareq" else f"Apache Kafka {KAFKA_VERSION}"
    return {
        "broker": f"{broker}, one node, {PARTITIONS} partitions",
        "machine": machine(),
        "versions": f"PySpark {spark}, Python {platform.python_version()}, librdkafka {libversion()[0]} (producer)",
        "commit": described.stdout.strip() or "unknown",
        "run": (
            f"{time.strftime('%Y-%m-%d')}, {elapsed_s:.0f} s, seed {options.seed}, median of {options.repeats}, "
            f"load average {load_average():.1f}"
        ),
    }


def _show(text: str) -> None:
    print(f"bench: {text}", file=sys.stderr, flush=True)


def _config(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return name, value


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.spark", description=__doc__)
    parser.add_argument("--broker", nargs="+", choices=["shareq", "apache"], default=["shareq"])
    parser.add_argument(
        "--records", type=int, default=6_000_000, help="of 100 bytes; a third of that of 1000 bytes (default 6,000,000)"
    )
    parser.add_argument(
        "--most", type=int, default=200_000, help="records for the default window of locks (default 200,000)"
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1000], help="bytes of a value (default 100 1000)")
    parser.add_argument("--only", default="", help="cases whose label has this text")
    parser.add_argument("--repeats", type=int, default=3, help="of each figure; the report has the median (default 3)")
    parser.add_argument("--conf", type=_config, nargs="*", default=[], metavar="NAME=VALUE", help="of both sessions")
    parser.add_argument("--seed", type=int, default=1, help="of the records (default 1)")
    add_write_option(parser, BEGIN, END)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
