"""What a metric is: its name, and where its samples are in a snapshot."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from itertools import accumulate
from operator import attrgetter
from typing import Any, Final, NamedTuple

from shareq.broker.foundation.durations import BOUNDS_NS
from shareq.broker.metrics.rows import Snapshot, Timings

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


class Family(NamedTuple):
    """One metric. `name` is complete, `labels` are in the order of the samples' values."""

    kind: Kind
    name: str
    labels: tuple[str, ...]
    text: str
    samples: Callable[[Snapshot], Samples]


def single(kind: Kind, name: str, text: str, value: Callable[[Snapshot], Value | None]) -> Family:
    """A metric without labels; without a sample while the value is None."""

    def samples(snapshot: Snapshot) -> list[tuple[tuple[str, ...], Value]]:
        sample = value(snapshot)
        return [] if sample is None else [((), sample)]

    return Family(kind, name, (), text, samples)


def for_each(
    rows: str, labels: tuple[str, ...], *metrics: tuple[Kind, str, str, Callable[[Any], Value | None]]
) -> tuple[Family, ...]:
    """Metrics with a sample for each row of that list of the snapshot, unless the value is None.

    The row's first fields are the labels' values. Any: a row of that list.
    """
    rows_of, width = attrgetter(rows), len(labels)

    def family(kind: Kind, name: str, text: str, value_of: Callable[[Any], Value | None]) -> Family:
        def samples(snapshot: Snapshot) -> Samples:
            for row in rows_of(snapshot):
                value = value_of(row)
                if value is not None:
                    yield row[:width], value

        return Family(kind, name, labels, text, samples)

    return tuple(family(*metric) for metric in metrics)


def distribution(timings: Timings) -> Distribution:
    """The value of a histogram's sample."""
    buckets = tuple(accumulate(timings.buckets))
    return Distribution(timings.total_ns / NS_PER_S, buckets[-1], buckets)
