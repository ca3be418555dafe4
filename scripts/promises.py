"""The promises of KIP-932, KIP-1191 and KIP-88, one row each, with the tests that show that they hold here.

The rows are in tests/unit/docs/promises/; `python scripts/promises.py` writes those that differ into
docs/evidence/kips.md.
"""

from __future__ import annotations

import sys
import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
ROWS: Final = ROOT / "tests" / "unit" / "docs" / "promises"
PAGE: Final = ROOT / "docs" / "evidence" / "kips.md"
KIPS: Final = (932, 1191, 88)

STATES: Final = {
    "done": "holds, and the named tests show it",
    "client": "a promise about clients: shown with a real one",
    "several brokers": "speaks of several brokers: shown by the core, with another as leader or coordinator",
    "as Kafka": "not as the KIP says, but as Apache Kafka 4.4.0 does",
    "differs": "differs from Apache Kafka 4.4.0 on purpose",
    "superseded": "the text of an older revision",
}
SHOWN_BY_TESTS: Final = {"done", "client", "several brokers"}
"""The states of promises that must name tests. Other states have a note, and may have no test."""

_BEGIN: Final = "<!-- made by scripts/promises.py: begin -->\n"
_END: Final = "<!-- made by scripts/promises.py: end -->\n"


@dataclass(frozen=True, slots=True)
class Promise:
    """A row of the table; `only_clients` says why only other people's clients can show the promise."""

    id: str
    promise: str
    state: str
    note: str = ""
    tests: tuple[str, ...] = ()
    only_clients: str = ""


def promises_of(text: str) -> list[Promise]:
    """Return the rows of a file; a field that no row has is a TypeError."""
    rows = [row for part in tomllib.loads(text)["part"] for row in part["promise"]]
    return [Promise(**{**row, "tests": tuple(row.get("tests", ()))}) for row in rows]


def read(kip: int) -> list[Promise]:
    return promises_of((ROWS / f"kip-{kip}.toml").read_text())


def result_of(promises: Sequence[Promise]) -> str:
    """Return the verdict on a KIP in one line."""
    count = Counter(row.state for row in promises)
    parts = {
        "hold": sum(count[state] for state in SHOWN_BY_TESTS),
        "as Apache Kafka": count["as Kafka"],
        "different": count["differs"],
        "superseded": count["superseded"],
    }
    return f"{len(promises)} promises: " + ", ".join(f"{number} {name}" for name, number in parts.items() if number)


def tables() -> str:
    """Return the part of the page that the rows make."""
    lines = [
        "| state | meaning | " + " | ".join(f"KIP-{kip}" for kip in KIPS) + " |",
        "| --- | --- |" + " --: |" * len(KIPS),
    ]
    rows = {kip: read(kip) for kip in KIPS}
    for state, meaning in STATES.items():
        counts = [str(sum(row.state == state for row in rows[kip])) for kip in KIPS]
        lines.append(f"| {state} | {meaning} | {' | '.join(counts)} |")
    return "\n".join([*lines, ""])


def page_of(before: str) -> str:
    """Return the page with newly made tables."""
    head, rest = before.split(_BEGIN)
    return head + _BEGIN + tables() + _END + rest.split(_END)[1]


def main() -> int:
    PAGE.write_text(page_of(PAGE.read_text()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
