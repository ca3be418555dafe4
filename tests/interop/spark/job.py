"""Spark's Kafka source and sink; a process of its own. Prints one JSON object.

Arguments: broker address, topic to read, topic to write, the jars with commas between them, folder for checkpoints,
more properties of the client as a JSON object.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from pyspark.sql import SparkSession


def main(bootstrap: str, source: str, target: str, jars: str, checkpoints: str, security: str) -> None:
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
    spark = builder.getOrCreate()
    client = {"kafka.bootstrap.servers": bootstrap}
    client |= {f"kafka.{name}": value for name, value in json.loads(security).items()}
    options = {**client, "startingOffsets": "earliest", "includeHeaders": "true"}

    # a batch: everything there is
    batch = spark.read.format("kafka").options(**options, subscribe=source).load()
    # the sink
    changed = batch.selectExpr("concat(cast(value as string), '!') as value", "headers")
    written = {**client, "topic": target, "includeHeaders": "true"}
    changed.write.format("kafka").options(**written).save()

    def stream() -> list[str]:
        """Return the values that are new since the checkpoint: two runs of one job."""
        seen: list[str] = []

        def keep(rows: Any, _number: int) -> None:
            seen.extend(bytes(row.value).decode() for row in rows.collect())

        reader = spark.readStream.format("kafka").options(**options, subscribe=target)
        frame = reader.option("kafka.isolation.level", "read_committed").load()
        query = frame.writeStream.foreachBatch(keep).option("checkpointLocation", checkpoints)
        query.trigger(availableNow=True).start().awaitTermination(60)
        return sorted(seen)

    first = stream()
    more = spark.createDataFrame([("more",)], ["value"])
    more.write.format("kafka").options(**written).save()
    rows = [
        {
            "partition": row.partition,
            "offset": row.offset,
            "value": bytes(row.value).decode(),
            "headers": {header.key: bytes(header.value).decode() for header in row.headers or []},
        }
        for row in batch.collect()
    ]
    print(json.dumps({"batch": rows, "first": first, "second": stream()}))
    spark.stop()


main(*sys.argv[1:])
