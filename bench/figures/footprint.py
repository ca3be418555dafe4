"""The time from start to the first answered request, and memory: idle, and after a million records in a share group."""

from __future__ import annotations

import time
from contextlib import ExitStack
from statistics import median

from bench.figure import Row, Sample, Scale, Target
from bench.figures.throughput import PARTITIONS
from bench.proc import resident_mb
from bench.stage import Stage

IDLE_AFTER_S = 2.0
REPEATED = False
ROWS = (
    Row("start_ms", "start to first answer, ms", "{:,.0f}", Target("value", "<=", 150.0)),
    Row("idle_mb", "memory idle, MB", "{:,.0f}", Target("value", "<=", 60.0)),
    Row("used_mb", "memory after the records, MB", "{:,.0f}", Target("value", "<=", 100.0)),
)


def measure(stage: Stage, scale: Scale) -> Sample:
    """Measure on new brokers, so that earlier work does not count."""
    starts = []
    for _ in range(scale.starts):
        with stage.fresh() as broker:
            starts.append(broker.start())
    with ExitStack() as stack:
        own = Stage(stage.kind, stack, packages=stage.packages)
        pid = own.broker.pid
        time.sleep(IDLE_AFTER_S)
        idle = resident_mb(pid)
        topic = own.topic(PARTITIONS)
        own.client("produce", topic=topic, partitions=PARTITIONS, records=scale.records)
        own.client("share", topic=topic, group=own.group(), records=scale.records)
        return {"start_ms": median(starts) * 1000, "idle_mb": idle, "used_mb": resident_mb(pid)}
