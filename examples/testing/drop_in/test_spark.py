"""A suite of a job with Spark, which reads orders from a share group."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from kafka import KafkaProducer

from shareq.testing import KafkaContainer

pytest.importorskip("pyspark", reason="PySpark is not installed: pip install 'shareq[spark]'")

from pyspark.sql import DataFrame, SparkSession


def count(spark: SparkSession, bootstrap: str, folder: Path) -> dict[str, int]:
    """Count the orders of each product that no earlier run has counted: the code under test."""
    counts: dict[str, int] = {}

    def add(batch: DataFrame, _batch_id: int) -> None:
        for row in batch.groupBy(batch.value.cast("string").alias("thing")).count().collect():
            counts[row["thing"]] = counts.get(row["thing"], 0) + row["count"]

    orders = (
        spark.readStream.format("kafka-share")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("kafka.group.id", "counters")
        .option("subscribe", "spark-orders")
        .load()
    )
    query = orders.writeStream.foreachBatch(add).option("checkpointLocation", str(folder)).trigger(availableNow=True)
    query.start().awaitTermination()
    return counts


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    yield session
    session.stop()


def order(bootstrap: str, *things: bytes) -> None:
    with KafkaProducer(bootstrap_servers=bootstrap) as producer:
        for thing in things:
            producer.send("spark-orders", thing).get(20)


def test_each_order_is_counted_once(spark: SparkSession, kafka: KafkaContainer, tmp_path: Path) -> None:
    kafka.broker.share_group("counters")  # from the first record on
    bootstrap = kafka.get_bootstrap_server()
    order(bootstrap, b"vase", b"pear", b"vase")
    assert count(spark, bootstrap, tmp_path) == {"vase": 2, "pear": 1}
    order(bootstrap, b"pear")
    assert count(spark, bootstrap, tmp_path) == {"pear": 1}
