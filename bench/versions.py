"""Share consume by this checkout and by another commit, in turns: what a change has cost those that do not use it.

    python -m bench.versions COMMIT [--runs N] [--records N]

The other commit is built as a wheel would be, compiled module included, into a folder of its own. Both brokers run at
once, each idle while the other is measured, and take turns in being first. Keys in turn, no order by key; medians.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any, Final

from bench.brokers import ROOT, SCRATCH, Shareq
from bench.figure import Sample
from bench.figures.ordered import JAVAS_BATCH_BYTES, KEYS, PARTITIONS
from bench.proc import load_average, machine
from bench.setup import create_topic, read_from_start
from bench.stage import run_client

HERE: Final = "this checkout"
BATCHES: Final[Mapping[str, Mapping[str, Any]]] = {
    "batches of 16 KB": {"batch_bytes": JAVAS_BATCH_BYTES},
    "batches of 1 MB": {},
}
SHOWN: Final = {"rate": "records/s {:>9,.0f}", "cpu_us": "broker CPU {:.3f} µs", "client_us": "client CPU {:.3f} µs"}


def main() -> int:
    options = _options()
    SCRATCH.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="versions-", dir=SCRATCH)))
        brokers = {HERE: _started(folder / "here", None, stack)}
        brokers[options.commit] = _started(folder / "other", _built(options.commit, folder), stack)
        print(f"{machine()}; {options.records:,} records, {options.runs} turns", flush=True)
        for text, how in BATCHES.items():
            _compare(text, how, brokers, options.runs, options.records)
    print(f"load average {load_average():.1f}")
    return 0


def _compare(text: str, how: Mapping[str, Any], brokers: Mapping[str, Shareq], runs: int, records: int) -> None:
    topic = f"records-{len(text)}"
    for broker in brokers.values():
        create_topic(broker.address, topic, PARTITIONS)
        keyed = {"topic": topic, "partitions": PARTITIONS, "records": records, "keys": KEYS}
        run_client(broker, "produce", keyed | dict(how))
    taken: dict[str, list[Sample]] = {name: [] for name in brokers}
    for run in range(-1, runs):  # the first one warms up
        for name in sorted(brokers, reverse=run % 2 == 0):
            group = f"{topic}-{run}"
            read_from_start(brokers[name].address, [group])
            sample = run_client(brokers[name], "share", {"topic": topic, "group": group, "records": records})
            if run >= 0:
                taken[name].append(sample)
                print(f"  {text}, {name}: {_line(sample)}", flush=True)
    for name, samples in taken.items():
        print(f"{text}, {name}, median:   {_line({key: median(each[key] for each in samples) for key in SHOWN})}")
        print(f"{text}, {name}, quickest: {_line({key: _best(key, samples) for key in SHOWN})}", flush=True)


def _best(key: str, samples: Sequence[Sample]) -> float:
    """Return the sample that a busy machine has disturbed least."""
    return (max if key == "rate" else min)(each[key] for each in samples)


def _line(sample: Sample) -> str:
    return ", ".join(form.format(sample[key]) for key, form in SHOWN.items())


def _built(commit: str, folder: Path) -> Path:
    """Return the packages of a commit, in a folder that can go in front of all others."""
    source, packages = folder / "source", folder / "packages"
    source.mkdir()
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x"], cwd=source, check=True, input=archive)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(packages), str(source)]
    subprocess.run(command, check=True)
    return packages


def _started(folder: Path, packages: Path | None, stack: ExitStack) -> Shareq:
    folder.mkdir()
    broker = Shareq(folder, packages=packages)
    stack.callback(broker.stop)
    broker.start()
    return broker


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.versions", description=__doc__)
    parser.add_argument("commit", help="what to compare with")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--records", type=int, default=1_000_000)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
