"""Declarations of metrics: each with its type, name, labels, help, and how it is read off its object."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from functools import partial
from itertools import accumulate
from typing import Any, Final, NamedTuple

from shareq.broker.foundation.durations import BOUNDS_NS, Durations

NS_PER_S: Final = 1_000_000_000
BOUNDS: Final = (*(f"{bound / NS_PER_S:g}" for bound in BOUNDS_NS), "+Inf")


class Kind(Enum):
    """A metric's type, as Prometheus calls it."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"
    SUMMARY = "summary"


COUNTER, GAUGE, HISTOGRAM, SUMMARY = Kind


class Distribution(NamedTuple):
    """The value of a histogram's or summary's sample. `buckets`: up to each of `BOUNDS` (cumulative)."""

    total: float
    number: int
    buckets: tuple[int, ...] = ()


Value = float | Distribution
Samples = Iterable[tuple[tuple[str, ...], Value]]  # the values of the labels, and the sample's
Row = tuple[tuple[str, ...], tuple[Value | None, ...]]
"""The values of the labels, and those of a table's metrics; None for one without a sample."""


class Family(NamedTuple):
    """One metric. `name` is complete, `labels` are in the order of the samples' values."""

    kind: Kind
    name: str
    labels: tuple[str, ...]
    text: str
    samples: Callable[[Rows], Samples]


class Table:
    """Metrics of one kind of thing, as of each topic: a row has a sample of each, read when the row is taken.

    A metric is its type, name and help, and a function from an object of the table to the value, None for no sample.
    Any: such a thing. Metrics without labels have one row; where nothing was used yet that could be read, it is of
    zeros.
    """

    def __init__(self, labels: tuple[str, ...], *metrics: tuple[Kind, str, str, Callable[[Any], Value | None]]) -> None:
        self._labels = labels
        self._readers = tuple(read for *_, read in metrics)
        self._zeros = tuple(zero(kind) for kind, *_ in metrics)
        self._families = tuple(
            Family(kind, name, labels, text, partial(self._samples, at))
            for at, (kind, name, text, _) in enumerate(metrics)
        )

    def __iter__(self) -> Iterator[Family]:
        return iter(self._families)

    def row(self, names: tuple[str, ...], thing: Any) -> Row:
        """Read the metrics of a thing that the labels name so."""
        return names, tuple(read(thing) for read in self._readers)

    def _samples(self, at: int, taken: Rows) -> Samples:
        rows = taken.get(self)
        if rows is None:
            return () if self._labels else [((), self._zeros[at])]
        return ((names, value) for names, values in rows if (value := values[at]) is not None)


Rows = Mapping[Table, Sequence[Row]]
"""The rows that a snapshot has taken."""


def itself(number: float) -> float:
    """Return the number itself, for metrics whose subject is a number."""
    return number


def zero(kind: Kind) -> Value:
    """Return the value of a sample where nothing has happened."""
    if kind is HISTOGRAM:
        return Distribution(0, 0, (0,) * len(BOUNDS))
    return Distribution(0, 0) if kind is SUMMARY else 0


def distribution(durations: Durations) -> Distribution:
    """Return the value of a histogram's sample, as it is now."""
    buckets = tuple(accumulate(durations.buckets))
    return Distribution(durations.total_ns / NS_PER_S, buckets[-1], buckets)
