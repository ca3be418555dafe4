"""The results of rounds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One round.

    `hung`: consumers whose call did not return; `replaced`: 1 if all were replaced because unfinished work stood still.
    `pause_s`: the longest time without a confirmation, None if the work never resumed; `pauses_s`: the same by kind of
    client. `load`: the machine's load over the last minute. `broken`: the faults, except for too long a pause.
    """

    cell: str
    cluster: str
    seed: int
    number: int
    at: str
    records: int = 0
    lost: int = 0
    again: int = 0
    unlike: int = 0
    twice: int = 0
    unknown: int = 0
    hung: int = 0
    replaced: int = 0
    pause_s: float | None = None
    within_s: float
    load: float
    note: str = ""
    broken: list[str] = field(default_factory=list)
    errors: Mapping[str, int] = field(default_factory=dict)
    pauses_s: Mapping[str, float | None] = field(default_factory=dict)

    @property
    def was_carried_out(self) -> bool:
        """Return whether records were sent and judged; if not, a process did not start in time, for example."""
        return self.records > 0

    @property
    def is_late(self) -> bool:
        return self.pause_s is None or self.pause_s > self.within_s


def of(rows: Iterable[Row], cell: str, cluster: str) -> list[Row]:
    return [row for row in rows if (row.cell, row.cluster) == (cell, cluster)]
