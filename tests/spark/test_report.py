"""The progress log of a real session, and the report made of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from shareq.spark.report import ProgressLog, read_events, write_report

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARTS = ["id", "runId", "name", "timestamp", "batchId", "numInputRows", "durationMs", "sources"]


@pytest.fixture
def log(spark: SparkSession, tmp_path: Path) -> Path:
    """Three micro-batches of a file source, by name "wanted", and others of a query that has none."""
    path = tmp_path / "progress.jsonl"
    listener = ProgressLog(path, query="wanted")
    spark.streams.addListener(listener)
    try:
        for name in ("wanted", None):
            rows = spark.range(30).repartition(3)
            rows.write.mode("overwrite").parquet(str(tmp_path / "in"))
            stream = spark.readStream.schema(rows.schema).option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "in"))
            writer = stream.writeStream.format("noop").trigger(availableNow=True)
            writer = writer.option("checkpointLocation", str(tmp_path / f"checkpoint-{name}"))
            (writer if name is None else writer.queryName(name)).start().awaitTermination(60)
        spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    finally:
        spark.streams.removeListener(listener)
    return path


def test_a_session_writes_its_progress_and_the_report_reads_it(log: Path, tmp_path: Path) -> None:
    lines = log.read_text().splitlines()
    for line in lines:
        progress = json.loads(line)
        assert [part for part in PARTS if part not in progress] == []
        assert "startOffset" not in progress["sources"][0]
    (query,), unreadable = read_events(lines)
    assert (query.name, query.rows, unreadable) == ("wanted", 30, 0)
    assert [batch.batch_id for batch in query.batches] == [0, 1, 2]
    assert all(batch.duration_ms > 0 for batch in query.batches)
    write_report(log, tmp_path / "report.html")
    assert "wanted" in (tmp_path / "report.html").read_text()
