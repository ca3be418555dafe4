"""Share consume of records with 1,000 keys: without order by key, and with it where the broker has it."""

from __future__ import annotations

from bench.figure import Row, Sample, Scale
from bench.setup import order_by_key
from bench.stage import Stage

PARTITIONS = 4
KEYS = 1_000
REPEATED = True
ROWS = (
    Row("keyed_rate", "share consume, 1,000 keys, records/s", "{:,.0f}"),
    Row("ordered_rate", "share consume, 1,000 keys, order by key, records/s", "{:,.0f}"),
    Row("keyed_cpu_us", "broker CPU per record share-fetched and acked, 1,000 keys, µs", "{:.3f}"),
    Row("ordered_cpu_us", "broker CPU per record share-fetched and acked, 1,000 keys, order by key, µs", "{:.3f}"),
)


def measure(stage: Stage, scale: Scale) -> Sample:
    """One topic, read by two groups."""
    topic, records = stage.topic(PARTITIONS), scale.records // 5
    stage.client("produce", topic=topic, partitions=PARTITIONS, records=records, keys=KEYS)
    keyed = stage.client("share", topic=topic, group=stage.group(), records=records)
    sample = {"keyed_rate": keyed["rate"], "keyed_cpu_us": keyed["cpu_us"]}
    if stage.kind == "shareq":
        group = stage.group()
        order_by_key(stage.broker.address, group)
        ordered = stage.client("share", topic=topic, group=group, records=records)
        sample |= {"ordered_rate": ordered["rate"], "ordered_cpu_us": ordered["cpu_us"]}
    return sample
