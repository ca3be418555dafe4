"""`make moving`:

`shareq migrate` moves topics and groups' progress to another cluster, under members at work and kills.

The command, the source or the target is killed. Exit code 1 if a record was lost, was delivered again after its
confirmation, or lost its failed attempts. Rounds are kept in rounds.jsonl here, which is committed with the table, and
not repeated.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from devtools.documents import add_write_option, show_and_write
from tests.campaign import results
from tests.campaign.command import show
from tests.campaign.moving.campaign import rounds
from tests.campaign.moving.cells import CELLS, USUAL, WAYS, Cell
from tests.campaign.moving.report import markdown
from tests.campaign.moving.rows import Row
from tests.campaign.moving.scene import Way

BEGIN, END = "<!-- moving: begin -->", "<!-- moving: end -->"
MOST_BROKEN: Final = 3
"""The number of broken rounds after which a way ends."""


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.campaign.moving", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="of each cell; 0: only show what there is (default 3)")
    parser.add_argument("--way", action="append", choices=WAYS, help="only this one; may be given again")
    parser.add_argument("--cell", action="append", choices=CELLS, help="only this one; may be given again")
    parser.add_argument("--records", type=int, help="at most so many; those of the cell without")
    parser.add_argument("--seed", type=int, default=1, help="of the moments (default 1)")
    parser.add_argument("--minutes", type=float, default=120.0, help="begin no round later (default 120)")
    parser.add_argument("--results", type=Path, default=Path(__file__).with_name("rounds.jsonl"), metavar="FILE")
    add_write_option(parser, BEGIN, END)
    options = parser.parse_args(arguments)
    until = [time.monotonic() + options.minutes * 60]
    signal.signal(signal.SIGTERM, lambda *_: until.__setitem__(0, 0.0))
    for name in options.way or USUAL:
        way = WAYS[name]
        cells = [cell for cell in map(CELLS.__getitem__, options.cell or CELLS) if cell.is_on(way)]
        failures = 0
        while failures < MOST_BROKEN and (wanted := _missing(way, cells, options)) and time.monotonic() < until[0]:
            try:
                for row in rounds(way, options.seed, wanted, options.records):
                    results.append(options.results, row)
                    _show(row)
                    failures += bool(row.broken)
                    if time.monotonic() > until[0]:
                        break
            except Exception as error:
                show(f"{name}: no scene: {type(error).__name__}: {error}")
                failures += 1
    found = results.read(options.results, Row)
    show_and_write(markdown(found, WAYS, CELLS), options.write, BEGIN, END)
    return 1 if any(row.broken for row in found) else 0


def _missing(way: Way, cells: Sequence[Cell], options: argparse.Namespace) -> list[tuple[Cell, int]]:
    """Return the cells and numbers of rounds that the file lacks, round by round over all cells."""
    found = [row for row in results.read(options.results, Row) if row.was_carried_out]
    there = {cell.name: sum((row.way, row.cell) == (way.name, cell.name) for row in found) for cell in cells}
    return [(cell, number) for number in range(1, options.rounds + 1) for cell in cells if number > there[cell.name]]


def _show(row: Row) -> None:
    cut_over = "no cut-over" if row.cut_over_s is None else f"cut-over {row.cut_over_s:.1f} s"
    show(
        f"{row.way}: {row.cell}, {row.number}: {row.records:,} records, {row.drained:,} drained before, {cut_over}, "
        f"{row.kills} kills in {row.runs} runs, load {row.load}"
    )
    for line in row.broken:
        show(f"BROKEN {line}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
