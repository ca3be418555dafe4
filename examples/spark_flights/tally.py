"""Joins Spark's output with the other member's work, by carrier."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple


class Place(NamedTuple):
    """A record's partition and offset, and its carrier."""

    partition: int
    offset: int
    carrier: str


@dataclass(frozen=True, slots=True)
class Row:
    """One carrier. `counted` is from the streaming aggregation, which has a share group of its own."""

    carrier: str
    produced: int
    spark: int
    other: int
    both: int
    counted: int

    @property
    def missing(self) -> int:
        """The flights that were produced and processed by no member."""
        return self.produced - (self.spark + self.other - self.both)

    @property
    def holds(self) -> bool:
        return self.missing == 0 and self.counted == self.produced


@dataclass(frozen=True, slots=True)
class Tally:
    """All carriers, the most flights first. `twice`: rows of Spark's table that repeat an earlier row's record."""

    rows: Sequence[Row]
    twice: int

    @property
    def total(self) -> Row:
        rows = self.rows
        return Row(
            "all",
            sum(row.produced for row in rows),
            sum(row.spark for row in rows),
            sum(row.other for row in rows),
            sum(row.both for row in rows),
            sum(row.counted for row in rows),
        )

    @property
    def holds(self) -> bool:
        return self.twice == 0 and bool(self.rows) and all(row.holds for row in self.rows)


def tally(
    produced: Mapping[str, int], table: Iterable[Place], worked_on: Iterable[Place], counted: Mapping[str, int]
) -> Tally:
    """Count flights: `produced` and `counted` are by carrier; the other member may have had a record more than once."""
    rows = list(table)
    spark, other = set(rows), set(worked_on)
    in_spark, with_other, in_both = (
        Counter(place.carrier for place in places) for places in (spark, other, spark & other)
    )
    carriers = sorted({*produced, *counted, *in_spark, *with_other}, key=lambda name: -produced.get(name, 0))
    return Tally(
        [
            Row(
                carrier,
                produced.get(carrier, 0),
                in_spark[carrier],
                with_other[carrier],
                in_both[carrier],
                counted.get(carrier, 0),
            )
            for carrier in carriers
        ],
        twice=len(rows) - len(spark),
    )


def read_table(folder: Path) -> list[Place]:
    """Return all rows of the Parquet files below a folder, repetitions included."""
    from pyarrow import parquet

    places: list[Place] = []
    for path in sorted(folder.glob("batch=*/*.parquet")):
        columns = parquet.read_table(path, columns=list(Place._fields), partitioning=None).to_pydict()
        places += map(Place, *(columns[name] for name in Place._fields))
    return places


@dataclass(slots=True)
class Journal:
    """The records that the other member has worked on, in the order in which it got them."""

    path: Path
    places: list[Place] = field(default_factory=list)
    _position: int = 0

    def read(self) -> int:
        """Read every complete line written since the last call. Return the number of records so far."""
        if self.path.exists():
            with self.path.open("rb") as file:
                file.seek(self._position)
                for line in file:
                    if line.endswith(b"\n"):
                        self._position += len(line)
                        self.places += [Place(*record) for record in json.loads(line)]
        return len(self.places)
