"""`make storage-kills`: a broker under mixed load, killed again and again. Exit code 1 for any anomaly."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

from devtools.documents import add_write_option, show_and_write
from tests.campaign.command import all_found, show
from tests.campaign.storage.kills import Round, RoundResult
from tests.campaign.storage.kills_report import BEGIN, END, markdown, write_json
from tests.campaign.storage.planted import VARIABLE, Fault

PLANTED_ROUNDS: Final = 5
PLANTED_KILLS: Final = 3


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.campaign.storage_kills", description=__doc__)
    parser.add_argument("--kills", type=int, default=50, help="in all (default 50)")
    parser.add_argument("--per-round", type=int, default=25, help="of one data folder (default 25)")
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no further round after so long")
    parser.add_argument("--seed", type=int, default=1, help="of the first round; each has the next (default 1)")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where folders of failed rounds are copied to")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result as JSON, too")
    add_write_option(parser, BEGIN, END)
    parser.add_argument(
        "--planted", action="store_true", help="instead: brokers with a planted fault, each to be found"
    )
    options = parser.parse_args(arguments)
    if options.planted:
        return _planted(options.seed)
    results: list[RoundResult] = []
    began, left = time.monotonic(), options.kills
    while left > 0 and time.monotonic() - began < options.minutes * 60:
        seed = options.seed + len(results)
        result = Round(seed, min(left, options.per_round), show=show, keep=options.keep).run()
        results.append(result)
        left -= options.per_round
        show(_reported(result))
    show_and_write(markdown(results), options.write, BEGIN, END)
    if options.json is not None:
        write_json(options.json, results)
    return 0 if all(one.sound for one in results) else 1


def _planted(seed: int) -> int:
    """Run rounds of a few kills of each faulty broker until its fault is found; return 1 if one is not."""
    return all_found({fault.value: partial(_found, fault) for fault in Fault}, seed, PLANTED_ROUNDS, PLANTED_KILLS)


def _found(fault: Fault, seed: int) -> list[str]:
    result = Round(
        seed, PLANTED_KILLS, module="tests.campaign.storage.planted", environment={VARIABLE: fault.name}
    ).run()
    found = sorted({anomaly.analysis.value for anomaly in result.anomalies})
    found += ["the broker does not start, and says why"] if result.refused else []
    for failure in result.failures[:1] if not found else []:
        show(f"  {failure[-300:]}")
    return found


def _reported(result: RoundResult) -> str:
    lines = [
        f"seed {result.seed}: {result.kills} kills, {result.operations:,} operations, "
        f"refused {result.refused}, anomalies {len(result.anomalies)}, {result.took_s:.0f} s"
    ]
    lines += [f"  {anomaly}" for anomaly in result.anomalies[:12]]
    lines += [f"  {failure}" for failure in result.failures[:5]]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
