"""The matrix as a document: one row for each kind of file, one column for each damage."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from tests.storage_matrix.cell import SAID, Verdict
from tests.storage_matrix.judge import Waiver
from tests.storage_matrix.matrix import DAMAGES, Result, worst
from tests.storage_matrix.pairs import FILES, PairResult

HEAD = """# What damage to its files does to a broker

Made by `python -m tests.storage_matrix --write docs/evidence/storage-matrix.md` (`make storage-matrix`); do not edit.

One data folder, of three topics, a compacted one, consumer and share groups, transactions, users and access control
lists, was left by a clean stop, a `kill -9` and a power loss (the machine started again; all that a log knows as synced
is there). In copies of it one file of each kind was damaged: bits flipped in several places, among them each field of a
batch's header; cut to nothing, in the middle and by a byte; overwritten by zeros, all of it and each half; removed;
replaced by older copies from the same life. Then the broker was started, everything that clients can find out was
compared with a start on the undamaged copy, every topic was written to, and the broker was stopped and started again.

* **whole**: it starts, nothing is lost.
* **reported**: it starts; what is lost was hit by the damage, nothing else is, and the log says so.
* **repair**: it refuses to start in one sentence; after `shareq verify DATA --repair` it starts, and nothing is lost.
* **repair, reported**: the same, and what is lost was hit.

Each cell is the worst of its variants and of the ways to end. A traceback, a loss of anything that was not hit, a loss
that is not reported, or a refusal without a repair that works would be **RED**. Letters stand for what is not held
against the broker, below. Second starts are not compared in lookups by time, which find the records written between.

Files that only a broker in the midst of something leaves are from a kill at that moment: the cleaner before each of its
renames (`.cleaned`, `.swap`), a topic's deletion before its first removal. Three were put there by hand: `.cut` (bytes
that a start had cut off), `.tmp` and `log-manifest.new` (files half written). A file of a kind that is not in the table
makes the run fail.
"""

SHORT = {
    Verdict.WHOLE: "whole",
    Verdict.LOST_WHAT_WAS_HIT: "reported",
    Verdict.REPAIRED: "repair",
    Verdict.REPAIRED_WITHOUT_WHAT_WAS_HIT: "repair, reported",
    Verdict.RED: "**RED**",
}


PAIRS = """## Pairs of files

Two files of the data folder itself were zeroed or removed together, in each of the four ways, after a clean stop and
after a power loss, and a real broker was started on what was left, as a process, and used over the network: every
topic had to be there and to take and give a record. When it refused, no other file may have changed (but for `meta.db`,
which SQLite changes by looking); the command in its one sentence was run as it stands, had to end with exit code 0 and
to say what is lost, and the broker was started again. After its stop everything was compared as above, but for
producers' states, which a broker of today has forgotten. Cells as above, each the worst of four or eight.
"""


def document(results: Sequence[Result], pairs: Sequence[PairResult]) -> str:
    """All of it, in Markdown."""
    counted = Counter(result.verdict for result in results)
    sums = ", ".join(f"{counted[verdict]:,} {SAID[verdict]}" for verdict in Verdict)
    parts = (*_table(results), "", *_pairs(pairs), "", *_waived(results), "", *_reported(results), "")
    return "\n".join((HEAD, f"{len(results):,} damaged folders: {sums}.", "", *parts))


LETTERS = {waiver: chr(ord("a") + at) for at, waiver in enumerate(Waiver)}


def _waived(results: Sequence[Result]) -> Iterable[str]:
    """Yield a table of the waivers: each one, its reason, and how often it was needed."""
    counted = Counter(waiver for result in results for waiver in result.waived)
    yield "## What is not held against the broker"
    yield ""
    yield "| | damaged folders | what, and why |"
    yield "|---|---|---|"
    for waiver, letter in LETTERS.items():
        yield f"| {letter} | {counted[waiver]} | {waiver.value}. |"


def _table(results: Iterable[Result]) -> Iterable[str]:
    cells: defaultdict[tuple[str, str], list[Result]] = defaultdict(list)
    for result in results:
        cells[result.kind, result.damage].append(result)
    yield "| file | " + " | ".join(DAMAGES) + " |"
    yield "|---" * (len(DAMAGES) + 1) + "|"
    for kind in dict.fromkeys(kind for kind, _ in cells):
        row = [_cell(cells[kind, name]) if (kind, name) in cells else "" for name in DAMAGES]
        yield f"| {kind} | " + " | ".join(row) + " |"


def _pairs(results: Sequence[PairResult]) -> Iterable[str]:
    refused = [result for result in results if result.refusal]
    starts = len(results) - len(refused)
    red = sum(result.verdict is Verdict.RED for result in results)
    repaired = sum(result.verdict is not Verdict.RED for result in refused)
    cells: defaultdict[tuple[str, str], list[Verdict]] = defaultdict(list)
    for result in results:
        cells[result.pair.files].append(result.verdict)
    yield PAIRS
    yield (
        f"{len(cells)} pairs, {len(results)} damaged folders: {starts} starts, {len(refused)} refusals, {repaired} of "
        f"them repaired by the command that they name, {red} RED."
    )
    yield ""
    names = [name for name in FILES if any(name in files for files in cells)]
    yield "| | " + " | ".join(names[1:]) + " |"
    yield "|---" * len(names) + "|"
    for name in names[:-1]:
        row = [SHORT[max(cells[name, other])] if (name, other) in cells else "" for other in names[1:]]
        yield f"| {name} | " + " | ".join(row) + " |"
    yield ""
    yield "What is said where something is lost, or a start refused:"
    yield ""
    said = {(result.refusal, result.reported) for result in results if result.refusal or result.reported}
    for refusal, reported in sorted(
        {(_without_numbers(refusal), _without_numbers(reported)) for refusal, reported in said}
    ):
        yield f"* {' -- '.join(filter(None, (refusal, reported)))}"


def _cell(results: Sequence[Result]) -> str:
    letters = "".join(letter for waiver, letter in LETTERS.items() if any(waiver in each.waived for each in results))
    return SHORT[worst(results).verdict] + (f" ({letters})" if letters else "")


def _reported(results: Iterable[Result]) -> Iterable[str]:
    """Yield how each kind of file's damage is reported: one sentence of each kind, with its numbers left out."""
    yield "## How it is reported"
    yield ""
    yield "One line of the log, or the refusal, for each; `#` stands for numbers and names that are random."
    yield ""
    reported: dict[str, dict[str, None]] = {}
    for result in results:
        if result.reported:
            reported.setdefault(result.kind, {})[_without_numbers(result.reported)] = None
    for kind, lines in reported.items():
        yield f"* {kind}"
        for line in lines:
            yield f"  * {line}"


def _without_numbers(line: str) -> str:
    return re.sub(r"\b(?:[0-9a-f]{32}|\d+)\b", "#", line.replace("\n", " "))
