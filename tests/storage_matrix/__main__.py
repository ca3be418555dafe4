"""`python -m tests.storage_matrix`: damages every kind of file in every way, and pairs of files.

The exit code is 1 if a cell is red.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import Counter

from tests.storage_matrix.cell import SAID, Verdict
from tests.storage_matrix.document import document
from tests.storage_matrix.life import make_templates
from tests.storage_matrix.matrix import MEMORY, Result, run_all
from tests.storage_matrix.pairs import PairResult, run_pairs


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.storage_matrix", description=__doc__)
    parser.add_argument("--write", metavar="FILE", help="write the document")
    parser.add_argument("--only", default="", metavar="TEXT", help="rows with this in kind, path or way to end")
    parser.add_argument("--few", type=int, default=0, metavar="N", help="every Nth damage of each file, and pair")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: one per core)")
    parser.add_argument("--verbose", action="store_true", help="print every start, not red ones alone")
    options = parser.parse_args(arguments)
    began = time.monotonic()
    results: list[Result] = []
    pairs: list[PairResult] = []
    with tempfile.TemporaryDirectory(dir=MEMORY if os.path.isdir(MEMORY) else None) as folder:
        templates = make_templates(f"{folder}/life")
        for row in run_all(templates, options.jobs, options.only, options.few):
            results += row
            for result in row:
                if options.verbose or result.verdict is Verdict.RED:
                    print(result.text, flush=True)
        for pair in run_pairs(templates, options.jobs, options.only, options.few):
            pairs.append(pair)
            if options.verbose or pair.verdict is Verdict.RED:
                print(pair.text, flush=True)
    counted = Counter([result.verdict for result in results] + [pair.verdict for pair in pairs])
    for verdict in Verdict:
        print(f"{counted[verdict]:>7,} {SAID[verdict]}")
    print(f"{len(results) + len(pairs):,} damaged folders, {time.monotonic() - began:.0f} s")
    if options.write:
        with open(options.write, "w", encoding="utf-8") as file:
            file.write(document(results, pairs))
    return 1 if counted[Verdict.RED] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
