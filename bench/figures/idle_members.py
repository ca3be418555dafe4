"""The cost of a thousand idle share-group members."""

from __future__ import annotations

from bench.figure import Row, Sample, Scale, Target
from bench.stage import Stage

MEMBERS, GROUPS = 1000, 10
REPEATED = False
ROWS = (Row("idle_cpu", "CPU with 1,000 idle members, % of a core", "{:.2f}", Target("value", "<=", 1.0)),)


def measure(stage: Stage, scale: Scale) -> Sample:
    groups = [stage.group() for _ in range(GROUPS)]
    sample = stage.client(
        "idle_members", topic=stage.topic(1), groups=groups, members=MEMBERS, seconds=scale.idle_seconds
    )
    return {"idle_cpu": sample["share_of_core"] * 100}
