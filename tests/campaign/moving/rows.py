"""The results of rounds: one move of one topic each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One round.

    `way`: source and target; `records`: the number written, `drained` of them done before the cut-over began. `kills`:
    the processes killed while the command ran, `runs` the number of its runs. `cut_over_s`: the longest that a run
    reports; `pause_s`: from the old side's last confirmation to the new side's first one. `pause_parts_s`: its seconds
    while a struck process was down, until the last run began, of that run, and after it. `code`: the commit; `counted`:
    other events by name; `broken`: breaches.
    """

    way: str = ""
    cell: str = ""
    seed: int = 0
    number: int = 0
    at: str = ""
    records: int = 0
    drained: int = 0
    lost: int = 0
    again: int = 0
    unlike: int = 0
    unknown: int = 0
    twice: int = 0
    hung: int = 0
    kills: int = 0
    runs: int = 0
    cut_over_s: float | None = None
    pause_s: float | None = None
    pause_parts_s: list[float] = field(default_factory=list)
    code: str = ""
    load: float = 0.0
    counted: Mapping[str, int] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)

    @property
    def was_carried_out(self) -> bool:
        """Return True if the move was judged; it is not if, for example, a process did not start in time."""
        return self.drained > 0
