"""shareq and Apache Kafka on this machine, same clients, one table: `python -m bench`.

Both brokers run at once, each idle while the other is measured; figures alternate between them and the median of the
repetitions is reported. Clients are processes of their own. Without Java, shareq's column stands alone. With `--beside
COMMIT` the other broker is that commit's, which shows what a change has cost.
"""

from __future__ import annotations

import argparse
import importlib
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import confluent_kafka

import shareq
from bench.brokers import SCRATCH, Kind, built
from bench.figure import FULL, QUICK, Figure, Sample, Scale
from bench.proc import load_average, machine
from bench.report import BEGIN, END, Run, as_json, as_markdown, collect, of_page, write_between_markers, write_rows
from bench.stage import Stage
from devtools.documents import add_write_option
from devtools.kafka.apache_kafka import KAFKA_VERSION, why_unavailable

ROOT = Path(__file__).resolve().parents[1]
FIGURES = (
    "throughput",
    "tls",
    "pipelined",
    "quotas",
    "mixed_acks",
    "ordered",
    "delays",
    "end_to_end",
    "first_record",
    "connect_burst",
    "idle_members",
    "waiting_members",
    "slow_syncs",
    "cold_readers",
    "asyncio_client",
    "footprint",
)


def main() -> int:
    options = _options()
    scale = QUICK if options.quick else FULL
    scale = replace(scale, repeats=options.repeats or scale.repeats)
    other = options.beside or "apache"
    kinds: dict[str, Kind] = {"shareq": "shareq", other: "shareq" if options.beside else "apache"}
    if options.only:
        kinds = {name: kind for name, kind in kinds.items() if kind == options.only}
    missing = why_unavailable()
    if "apache" in kinds.values() and missing:
        _show(f"without Apache Kafka: {missing}")
        del kinds[other]
    figures: list[Figure] = [importlib.import_module(f"bench.figures.{name}") for name in options.figures]
    started = time.monotonic()
    with ExitStack() as stack:
        stages = {name: Stage(kind, stack) for name, kind in kinds.items()}
        if options.beside:
            SCRATCH.mkdir(parents=True, exist_ok=True)
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="beside-", dir=SCRATCH)))
            stages[other].packages = built(options.beside, folder)
        samples = _measure(stages, figures, scale)
    rows = [row for figure in figures for row in figure.ROWS]
    columns = ("shareq", options.beside or "Apache Kafka")
    run = Run(_about(scale, time.monotonic() - started), rows, samples, columns, ("shareq", other))
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(as_json(run))
    _show(f"every repetition is in {options.json}")
    print(as_markdown(run))
    if options.write:
        write_between_markers(options.write, as_markdown(of_page(run)))
    if options.rows:
        _show(f"{write_rows(options.rows, run)} rows of {options.rows} are of this run")
    return 0


def _measure(stages: Mapping[str, Stage], figures: Sequence[Figure], scale: Scale) -> dict[str, dict[str, list[float]]]:
    """Return the samples of each broker: a figure's key -> every repetition. The brokers alternate in going first."""
    samples: dict[str, dict[str, list[float]]] = {name: {} for name in stages}
    for name, stage in stages.items():
        _warm_up(name, stage)
    for figure in figures:
        taken: dict[str, list[Sample]] = {name: [] for name in stages}
        for repeat in range(scale.repeats if figure.REPEATED else 1):
            for name in sorted(stages, reverse=repeat % 2 == 0):
                if figure.REPEATED and repeat == 0 and scale.warm_up:
                    figure.measure(stages[name], scale)  # the JVM compiles what this figure makes it run
                taken[name].append(_timed(figure, name, stages[name], scale))
        for name, repetitions in taken.items():
            samples[name].update(collect(repetitions))
    return samples


def _timed(figure: Figure, name: str, stage: Stage, scale: Scale) -> Sample:
    began = time.monotonic()
    sample = figure.measure(stage, scale)
    numbers = ", ".join(f"{key} {value:,.4g}" for key, value in sample.items())
    _show(f"{name}: {numbers} ({time.monotonic() - began:.1f} s)")
    return sample


def _warm_up(name: str, stage: Stage) -> None:
    """Create internal topics, fill the page cache and run all code once, so that the first figure does not pay for
    it.
    """
    topic = stage.topic(4)
    stage.client("produce", topic=topic, partitions=4, records=200_000)
    stage.client("fetch", topic=topic, partitions=4, records=200_000)
    stage.client("share", topic=topic, group=stage.group(), records=200_000)
    _show(f"{name}: warm")


def _about(scale: Scale, elapsed_s: float) -> dict[str, str]:
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, check=False, capture_output=True, text=True
    ).stdout.strip()
    return {
        "machine": machine(),
        "versions": (
            f"shareq {shareq.__version__}, Apache Kafka {KAFKA_VERSION}, Python {platform.python_version()}, "
            f"librdkafka {confluent_kafka.libversion()[0]}"
        ),
        "commit": commit or "unknown",
        "run": (
            f"{time.strftime('%Y-%m-%d')}, {elapsed_s:.0f} s, {scale.records:,} records, "
            f"median of {scale.repeats}, load average {load_average():.1f}"
            + ("" if scale.warm_up else "; QUICK: the JVM is not warm, not for quoting")
        ),
    }


def _show(text: str) -> None:
    print(f"bench: {text}", file=sys.stderr, flush=True)


def _file(name: str) -> Path:
    path = Path(name)
    if not path.is_file():
        raise argparse.ArgumentTypeError(f"{name} is not a file")
    return path


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small numbers, each figure once: two minutes")
    parser.add_argument("--repeats", type=int, help="of each figure; three without it, one of --quick")
    parser.add_argument("--beside", metavar="COMMIT", help="compare with shareq of another commit instead")
    parser.add_argument("--only", choices=["shareq", "apache"], help="one broker alone")
    parser.add_argument("--figures", nargs="+", choices=FIGURES, default=FIGURES, help="some figures alone")
    parser.add_argument(
        "--json", type=Path, default=ROOT / ".cache" / "bench" / "last.json", help="where every repetition goes"
    )
    add_write_option(parser, BEGIN, END)
    parser.add_argument("--rows", type=_file, metavar="FILE.md", help="bring the same rows of this document up to date")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
