"""Spark's Kafka source and sink in a process of its own, which runs one command of JSON a line, as `JsonProcess` sends.

Arguments: comma-separated jars.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

Answer = Mapping[str, object]


class Program:
    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def copy(self, client: Mapping[str, str], source: str, target: str, checkpoint: str) -> Answer:
        """Copy a topic to another by a batch and the sink, then read the target in two runs of one stream."""
        to_broker = _options(client)
        options = {**to_broker, "startingOffsets": "earliest", "includeHeaders": "true"}
        batch = self._spark.read.format("kafka").options(**options, subscribe=source).load()
        changed = batch.selectExpr("concat(cast(value as string), '!') as value", "headers")
        written = {**to_broker, "topic": target, "includeHeaders": "true"}
        changed.write.format("kafka").options(**written).save()
        first, _ = self._unread(options, target, checkpoint)
        more = self._spark.createDataFrame([("more",)], ["value"])
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
        second, _ = self._unread(options, target, checkpoint)
        return {"batch": rows, "first": first, "second": second}

    def stream(self, client: Mapping[str, str], topic: str, checkpoint: str, begin: str) -> Answer:
        """Read what is unread since the checkpoint; `begin` is the source's `startingOffsets`."""
        values, query = self._unread({**_options(client), "startingOffsets": begin}, topic, checkpoint)
        progress = query.lastProgress
        ends = json.loads(progress["sources"][0]["endOffset"])[topic] if progress else {}
        return {"values": values, "ends": ends}

    def _unread(self, options: Mapping[str, str], topic: str, checkpoint: str) -> tuple[list[str], StreamingQuery]:
        seen: list[str] = []

        def keep(rows: Any, _number: int) -> None:
            seen.extend(bytes(row.value).decode() for row in rows.collect())

        reader = self._spark.readStream.format("kafka").options(**options, subscribe=topic)
        frame = reader.option("kafka.isolation.level", "read_committed").load()
        query = frame.writeStream.foreachBatch(keep).option("checkpointLocation", checkpoint)
        started = query.trigger(availableNow=True).start()
        if not started.awaitTermination(60):
            started.stop()
            raise TimeoutError(f"the stream of {topic} has not ended within 60 s")
        return sorted(seen), started


def _options(client: Mapping[str, str]) -> dict[str, str]:
    return {f"kafka.{name}": value for name, value in client.items()}


def session(jars: str) -> SparkSession:
    settings = {
        "spark.jars": jars,
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # for a quick start
        "spark.sql.shuffle.partitions": "1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
    }
    builder = SparkSession.builder.master("local[1]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def main(jars: str) -> None:
    spark = session(jars)
    program = Program(spark)
    for line in sys.stdin:
        command = json.loads(line)
        try:
            answer = getattr(program, command.pop("do"))(**command)
        except Exception as error:  # each failure is the answer to its command
            answer = {"error": type(error).__name__, "message": str(error)}
        print(json.dumps(answer), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
