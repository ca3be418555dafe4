"""The time that each of many clients waits for its first answer when all connect at once."""

from __future__ import annotations

from bench.figure import Row, Sample, Scale, Target
from bench.stage import Stage

CONNECTIONS, BURSTS = 500, 5
REPEATED = True
ROWS = (
    Row(
        "burst_p99_ms",
        f"first answer of {CONNECTIONS} clients that connect at once, p99, ms",
        "{:.0f}",
        Target("value", "<=", 100.0),
        on_page=False,
    ),
)


def measure(stage: Stage, scale: Scale) -> Sample:
    sample = stage.client("connect_burst", connections=CONNECTIONS, bursts=BURSTS)
    return {"burst_p99_ms": sample["p99_ms"]}
