"""Single-record Produce requests, pipelined over raw sockets: the cost of one request."""

from __future__ import annotations

from bench.client.pipelined import CONNECTIONS
from bench.figure import Row, Sample, Scale, Target
from bench.stage import Stage

REPEATED = True
ROWS = (
    Row("pipelined_rate", "one-record produce requests/s, pipelined", "{:,.0f}", Target("ratio", ">=", 3.0)),
    Row("pipelined_cpu_us", "broker CPU per one-record produce, µs", "{:.1f}", Target("ratio", "<=", 0.4)),
)


def measure(stage: Stage, scale: Scale) -> Sample:
    sample = stage.client("pipelined", topic=stage.topic(CONNECTIONS), requests=scale.requests)
    return {"pipelined_rate": sample["rate"], "pipelined_cpu_us": sample["cpu_us"]}
