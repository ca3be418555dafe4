"""`python -m tests.differential`: plays seeded sequences on shareq and on Apache Kafka. Exit code 1 for a mismatch."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from devtools.kafka.apache_kafka import why_unavailable
from tests.differential.campaign import Campaign
from tests.differential.report import Report, write_ignored, write_report
from tests.differential.steps import STEPS


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.differential", description=__doc__)
    parser.add_argument("seeds", type=int, nargs="?", default=500, help="how many (default 500)")
    parser.add_argument("--from", dest="first", type=int, default=0, metavar="N", help="the first seed (default 0)")
    parser.add_argument("--steps", type=int, default=STEPS, help=f"steps of each (default {STEPS})")
    parser.add_argument("--at-once", type=int, default=12, metavar="N", help="sequences side by side (default 12)")
    parser.add_argument("--verbose", action="store_true", help="print every step, and what did not repeat itself, too")
    parser.add_argument("--write", type=Path, metavar="FILE", help="put the result into a Markdown file, too")
    parser.add_argument("--write-ignored", type=Path, metavar="FILE", help="put what is not compared into another one")
    options = parser.parse_args(arguments)
    missing = why_unavailable()
    if missing is not None:
        print(f"skipped: {missing}")
        return 0
    seeds = range(options.first, options.first + options.seeds)
    with Campaign(options.at_once, steps=options.steps, show=lambda line: print(line, flush=True)) as campaign:
        outcomes = asyncio.run(campaign.run(seeds))
    report = Report.of(outcomes, options.steps, campaign.took_s)
    for each in report.disagreed if options.verbose else report.failures:
        print(each.reported(verbose=options.verbose), flush=True)
    print("\n".join(report.markdown()))
    if options.write is not None:
        write_report(options.write, report)
    if options.write_ignored is not None:
        write_ignored(options.write_ignored, report)
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
