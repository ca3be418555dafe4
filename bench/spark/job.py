"""A Spark session that runs one request a line: `python job.py SETTINGS`, then one JSON object a line, each answered.

In: {"format": name, "options": {...}, "checkpoint": folder}. The stream is read up to the records that exist now, into
Spark's sink that discards everything. Out: {"rows": N, "elapsed_s": T, "batches": [[rows, {phase: ms}], ...]}.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any


def main(settings: dict[str, str]) -> None:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("bench")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    from shareq.spark import register

    register(spark)
    print(json.dumps({"spark": spark.version}), flush=True)
    for line in sys.stdin:
        print(json.dumps(run(spark, **json.loads(line))), flush=True)
    spark.stop()


def run(spark: Any, format: str, options: dict[str, str], checkpoint: str) -> dict[str, Any]:
    """Time from the start of the query to its end."""
    stream = spark.readStream.format(format).options(**options).load()
    writer = stream.writeStream.format("noop").option("checkpointLocation", checkpoint).trigger(availableNow=True)
    began = time.perf_counter()
    query = writer.start()
    query.awaitTermination()
    elapsed_s = time.perf_counter() - began
    batches = [(one["numInputRows"], one["durationMs"]) for one in query.recentProgress]
    return {"rows": sum(rows for rows, _ in batches), "elapsed_s": elapsed_s, "batches": batches}


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
