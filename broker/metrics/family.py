"""Declarations of metrics: type, name, labels, help text, and the function that reads the value from an object."""

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
    """The value of a histogram's or summary's sample. `buckets` has the counts up to each of `BOUNDS` (cumulative)."""

    total: float
    number: int
    buckets: tuple[int, ...] = ()


Value = float | Distribution
Samples = Iterable[tuple[tuple[str, ...], Value]]  # the values of the labels, and the sample's
Row = tuple[tuple[str, ...], tuple[Value | None, ...]]
"""The values of the labels, and the values of a table's metrics; None for a metric without a sample."""


class Family(NamedTuple):
    """One metric. `name` is complete; `labels` are in the order of the values in a sample."""

    kind: Kind
    name: str
    labels: tuple[str, ...]
    text: str
    samples: Callable[[Rows], Samples]


class Table:
    """Metrics of one kind of object, such as topics: a row has one sample of each metric, read when the row is
    added.

    A metric has a type, a name, a help text, and a function that returns its value for an object, None for no
    sample. Metrics without labels have one row; it has zeros if the object does not exist yet.
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
        """Return the row of an object, with these values of the labels."""
        return names, tuple(read(thing) for read in self._readers)

    def _samples(self, at: int, taken: Rows) -> Samples:
        rows = taken.get(self)
        if rows is None:
            return () if self._labels else [((), self._zeros[at])]
        return ((names, value) for names, values in rows if (value := values[at]) is not None)


Rows = Mapping[Table, Sequence[Row]]
"""The rows collected in a snapshot."""


def itself(number: float) -> float:
    """Return the number itself, for tables whose object is a number."""
    return number


def zero(kind: Kind) -> Value:
    """Return the value of a sample when nothing has been counted."""
    if kind is HISTOGRAM:
        return Distribution(0, 0, (0,) * len(BOUNDS))
    return Distribution(0, 0) if kind is SUMMARY else 0


def distribution(durations: Durations) -> Distribution:
    """Return the present value of a histogram's sample."""
    buckets = tuple(accumulate(durations.buckets))
    return Distribution(durations.total_ns / NS_PER_S, buckets[-1], buckets)
