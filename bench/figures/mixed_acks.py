"""Accept, release and reject in turn, record by record: the worst case of the share state."""

from __future__ import annotations

from bench.figure import Row, Sample, Scale, Target
from bench.stage import Stage

PARTITIONS = 4
REPEATED = True
ROWS = (
    Row("mixed_cpu_us", "broker CPU per mixed ack, µs", "{:.2f}", Target("ratio", "<=", 0.5)),
    Row("mixed_rate", "mixed acks/s", "{:,.0f}"),
)


def measure(stage: Stage, scale: Scale) -> Sample:
    topic = stage.topic(PARTITIONS)
    records = scale.mixed_records
    stage.client("produce", topic=topic, partitions=PARTITIONS, records=records)
    sample = stage.client("mixed_acks", topic=topic, group=stage.group(), records=records)
    return {"mixed_cpu_us": sample["cpu_us"], "mixed_rate": sample["rate"]}
