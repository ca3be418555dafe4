"""Appends synced singly on a disk that takes 20 ms per sync (`flush.messages=1`): many partitions."""

from __future__ import annotations

import tempfile
from pathlib import Path

from bench.figure import Row, Sample, Scale, Target
from bench.setup import create_topic
from bench.slow_syncs import SYNC_MS, slow_syncs
from bench.stage import Stage, run_client

PARTITIONS = (1, 16, 64)
REPEATED = False
AS_FAST = Target("ratio", ">=", 1.0)
ROWS = tuple(
    Row(f"synced_{count}", f"records/s, each synced in {SYNC_MS} ms, {count} partitions", "{:,.0f}", AS_FAST)
    for count in PARTITIONS
)


def measure(stage: Stage, scale: Scale) -> Sample:
    found: Sample = {}
    with tempfile.TemporaryDirectory(prefix="slow-disk-") as folder, stage.fresh() as broker:
        with slow_syncs(Path(folder)):
            broker.start()
        for count in PARTITIONS:
            create_topic(broker.address, f"synced-{count}", count, {"flush.messages": "1"})
            arguments = {"topic": f"synced-{count}", "partitions": count, "seconds": scale.idle_seconds / 2}
            found[f"synced_{count}"] = run_client(broker, "synced", arguments)["rate"]
    return found
