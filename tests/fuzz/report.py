"""The outcomes of frames, by RPC."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from shareq.broker.dispatch.table import HANDLERS
from tests.fuzz.oracle import Outcome

COLUMNS: Final = (
    ("frames", tuple(Outcome)),
    ("without error", (Outcome.NONE,)),
    ("with errors", (Outcome.ERRORS,)),
    ("closed", (Outcome.CLOSED,)),
    ("no answer due", (Outcome.SILENT,)),
    ("not looked at", (Outcome.BEHIND, Outcome.ODD_SIZE)),
)


def table(counts: Mapping[tuple[str, bool, Outcome], int]) -> str:
    """Return a row for each RPC, in Markdown.

    "Not bent" counts the frames of the previous column that were not mutated.
    """
    heads = [head for head, _ in COLUMNS]
    heads.insert(2, "of these not bent")
    lines = ["| RPC | " + " | ".join(heads) + " |", "| --- |" + " ---: |" * len(heads)]
    for api in HANDLERS:
        cells = [sum(_of(counts, api.name, outcome) for outcome in outcomes) for _, outcomes in COLUMNS]
        cells.insert(2, counts.get((api.name, False, Outcome.NONE), 0))
        lines.append(f"| {api.name} | " + " | ".join(f"{cell:,}" for cell in cells) + " |")
    return "\n".join(lines)


def never_right(counts: Mapping[tuple[str, bool, Outcome], int]) -> list[str]:
    """Return the RPCs whose answers all had errors, so that only their first checks ran."""
    return [api.name for api in HANDLERS if not _of(counts, api.name, Outcome.NONE)]


def totals(counts: Mapping[tuple[str, bool, Outcome], int]) -> str:
    by_outcome = Counter[Outcome]()
    for (_, _, outcome), number in counts.items():
        by_outcome[outcome] += number
    return ", ".join(f"{by_outcome[outcome]:,} {outcome.value}" for outcome in Outcome)


def _of(counts: Mapping[tuple[str, bool, Outcome], int], api: str, outcome: Outcome) -> int:
    return counts.get((api, True, outcome), 0) + counts.get((api, False, outcome), 0)
