"""shareq and Apache Kafka on this machine, same clients, one table: `python -m bench`.

Both brokers run at once, each idle while the other is measured; figures alternate between them and the median of the
repetitions is reported. Clients are processes of their own. Without Java, shareq's column stands alone.
"""

from __future__ import annotations

import argparse
import importlib
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import confluent_kafka

import shareq
from bench.brokers import Kind
from bench.figure import FULL, QUICK, Figure, Sample, Scale
from bench.proc import load_average, machine
from bench.report import BEGIN, END, Run, as_json, as_markdown, collect, write_between_markers, write_rows
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
    "end_to_end",
    "first_record",
    "idle_members",
    "footprint",
)


def main() -> int:
    options = _options()
    scale = QUICK if options.quick else FULL
    kinds: list[Kind] = [kind for kind in ("shareq", "apache") if options.only in (None, kind)]
    missing = why_unavailable()
    if "apache" in kinds and missing:
        _show(f"without Apache Kafka: {missing}")
        kinds.remove("apache")
    figures: list[Figure] = [importlib.import_module(f"bench.figures.{name}") for name in options.figures]
    started = time.monotonic()
    samples = _measure(kinds, figures, scale)
    rows = [row for figure in figures for row in figure.ROWS]
    run = Run(_about(scale, time.monotonic() - started), rows, samples)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(as_json(run))
    _show(f"every repetition is in {options.json}")
    print(as_markdown(run))
    if options.write:
        write_between_markers(options.write, as_markdown(run))
    if options.rows:
        _show(f"{write_rows(options.rows, run)} rows of {options.rows} are of this run")
    return 0


def _measure(kinds: Sequence[Kind], figures: Sequence[Figure], scale: Scale) -> dict[str, dict[str, list[float]]]:
    samples: dict[str, dict[str, list[float]]] = {kind: {} for kind in kinds}
    with ExitStack() as stack:
        stages = [Stage(kind, stack) for kind in kinds]
        for stage in stages:
            _warm_up(stage)
        for figure in figures:
            taken: dict[Kind, list[Sample]] = {kind: [] for kind in kinds}
            for repeat in range(scale.repeats if figure.REPEATED else 1):
                for stage in stages:
                    if figure.REPEATED and repeat == 0 and scale.warm_up:
                        figure.measure(stage, scale)  # the JVM compiles what this figure makes it run
                    taken[stage.kind].append(_timed(figure, stage, scale))
            for kind, repetitions in taken.items():
                samples[kind].update(collect(repetitions))
    return samples


def _timed(figure: Figure, stage: Stage, scale: Scale) -> Sample:
    began = time.monotonic()
    sample = figure.measure(stage, scale)
    numbers = ", ".join(f"{key} {value:,.4g}" for key, value in sample.items())
    _show(f"{stage.kind}: {numbers} ({time.monotonic() - began:.1f} s)")
    return sample


def _warm_up(stage: Stage) -> None:
    """Make internal topics, fill the page cache, run all code once: the first figure must not pay for them."""
    topic = stage.topic(4)
    stage.client("produce", topic=topic, partitions=4, records=200_000)
    stage.client("fetch", topic=topic, partitions=4, records=200_000)
    stage.client("share", topic=topic, group=stage.group(), records=200_000)
    _show(f"{stage.kind}: warm")


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
