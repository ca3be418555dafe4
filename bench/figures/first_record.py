"""The first record of a new group, on a topic that has records."""

from __future__ import annotations

from statistics import median

from bench.figure import Row, Sample, Scale, Target
from bench.stage import Stage

WITHIN_MS = Target("value", "<=", 50.0)
REPEATED = False
ROWS = (
    Row("wire_ms", "first record of a fresh share group, from the first heartbeat, ms", "{:,.1f}", WITHIN_MS),
    Row("first_ms", "the same through librdkafka, from subscribe, ms", "{:,.1f}", WITHIN_MS),
)


def measure(stage: Stage, scale: Scale) -> Sample:
    topic = stage.topic(1)
    stage.client("produce", topic=topic, partitions=1, records=10_000)
    taken: dict[str, list[float]] = {}
    for program in ("first_heartbeat", "first_record"):
        for _ in range(scale.fresh_groups):
            for key, value in stage.client(program, topic=topic, group=stage.group()).items():
                taken.setdefault(key, []).append(value)
    return {key: median(values) for key, values in taken.items()}
