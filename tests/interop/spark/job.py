"""Spark's Kafka source and sink in a process of its own. Prints one JSON object.

Arguments: broker address, topic to read, topic to write, comma-separated jars, folder for checkpoints, more client
properties as a JSON object.
"""

from __future__ import annotations

import json
import sys

from tests.interop.spark.stream import client, session, stream


def main(bootstrap: str, source: str, target: str, jars: str, checkpoints: str, security: str) -> None:
    spark = session(jars)
    to_broker = client(bootstrap, security)
    options = {**to_broker, "startingOffsets": "earliest", "includeHeaders": "true"}

    # a batch: everything there is
    batch = spark.read.format("kafka").options(**options, subscribe=source).load()
    # the sink
    changed = batch.selectExpr("concat(cast(value as string), '!') as value", "headers")
    written = {**to_broker, "topic": target, "includeHeaders": "true"}
    changed.write.format("kafka").options(**written).save()

    # two runs of one job
    first, _ = stream(spark, options, target, checkpoints)
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
    second, _ = stream(spark, options, target, checkpoints)
    print(json.dumps({"batch": rows, "first": first, "second": second}))
    spark.stop()


main(*sys.argv[1:])
