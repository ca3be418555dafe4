"""The time from produce to the share consumer, one record at a time."""

from __future__ import annotations

from bench.figure import Row, Sample, Scale, Target
from bench.stage import Stage

REPEATED = True
ROWS = (
    Row("e2e_p50_ms", "share end to end p50, ms", "{:.2f}", Target("ratio", "<=", 0.5)),
    Row("e2e_p99_ms", "share end to end p99, ms", "{:.2f}", Target("ratio", "<=", 0.5)),
    Row("e2e_cpu_us", "broker CPU per message end to end, µs", "{:,.0f}", Target("ratio", "<=", 0.2)),
)


def measure(stage: Stage, scale: Scale) -> Sample:
    sample = stage.client("end_to_end", topic=stage.topic(1), group=stage.group(), round_trips=scale.round_trips)
    return {"e2e_p50_ms": sample["p50_ms"], "e2e_p99_ms": sample["p99_ms"], "e2e_cpu_us": sample["cpu_us"]}
