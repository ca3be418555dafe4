"""A job that writes lines of text files into a topic: `sink_job BOOTSTRAP TOPIC FOLDER [OPTION=VALUE...]`.

A micro-batch has three tasks, among which its lines are divided; a task may fail three times. After each micro-batch
the job prints `batch N`.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Final

from tests.spark.support.session import open_session

FILES_OF_BATCH: Final = 2
"""The most files in a micro-batch."""


def main(bootstrap: str, topic: str, folder: Path, options: list[str]) -> None:
    spark = open_session(folder, master="local[3,4]")
    import shareq.spark

    shareq.spark.register(spark)
    lines = spark.readStream.option("maxFilesPerTrigger", FILES_OF_BATCH).text(str(folder / "lines"))
    writer = (
        lines.repartition(3, "value")
        .selectExpr("value", "value as key")
        .writeStream.format("kafka-share")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("topic", topic)
        .option("checkpointLocation", str(folder / "checkpoint"))
    )
    for each in options:
        name, _, value = each.partition("=")
        writer = writer.option(name, value)
    query = writer.trigger(processingTime="50 milliseconds").start()
    seen = -1
    while query.isActive:
        if query.lastProgress is not None and query.lastProgress["batchId"] > seen:
            seen = query.lastProgress["batchId"]
            print(f"batch {seen}", flush=True)
        time.sleep(0.05)
    query.awaitTermination()


if __name__ == "__main__":
    bootstrap, topic, folder, *options = sys.argv[1:]
    main(bootstrap, topic, Path(folder), options)
