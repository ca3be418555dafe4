"""The matrix as a document: one row for each kind of file, one column for each damage."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from tests.storage_matrix.cell import SAID, Verdict
from tests.storage_matrix.judge import Waiver
from tests.storage_matrix.matrix import DAMAGES, Result, worst
from tests.storage_matrix.pairs import PairResult

HEAD = """# What damage to its files does to a broker

Made by `python -m tests.storage_matrix --write docs/evidence/storage-matrix.md` (`make storage-matrix`); do not edit.

A data folder with topics, groups of all kinds, transactions, users and ACLs was left by a clean stop, a `kill -9`, a
power loss, and kills during a cleaning and a deletion. In copies one file of each kind was damaged in many places. The
broker was started, all that clients can find out was compared with a start on the undamaged copy, every topic was
written to, and the broker was started again.

* **whole**: it starts, nothing is lost.
* **reported**: it starts; what is lost was hit by the damage, nothing else is, and the log says so.
* **repair**: it refuses to start; after the command that it names it starts, and nothing is lost.
* **repair, reported**: the same, and what is lost was hit.
* **RED**: a traceback, another loss, a loss that is not reported, or a refusal without a repair that works.

Each cell is the worst of its variants; an empty one was not tried. Letters are explained below.
"""

SHORT = {
    Verdict.WHOLE: "whole",
    Verdict.LOST_WHAT_WAS_HIT: "reported",
    Verdict.REPAIRED: "repair",
    Verdict.REPAIRED_WITHOUT_WHAT_WAS_HIT: "repair, reported",
    Verdict.RED: "**RED**",
}


PAIRS = """## Pairs of files

Two files of the data folder itself were zeroed or removed together, after a clean stop and a power loss. After a
refusal no other file may have changed, and the command that it names had to succeed and to say what is lost.
"""


def document(results: Sequence[Result], pairs: Sequence[PairResult]) -> str:
    counted = Counter(result.verdict for result in results)
    sums = ", ".join(f"{counted[verdict]:,} {SAID[verdict]}" for verdict in Verdict)
    parts = (*_table(results), "", *_pairs(pairs), "", *_waived(results), "")
    return "\n".join((HEAD, f"{len(results):,} damaged folders: {sums}.", "", *parts))


LETTERS = {waiver: chr(ord("a") + at) for at, waiver in enumerate(Waiver)}


def _waived(results: Sequence[Result]) -> Iterable[str]:
    """Yield a table of the waivers: each with its reason, and the number of folders that needed it."""
    counted = Counter(waiver for result in results for waiver in result.waived)
    yield "## What is not held against the broker"
    yield ""
    yield "| | damaged folders | what, and why |"
    yield "|---|---|---|"
    for waiver, letter in LETTERS.items():
        yield f"| {letter} | {counted[waiver]} | {waiver.value}. |"


def _table(results: Iterable[Result]) -> Iterable[str]:
    """Yield the kinds of file that no damage harms, and a table of the others, which joins equal rows."""
    cells: defaultdict[tuple[str, str], list[Result]] = defaultdict(list)
    for result in results:
        cells[result.kind, result.damage].append(result)
    kinds: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for kind in dict.fromkeys(kind for kind, _ in cells):
        row = tuple(_cell(cells[kind, name]) if (kind, name) in cells else "" for name in DAMAGES)
        kinds[row if set(row) - {SHORT[Verdict.WHOLE], ""} else ()].append(kind)
    yield f"**whole** whatever was done to them: {_listed(kinds.pop((), []))}."
    yield ""
    yield "| file | " + " | ".join(DAMAGES) + " |"
    yield "|---" * (len(DAMAGES) + 1) + "|"
    for row, names in kinds.items():
        yield f"| {_listed(names)} | " + " | ".join(row) + " |"


def _listed(kinds: Iterable[str]) -> str:
    files: defaultdict[str, list[str]] = defaultdict(list)
    for kind in kinds:
        folder, colon, file = kind.rpartition(": ")
        name, _, segment = file.partition(", ")
        files[folder + colon].append(f"{name} ({segment})" if segment else name)
    return "; ".join(folder + ", ".join(names) for folder, names in files.items())


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
    for verdict in Verdict:
        names = [f"{one} and {other}" for (one, other), found in cells.items() if max(found) is verdict]
        listed = f"{len(names)} pairs" if verdict is Verdict.WHOLE else "; ".join(names)
        if names:
            yield f"* **{SHORT[verdict].strip('*')}**: {listed}"


def _cell(results: Sequence[Result]) -> str:
    letters = "".join(letter for waiver, letter in LETTERS.items() if any(waiver in each.waived for each in results))
    return SHORT[worst(results).verdict] + (f" ({letters})" if letters else "")
