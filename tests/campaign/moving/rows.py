"""The results of rounds: one move of one topic each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One round.

    `way`: from where to where; `records`: those that were written, `drained` of them done before the cut-over began.
    `kills`: what was killed while the command was at work, `runs` how often it ran. `cut_over_s`: the longest
    that a run speaks of; `pause_s`: from the last confirmation at the old side to the first at the new one.
    `pause_parts_s`: its seconds while what was struck was down, until the last run began, of that run, and behind it.
    `code`: the commit; `counted`: how often what else happened, by its name; `broken`: what must not be.
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
        """Return whether the move was judged; else a process did not start in time, say."""
        return self.drained > 0
