"""`python -m tests.spark.kills`: Spark's kill matrix, on shareq or Apache Kafka 4.3.1. Exit code 1 when one fails."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from devtools.documents import write_between
from devtools.kafka.apache_kafka import KAFKA_VERSION
from devtools.provenance import commit, machine
from tests.interop.support.broker_under_test import Kind, why_unavailable_here
from tests.spark.kills.campaign import Campaign
from tests.spark.kills.cells import CHOSEN, all_cells, select
from tests.spark.kills.report import Facts, markdown

BROKERS: dict[Kind, str] = {"ours": "shareq", "apache": f"Apache Kafka {KAFKA_VERSION}"}
AHEAD = 3
"""The number of cells before one that kills the driver, at which the next driver is started in advance."""
RUNS = ("broker", "coordinator", "protocol", "devtools", "client", "spark", "tests/spark", "tests/interop/support")


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.spark.kills", description=__doc__)
    parser.add_argument("--broker", choices=list(BROKERS), default="ours", help="who serves (default ours)")
    parser.add_argument("--cells", nargs="+", metavar="PATTERN", help="'runner@*', '*/log/member' ...; default all")
    parser.add_argument("--chosen", action="store_true", help="the eight cells that every change is tried on")
    parser.add_argument("--list", action="store_true", help="names of the cells, and what 'at' means for them")
    parser.add_argument(
        "--seed", type=int, default=1, help="of sizes, and of how queries are started again (default 1)"
    )
    parser.add_argument("--write", type=Path, metavar="FILE", help="put the table into a Markdown file, too")
    options = parser.parse_args(arguments)
    cells = list(CHOSEN) if options.chosen else select(options.cells or ["*"], all_cells())
    if options.list:
        print("\n".join(f"{cell.name:<40} {cell.remark or ''}".rstrip() for cell in cells))
        return 0
    missing = why_unavailable_here(options.broker)
    if missing is not None:
        print(f"skipped: {missing}")
        return 0
    began = time.monotonic()
    outcomes = []
    with Campaign(options.broker, options.seed) as campaign:
        for number, cell in enumerate(cells, 1):
            campaign.expect(cells[number - 1 : number + AHEAD])
            outcomes.append(campaign.play(cell))
            print(f"{number:>3}/{len(cells)} {outcomes[-1].line()}", flush=True)
    facts = Facts(
        BROKERS[options.broker],
        options.seed,
        commit(*RUNS),
        machine(),
        f"{datetime.now(UTC):%Y-%m-%d}",
        time.monotonic() - began,
    )
    lines = markdown(outcomes, facts)
    print("\n".join(lines))
    if options.write is not None:
        write_between(options.write, f"<!-- {options.broker} -->", f"<!-- end of {options.broker} -->", lines)
    return 0 if all(one.passed for one in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
