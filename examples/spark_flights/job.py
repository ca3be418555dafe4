"""The Spark job of the demo:

`job.py --bootstrap HOST:PORT --out FOLDER [--drain]`. After a kill it continues at its next start.

Two queries read the topic, each as the share group of its own name:

* `departures` writes each micro-batch into a folder named by its batch id. A replayed micro-batch has the same records
  and overwrites its folder, so each record is in the table once, whatever is killed. Records that another member of the
  share group takes are not in the table.
* `carriers` counts flights and averages their delays by carrier, in Spark's state store.

With `--drain` both read the available records and end.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import avg, col, count, split
from pyspark.sql.streaming import DataStreamWriter, StreamingQuery
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

import shareq.spark
from examples.spark_flights.names import CARRIER, CARRIERS, DEPARTURES, TOPIC
from shareq.spark.java_home import use_java

LOG4J = Path(__file__).with_name("log4j2.properties")
# Soon at work rather than fast in the end: this job is over in a minute.
SMALL = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


class ProgressLog(StreamingQueryListener):
    """A listener that appends each progress event to `path`, one a line; a restarted driver continues the file."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        progress = json.loads(event.progress.json)
        for source in progress["sources"]:  # the checkpoint has these: every range of the micro-batch
            source.pop("startOffset", None)
            source.pop("endOffset", None)
        with self._path.open("ab") as file:  # one write a line: half a line is left by a kill at most
            file.write(json.dumps(progress).encode() + b"\n")

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """Do nothing: every progress event names its run."""

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        """Do nothing: no micro-batch ran."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """Do nothing: `main`, which waits for the query, gets the reason."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="spark_flights.job", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--drain", action="store_true")
    options = parser.parse_args()
    spark = session(options.out)
    shareq.spark.register(spark)
    spark.streams.addListener(ProgressLog(options.out / "progress.jsonl"))

    departures = flights(spark, options.bootstrap, DEPARTURES).select(
        "partition", "offset", "carrier", "origin", "dest"
    )
    carriers = flights(spark, options.bootstrap, CARRIERS).groupBy("carrier").agg(count("*"), avg("delay"))
    writers = {
        DEPARTURES: departures.writeStream.foreachBatch(partial(write_batch, options.out / "table")),
        CARRIERS: carriers.writeStream.outputMode("complete").foreachBatch(
            partial(write_counts, options.out / "carriers.json")
        ),
    }
    running = [start(writer, name, options) for name, writer in writers.items()]
    while running:
        running = [query for query in running if not query.awaitTermination(1)]  # raises what a query failed with
    spark.stop()
    return 0


def start(writer: DataStreamWriter, name: str, options: argparse.Namespace) -> StreamingQuery:
    """Start the query from its checkpoint."""
    writer = writer.queryName(name).option("checkpointLocation", str(options.out / "checkpoints" / name))
    return (writer.trigger(availableNow=True) if options.drain else writer).start()


def flights(spark: SparkSession, bootstrap: str, group: str) -> DataFrame:
    """Return the topic as a member of a share group: where each record is, and the fields of its CSV line."""
    records = (
        spark.readStream.format("kafka-share")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("kafka.group.id", group)
        .option("subscribe", TOPIC)
        .load()
    )
    field = split(col("value").cast("string"), ",")
    return records.select(
        "partition",
        "offset",
        field[5].try_cast("double").alias("delay"),
        field[CARRIER].alias("carrier"),
        field[12].alias("origin"),
        field[13].alias("dest"),
    )


def write_batch(table: Path, batch: DataFrame, batch_id: int) -> None:
    """Write a micro-batch; the same batch id overwrites the same folder."""
    batch.write.mode("overwrite").parquet(str(table / f"batch={batch_id}"))


def write_counts(path: Path, counts: DataFrame, batch_id: int) -> None:
    """Write all counts after this micro-batch; a concurrent reader sees either the old or the new ones."""
    rows = {carrier: {"flights": flights, "delay": delay} for carrier, flights, delay in counts.collect()}
    partial_path = path.with_suffix(".partial")
    partial_path.write_text(json.dumps({"batch": batch_id, "carriers": rows}))
    partial_path.replace(path)


def session(out: Path) -> SparkSession:
    """Return a session on this machine alone. It uses the Java that pip installed, so the demo needs no other."""
    use_java(bundled=True)
    os.environ["PYSPARK_PYTHON"] = sys.executable  # else Spark takes the python3 of the PATH
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={LOG4J} {SMALL}",
        "spark.local.dir": str(out / "local"),
        "spark.sql.shuffle.partitions": "2",
    }
    builder = SparkSession.builder.master("local[*]").appName("flights")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


if __name__ == "__main__":
    sys.exit(main())
