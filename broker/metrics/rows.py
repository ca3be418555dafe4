"""The rows of samples in one scrape. Each row shows one moment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from shareq.broker.groups.ports import EndedLog
    from shareq.broker.metrics.family import Family, Row, Table
    from shareq.broker.services import Services

Ends = Mapping[tuple[str, int], "EndedLog"]
"""The logs that were used, by topic and partition."""

K = TypeVar("K", bound=Hashable)


class Snapshot:
    """All collected rows, by table."""

    def __init__(self) -> None:
        self.rows: dict[Table, list[Row]] = {}

    def take(self, table: Table, names: tuple[str, ...], thing: Any) -> None:
        """Add the row of an object, with these values of the labels."""
        self.rows.setdefault(table, []).append(table.row(names, thing))

    def count(self, table: Table, counts: Counter[K], names: Iterable[tuple[str, K]]) -> None:
        """Add a row for each name, with the number of events counted for it."""
        for name, each in names:
            self.take(table, (name,), counts[each])

    def lists(self) -> list[list[Row]]:
        return list(self.rows.values())


class GroundMetrics(Protocol):
    """The ground's module of metrics (`Ground.metrics`)."""

    @property
    def FAMILIES(self) -> tuple[Family, ...]:
        """Every metric of a broker on this ground, including those that all brokers have (`families_with`)."""

    async def take(self, into: Snapshot, services: Services) -> Ends:
        """Add the rows of the ground; return the logs whose lags are computed."""
