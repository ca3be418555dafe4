"""The metrics in Prometheus's text format, made from a snapshot by prometheus-client."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from itertools import islice
from typing import Final

from prometheus_client import ProcessCollector, generate_latest
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
    SummaryMetricFamily,
)
from prometheus_client.registry import Collector

from shareq.broker.foundation.loop.collector import COLLECTOR
from shareq.broker.foundation.turn_budget import PIECE, Breathe
from shareq.broker.metrics.families import LEFT_OUT, take
from shareq.broker.metrics.family import BOUNDS, Distribution, Family, Kind, Value
from shareq.broker.metrics.rows import GroundMetrics, Snapshot
from shareq.broker.metrics.totals import has_names, total_of
from shareq.broker.network.counters import Requests
from shareq.broker.network.listener import Listener
from shareq.broker.services import Services
from shareq.protocol.api_keys import ApiKey

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

MOST_SAMPLES: Final = 5_000
"""The most samples of one metric: those of the first groups, topics or partitions. A scraper cannot use more."""

_PROCESS: Final = ProcessCollector(registry=None)  # CPU, memory and open files, as /proc shows them


def metrics_of(services: Services) -> GroundMetrics:
    """Return the module of metrics of a broker's ground."""
    module: GroundMetrics = import_module(services.ground.metrics)
    return module


async def scrape(
    services: Services, requests: Mapping[ApiKey, Requests], listeners: Sequence[Listener], started_ns: int
) -> bytes:
    """Return the whole text.

    Runs on the loop's thread, like everything that changes the values it reads. `started_ns` is a time of the
    clock's `now_ns`.
    """
    breathe = services.env.budget.breathe
    snapshot, metrics = Snapshot(), metrics_of(services)
    holder = object()
    COLLECTOR.hold_off(holder)  # it would look at all rows again and again, none of which it could free
    try:
        await take(snapshot, services, metrics, requests, listeners, started_ns)
        pieces = await text_of(snapshot, metrics.FAMILIES, breathe, names=services.started_with.metrics_names)
        pieces.append(generate_latest(_PROCESS))
        for rows in snapshot.lists():
            while rows:
                del rows[-PIECE:]
                await breathe(PIECE)
        return b"".join(pieces)
    finally:
        COLLECTOR.let_go(holder)


async def text_of(
    snapshot: Snapshot, families: Iterable[Family], breathe: Breathe, *, names: bool = True
) -> list[bytes]:
    """Return these metrics of the snapshot, each after its help and type; if `names` is False, only totals.

    A metric has at most `MOST_SAMPLES`; the last metric counts the samples left out.
    """
    pieces: list[bytes] = []
    for family in families:
        if not names and has_names(family):
            total = await total_of(family, snapshot.rows, breathe)
            if total is not None:
                pieces.append(generate_latest(_Only(metric(family._replace(labels=()), [((), total)]))))
            continue
        samples = iter(family.samples(snapshot.rows))
        shown = islice(samples, MOST_SAMPLES)
        some = list(islice(shown, PIECE))
        pieces.append(generate_latest(_Only(metric(family, some))))
        while some:
            await breathe(len(some))
            some = list(islice(shown, PIECE))
            if some:
                text = generate_latest(_Only(metric(family, some)))
                pieces.append(text.split(b"\n", 2)[2])  # help and type have been written
        more = 0
        while counted := sum(1 for _ in islice(samples, PIECE)):
            more += counted
            await breathe(counted)
        if more:
            snapshot.take(LEFT_OUT, (family.name,), more)
    return pieces


def metric(family: Family, samples: Iterable[tuple[tuple[str, ...], Value]]) -> Metric:
    match family.kind:
        case Kind.COUNTER:
            counter = CounterMetricFamily(family.name, family.text, labels=family.labels)
            for labels, value in samples:
                counter.add_metric(labels, _number(value))
            return counter
        case Kind.GAUGE:
            gauge = GaugeMetricFamily(family.name, family.text, labels=family.labels)
            for labels, value in samples:
                gauge.add_metric(labels, _number(value))
            return gauge
        case Kind.HISTOGRAM:
            histogram = HistogramMetricFamily(family.name, family.text, labels=family.labels)
            for labels, value in samples:
                of = _distribution(value)
                histogram.add_metric(labels, list(zip(BOUNDS, of.buckets, strict=True)), of.total)
            return histogram
        case Kind.SUMMARY:
            summary = SummaryMetricFamily(family.name, family.text, labels=family.labels)
            for labels, value in samples:
                of = _distribution(value)
                summary.add_metric(labels, of.number, of.total)
            return summary


class _Only(Collector):
    """A registry with one metric."""

    def __init__(self, only: Metric) -> None:
        self._only = only

    def collect(self) -> Iterable[Metric]:
        return (self._only,)


def _number(value: Value) -> float:
    if isinstance(value, Distribution):
        raise TypeError("a counter or gauge has a plain number")
    return value


def _distribution(value: Value) -> Distribution:
    if not isinstance(value, Distribution):
        raise TypeError("a histogram or summary has a distribution")
    return value
