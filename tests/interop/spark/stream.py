"""A stream of Spark's Kafka source that reads its unread records, in a process of its own. Prints one JSON object.

Arguments: broker address, topic, comma-separated jars, folder of the checkpoint, start offsets as in the source's
`startingOffsets`, more client properties as a JSON object.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery


def session(jars: str) -> SparkSession:
    """Return a session on one core."""
    settings = {
        "spark.jars": jars,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
    }
    builder = SparkSession.builder.master("local[1]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def client(bootstrap: str, security: str) -> dict[str, str]:
    """Return the options of a client."""
    return {
        "kafka.bootstrap.servers": bootstrap,
        **{f"kafka.{name}": value for name, value in json.loads(security).items()},
    }


def stream(
    spark: SparkSession, options: Mapping[str, str], topic: str, checkpoint: str
) -> tuple[list[str], StreamingQuery]:
    """Return the values new since the checkpoint, and the query, which has ended."""
    seen: list[str] = []

    def keep(rows: Any, _number: int) -> None:
        seen.extend(bytes(row.value).decode() for row in rows.collect())

    reader = spark.readStream.format("kafka").options(**options, subscribe=topic)
    frame = reader.option("kafka.isolation.level", "read_committed").load()
    query = frame.writeStream.foreachBatch(keep).option("checkpointLocation", checkpoint)
    started = query.trigger(availableNow=True).start()
    started.awaitTermination(60)
    return sorted(seen), started


def main(bootstrap: str, topic: str, jars: str, checkpoint: str, begin: str, security: str) -> None:
    spark = session(jars)
    values, query = stream(spark, {**client(bootstrap, security), "startingOffsets": begin}, topic, checkpoint)
    progress = query.lastProgress
    ends = json.loads(progress["sources"][0]["endOffset"])[topic] if progress else {}
    print(json.dumps({"values": values, "ends": ends}))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
