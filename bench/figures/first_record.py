"""The first record of a group that never existed, on a topic that has records."""

from __future__ import annotations

from statistics import median

from bench.figure import Row, Sample, Scale, Stage, Target

REPEATED = False
ROWS = (Row("first_ms", "first record of a fresh share group, ms", "{:,.1f}", Target("value", "<=", 50.0)),)


def measure(stage: Stage, scale: Scale) -> Sample:
    topic = stage.topic(1)
    stage.client("produce", topic=topic, partitions=1, records=10_000)
    groups = [stage.group() for _ in range(scale.fresh_groups)]
    return {"first_ms": median(stage.client("first_record", topic=topic, group=group)["first_ms"] for group in groups)}
