"""`make cluster-kills`: nodes before a cluster, killed, stopped and cut off under working consumers.

Exit code 1 if a record was lost, was delivered again after its confirmation, or was confirmed, but is unfinished in the
state topic.

Rounds are kept in a file, and not repeated. Pauses that were too long are counted, and the machine's load is noted;
`--late-again` adds as many rounds.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from devtools.documents import add_write_option, show_and_write
from tests.campaign import results
from tests.campaign.cluster_kills.brokers import OURS
from tests.campaign.cluster_kills.campaign import Rounds
from tests.campaign.cluster_kills.cells import CELLS, Cell
from tests.campaign.cluster_kills.report import markdown
from tests.campaign.cluster_kills.rows import Row, of
from tests.campaign.command import show

BEGIN, END = "<!-- cluster kills: begin -->", "<!-- cluster kills: end -->"
MOST_BROKEN: Final = 3
"""The number of broken rounds after which a cell ends."""


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.campaign.cluster_kills", description=__doc__)
    parser.add_argument("--rounds", type=int, default=20, help="of each cell; 0: only show what there is (default 20)")
    parser.add_argument("--cell", action="append", choices=CELLS, help="only this one; may be given again")
    parser.add_argument(
        "--cluster", action="append", help="Apache Kafka of this version, three brokers, or ours, one (default)"
    )
    parser.add_argument("--seed", type=int, default=1, help="of the moments (default 1)")
    parser.add_argument("--at-once", type=int, default=2, help="scenes side by side (default 2)")
    parser.add_argument("--minutes", type=float, default=120.0, help="begin no round later (default 120)")
    parser.add_argument("--late-again", action="store_true", help="rounds with too long a pause do not count")
    parser.add_argument("--results", type=Path, default=Path(__file__).with_name("rounds.jsonl"), metavar="FILE")
    add_write_option(parser, BEGIN, END)
    options = parser.parse_args(arguments)
    until = [time.monotonic() + options.minutes * 60]
    signal.signal(signal.SIGTERM, lambda *_: until.__setitem__(0, 0.0))
    chosen = [CELLS[name] for name in options.cell or CELLS]
    known = results.read(options.results, Row)
    campaigns = [
        _Campaign(cell, cluster, options, known, lambda: time.monotonic() < until[0])
        for cluster in options.cluster or [OURS]
        for cell in chosen
        if cluster != OURS or not cell.three_brokers
    ]
    with ThreadPoolExecutor(options.at_once) as pool:
        list(pool.map(_Campaign.run, campaigns))
    found = results.read(options.results, Row)
    show_and_write(markdown(found, CELLS), options.write, BEGIN, END)
    return 1 if any(row.broken for row in found) else 0


class _Campaign:
    """The missing rounds of one cell with one cluster."""

    def __init__(
        self, cell: Cell, cluster: str, options: argparse.Namespace, known: Sequence[Row], in_time: Callable[[], bool]
    ) -> None:
        self._cell = cell
        self._cluster = cluster
        self._options = options
        self._rows = of(known, cell.name, cluster)
        self._in_time = in_time

    def run(self) -> None:
        rounds = Rounds(self._cell, self._cluster, self._options.seed)
        failures = 0
        while failures < MOST_BROKEN and self._goes_on():
            try:
                for row in rounds.run(len(self._rows) + 1, lambda _: self._goes_on()):
                    self._add(row)
                    failures += bool(row.broken)
            except Exception as error:
                show(f"{self._cell.name}, {self._cluster}: no scene: {type(error).__name__}: {error}")
                failures += 1

    def _goes_on(self) -> bool:
        counted = sum(not (self._options.late_again and row.is_late) for row in self._rows)
        return counted < self._options.rounds and self._in_time()

    def _add(self, row: Row) -> None:
        results.append(self._options.results, row)
        self._rows.append(row)
        pause = "no more" if row.pause_s is None else f"{row.pause_s:.1f} s"
        show(
            f"{row.cell}, {row.cluster}, {row.number}: {row.records:,} records, pause {pause}, load {row.load}"
            f"{f', {row.hung} hung' if row.hung else ''}{f', {row.note}' if row.note else ''}"
        )
        for line in row.broken:
            show(f"BROKEN {line}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
