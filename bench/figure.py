"""Figures: rows of the table, and their measurement on one broker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from bench.stage import Stage

Sample = dict[str, float]


@dataclass(frozen=True, slots=True)
class Target:
    """A target for the ratio shareq / Apache Kafka, or for shareq's own value."""

    of: Literal["ratio", "value"]
    relation: Literal["<=", ">="]
    bound: float

    def met(self, value: float, ratio: float | None) -> bool | None:
        """Return whether the target is met; None without a ratio to judge by."""
        judged = value if self.of == "value" else ratio
        if judged is None:
            return None
        return judged <= self.bound if self.relation == "<=" else judged >= self.bound


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table. `key` names the value in a sample; `form` is a format string with the unit.

    `on_page`: whether a page shows it, not only a run's output.
    """

    key: str
    label: str
    form: str
    target: Target | None = None
    on_page: bool = True


@dataclass(frozen=True, slots=True)
class Scale:
    """The sizes of all figures. Figures are repeated and the median is reported."""

    repeats: int
    records: int  # of the throughput figures
    requests: int  # pipelined produce
    mixed_records: int
    round_trips: int
    fresh_groups: int
    starts: int
    idle_seconds: float
    warm_up: bool  # whether each figure runs once, quickly, before it counts


FULL = Scale(
    repeats=3,
    records=1_000_000,
    requests=60_000,
    mixed_records=120_000,
    round_trips=2000,
    fresh_groups=5,
    starts=5,
    idle_seconds=20.0,
    warm_up=True,
)
QUICK = Scale(
    repeats=1,
    records=300_000,
    requests=10_000,
    mixed_records=20_000,
    round_trips=300,
    fresh_groups=1,
    starts=1,
    idle_seconds=5.0,
    warm_up=False,
)


class Figure(Protocol):
    """A module of `bench.figures`."""

    ROWS: tuple[Row, ...]
    REPEATED: bool  # False: takes its own median within one call, and needs no warm-up

    def measure(self, stage: Stage, scale: Scale) -> Sample: ...
