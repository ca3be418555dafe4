"""`make crash-images`: a broker started on the files that kills and power losses leave. Exit code 1 for anomalies."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from devtools.documents import add_write_option, show_and_write
from tests.campaign.storage.images import EACH_WRITE_SYNCED, ImageResult, Images, Kind, record, share_of
from tests.campaign.storage.images_report import BEGIN, END, markdown, write_json
from tests.campaign.storage.trace import why_not_here


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.campaign.crash_images", description=__doc__)
    parser.add_argument("--images", type=int, default=50, help="in all (default 50)")
    parser.add_argument("--per-run", type=int, default=50, help="of one traced run (default 50)")
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no further run after so long")
    parser.add_argument("--seconds", type=float, default=3, help="of each life of the broker in a run (default 3)")
    parser.add_argument("--lives", type=int, default=3, help="of the broker in a run (default 3)")
    parser.add_argument("--seed", type=int, default=1, help="of the first run (default 1)")
    parser.add_argument("--kind", choices=[kind.name for kind in Kind], action="append", help="default: all")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where images that fail are copied to")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result as JSON, too")
    add_write_option(parser, BEGIN, END)
    options = parser.parse_args(arguments)
    if (why := why_not_here()) is not None:
        print(f"skipped: {why}")
        return 0
    kinds = [kind for kind in Kind if options.kind is None or kind.name in options.kind]
    began, results, seed = time.monotonic(), list[ImageResult](), options.seed
    while len(results) < options.images and time.monotonic() - began < options.minutes * 60:
        results += _run(options, seed, kinds, min(options.per_run, options.images - len(results)))
        seed += 1
    lines = markdown(results, time.monotonic() - began)
    show_and_write(lines, options.write, BEGIN, END)
    if options.json is not None:
        write_json(options.json, results)
    return 0 if all(one.sound for one in results) else 1


def _run(options: argparse.Namespace, seed: int, kinds: Sequence[Kind], count: int) -> list[ImageResult]:
    """Trace two runs, one with every write synced and one with the defaults, and check the images of both."""
    results = []
    counts = share_of(kinds, count)
    for synced in (True, False):
        own = [kind for kind in kinds if kind.synced is synced]
        if not own:
            continue
        folder = Path(tempfile.mkdtemp(prefix="shareq-trace-"))
        try:
            run = record(folder, seed, options.lives, options.seconds, EACH_WRITE_SYNCED if synced else {})
            print(f"seed {seed}: {len(run.history.operations):,} operations {''.join(run.failures)}", flush=True)
            images = Images(run, seed, options.keep)
            for kind in own:
                for one in images.check(kind, counts[kind]):
                    results.append(one)
                    _show(one)
            if images.unlike:
                print(f"  unlike the trace after a kill: {sorted(set(images.unlike))[:8]}", flush=True)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return results


def _show(one: ImageResult) -> None:
    if one.refused or one.anomalies:
        print(f"{one.kind.name} seed {one.seed} number {one.number}: {len(one.anomalies)} anomalies", flush=True)
        for line in [one.refused[-600:]] if one.refused else []:
            print(f"  refused, repaired {one.repaired}: {line}", flush=True)
        for anomaly in one.anomalies[:4]:
            print(f"  {anomaly}", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
