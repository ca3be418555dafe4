"""Makes docs/evidence/README.md, the page of verdicts, from docs/evidence/verdicts.toml: `python
scripts/verdicts.py`.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
EVIDENCE: Final = ROOT / "docs" / "evidence"
ROWS: Final = EVIDENCE / "verdicts.toml"
PAGE: Final = EVIDENCE / "README.md"

_HEAD: Final = """\
# Evidence

Made by `python scripts/verdicts.py` from [verdicts.toml](verdicts.toml); do not edit. Each claim links to its page, and
is followed by the last result, the command that repeats the test, the tested commit (after "by": the commit that
recorded the result) and the machine. [Benchmarks](../benchmarks.md) compare speed with Apache Kafka's.
"""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A claim, the command that tests it, and its last result. Optional texts are empty."""

    claim: str
    command: str
    result: str
    commit: str = ""
    written: str = ""
    machine: str = ""
    page: str = ""

    @property
    def row(self) -> str:
        claim = f"[{self.claim}]({self.page})" if self.page else self.claim
        command = f"`{self.command}`" if self.command else "by hand"
        commit = f"`{self.commit}`" if self.commit else f"by `{self.written}`"
        how = ", ".join(part for part in (command, commit, self.machine) if part)
        return f"* {claim} {self.result[:1].upper()}{self.result[1:]} ({how})"


@dataclass(frozen=True, slots=True)
class Verdicts:
    """The verdicts by the titles of their lists, and the meanings of the machines' names."""

    parts: dict[str, tuple[Verdict, ...]]
    machines: dict[str, str]

    def __iter__(self) -> Iterator[Verdict]:
        return (verdict for verdicts in self.parts.values() for verdict in verdicts)


def read(text: str) -> Verdicts:
    """Return the rows; a row with an unknown or a missing field is a TypeError."""
    data = tomllib.loads(text)
    parts = {part["title"]: tuple(Verdict(**row) for row in part["verdict"]) for part in data["part"]}
    return Verdicts(parts, data["machines"])


def page_of(verdicts: Verdicts) -> str:
    lines = [_HEAD]
    machines = "; ".join(f"*{name}*: {machine}" for name, machine in verdicts.machines.items())
    lines.append(f"{machines}.\n")
    for title, rows in verdicts.parts.items():
        lines += [f"## {title}\n", *(verdict.row for verdict in rows), ""]
    return "\n".join(lines)


def main() -> int:
    PAGE.write_text(page_of(read(ROWS.read_text())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
