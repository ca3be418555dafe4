"""A job that drains a share group into Parquet: `share_job MASTER BOOTSTRAP TOPIC GROUP FOLDER`.

MASTER is a Spark master, or `connect` for a session over Spark Connect. The job prints the number of rows, and of
distinct ones.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.spark.support.session import open_session, spark_environment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def main(master: str, bootstrap: str, topic: str, group: str, folder: Path) -> None:
    spark = session(master, folder)
    import shareq.spark  # noqa: F401  # registers with the session

    rows = (
        spark.readStream.format("kafka-share")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("kafka.group.id", group)
        .option("subscribe", topic)
        .option("minPartitions", 4)
        .load()
    )
    query = (
        rows.writeStream.format("parquet")
        .option("path", str(folder / "rows"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(120)
    found = sorted(int(row.value) for row in spark.read.parquet(str(folder / "rows")).collect())
    print("rows", len(found), "distinct", len(set(found)), flush=True)
    spark.stop()


def session(master: str, folder: Path) -> SparkSession:
    if master != "connect":
        return open_session(folder, master=master, spark__executor__memory="512m")
    from pyspark.sql import SparkSession

    os.environ.update(spark_environment())
    return SparkSession.builder.remote("local[2]").config("spark.local.dir", str(folder / "local")).getOrCreate()


if __name__ == "__main__":
    master, bootstrap, topic, group, folder = sys.argv[1:]
    main(master, bootstrap, topic, group, Path(folder))
