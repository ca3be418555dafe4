"""Produce, fetch and share-consume rates of 100-byte records through librdkafka, and the broker's CPU per record."""

from __future__ import annotations

from bench.figure import Row, Sample, Scale, Target
from bench.stage import Stage

PARTITIONS = 4
REPEATED = True
ROWS = (
    Row("produce_rate", "produce, records/s", "{:,.0f}", Target("ratio", ">=", 1.0)),
    Row("fetch_rate", "fetch, records/s", "{:,.0f}", Target("ratio", ">=", 1.0)),
    Row("share_rate", "share consume, records/s", "{:,.0f}", Target("ratio", ">=", 1.0)),
    Row("produce_cpu_us", "broker CPU per record produced, µs", "{:.3f}", Target("ratio", "<=", 0.5)),
    Row("fetch_cpu_us", "broker CPU per record fetched, µs", "{:.3f}", Target("ratio", "<=", 1.0)),
    Row("share_cpu_us", "broker CPU per record share-fetched and acked, µs", "{:.3f}", Target("ratio", "<=", 0.25)),
)


def measure(stage: Stage, scale: Scale) -> Sample:
    """Fill a new topic, then read it twice."""
    topic = stage.topic(PARTITIONS)
    sizes = {"topic": topic, "records": scale.records}
    samples = {
        "produce": stage.client("produce", partitions=PARTITIONS, **sizes),
        "fetch": stage.client("fetch", partitions=PARTITIONS, **sizes),
        "share": stage.client("share", group=stage.group(), **sizes),
    }
    return {f"{name}_{key}": sample[key] for name, sample in samples.items() for key in ("rate", "cpu_us")}
