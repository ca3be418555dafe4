"""`df.write.format("kafka-share")`: columns, options and errors like those of Spark's own Kafka sink."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from devtools.clients.admin import create_topic
from shareq.client.partitioner import partition_of_key
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.spark.support.judge import Seen, seen

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    Write = Callable[..., None]

Topics = Callable[[str], str]


@pytest.fixture
def write(broker: BrokerUnderTest) -> Write:
    """Return `write(rows, option=value, ...)`, with `_` for a dot."""

    def written(rows: DataFrame, **options: object) -> None:
        writer = rows.write.format("kafka-share").option("kafka.bootstrap.servers", broker.bootstrap).mode("append")
        for name, value in options.items():
            writer = writer.option(name.replace("_", "."), str(value))
        writer.save()

    return written


@pytest.fixture
def topic(broker: BrokerUnderTest, unique: Callable[[str], str]) -> str:
    name = unique("sink")
    create_topic(broker.bootstrap, name, 3)
    return name


def test_all_columns_are_written_as_they_are(
    spark: SparkSession, write: Write, broker: BrokerUnderTest, topic: str, unique: Topics
) -> None:
    """There are strings, bytes, nulls, headers, partitions by number and by key, two topics and an unused column."""
    other = unique("other")
    create_topic(broker.bootstrap, other, 1)
    schema = (
        "topic string, partition int, key binary, value string, "
        "headers array<struct<key: string, value: binary>>, price double"
    )
    rows = [
        (topic, 2, b"k", "at two", [("a", b"1"), ("a", None), ("ü", b"")], 1.0),
        (topic, None, b"by key", "ä", None, 1.0),
        (topic, 0, None, None, [], 1.0),
        (other, None, b"", "", None, None),
    ]
    write(spark.createDataFrame(rows, schema))
    assert set(seen(broker.bootstrap, topic)) == {
        Seen(2, b"k", b"at two", (("a", b"1"), ("a", None), ("ü", b""))),
        Seen(partition_of_key(b"by key", [0, 1, 2]), b"by key", "ä".encode()),
        Seen(0, None, None),
    }
    assert seen(broker.bootstrap, other) == [Seen(0, b"", b"")]


def test_the_option_topic_goes_before_the_column_and_compression_is_the_producers(
    spark: SparkSession, write: Write, broker: BrokerUnderTest, topic: str
) -> None:
    rows = spark.range(5000).selectExpr("cast(id as string) value", "'nowhere' topic")
    write(rows, topic=topic, kafka_compression_type="zstd")
    assert sorted(int(each.value or b"") for each in seen(broker.bootstrap, topic)) == list(range(5000))


@pytest.mark.parametrize(
    ("columns", "options", "text"),
    [
        ("key binary, value binary", {}, "topic option required when no 'topic' attribute is present. Use the topic"),
        ("key binary", {"topic": "t"}, "required attribute 'value' not found"),
        ("value int", {"topic": "t"}, "value attribute unsupported type int: must be string or binary"),
        ("topic int, value binary", {}, "topic attribute unsupported type int: must be string"),
        ("value binary, partition bigint", {"topic": "t"}, "partition attribute unsupported type bigint: must be int"),
        ("value binary, headers string", {"topic": "t"}, "headers attribute unsupported type string: must be array<"),
        ("value binary", {"topics": "t"}, "topics is not an option of kafka-share; did you mean topic?"),
        ("value binary", {"topic": "t", "kafka.acks": "1"}, "kafka.acks is not an option here: every record is"),
        ("value binary", {"topic": "t", "txnAppId": "a"}, "txnAppId is given without txnVersion"),
        ("value binary", {"topic": "t", "kafka.compression.type": "lzma"}, "must be one of none, gzip, snappy, lz4"),
    ],
)
def test_what_cannot_be_written_is_refused_by_name_before_a_task_runs(
    spark: SparkSession, write: Write, columns: str, options: dict[str, str], text: str
) -> None:
    with pytest.raises(Exception, match="kafka-share: ") as failure:
        write(spark.createDataFrame([], columns), **options)
    assert text in str(failure.value)


def test_no_topic_in_a_row_and_overwriting_are_refused(spark: SparkSession, write: Write, topic: str) -> None:
    with pytest.raises(Exception, match=r"null topic present in the data\. Use the topic option"):
        write(spark.createDataFrame([(None, b"x")], "topic string, value binary"))
    rows = spark.createDataFrame([(b"x",)], "value binary").write.format("kafka-share").option("topic", topic)
    with pytest.raises(Exception, match="save mode overwrite is not allowed for Kafka"):
        rows.option("kafka.bootstrap.servers", "localhost:1").mode("overwrite").save()


def test_a_job_that_fails_has_written_nothing_that_is_committed(
    spark: SparkSession, write: Write, broker: BrokerUnderTest, topic: str
) -> None:
    """The last row of one of two tasks fails: only a consumer that reads uncommitted records sees the others."""
    rows = spark.range(0, 2000, numPartitions=2).selectExpr(
        "if(id = 1999, raise_error('the last row fails'), cast(id as string)) value"
    )
    with pytest.raises(Exception, match="the last row fails"):
        write(rows, topic=topic)
    assert seen(broker.bootstrap, topic) == []
    write(spark.range(3).selectExpr("cast(id as string) value"), topic=topic)
    assert sorted(each.value or b"" for each in seen(broker.bootstrap, topic)) == [b"0", b"1", b"2"]


def test_a_version_is_written_once_and_another_text_of_it_is_refused(
    spark: SparkSession, write: Write, broker: BrokerUnderTest, topic: str, unique: Topics
) -> None:
    rows = spark.range(0, 100, numPartitions=2).selectExpr("cast(id as string) value", "cast(id as string) key")
    once = {"topic": topic, "txnAppId": unique("app")}
    for version in (4, 4, 5, 5):
        write(rows, **once, txnVersion=version)
    assert sorted(int(each.value or b"") for each in seen(broker.bootstrap, topic)) == sorted([*range(100)] * 2)
    for other in (rows.where("key != '7'"), rows.coalesce(1)):
        with pytest.raises(Exception, match=r"began to commit batch 5 with other rows"):
            write(other, **once, txnVersion=5)
    with pytest.raises(Exception, match=r"has committed batch 5 and is to write batch 4"):
        write(rows, **once, txnVersion=4)
    assert len(seen(broker.bootstrap, topic)) == 200


def test_without_transactions_records_are_there_at_once_and_each_time(
    spark: SparkSession, write: Write, broker: BrokerUnderTest, topic: str
) -> None:
    rows = spark.range(10).selectExpr("cast(id as string) value")
    for _ in range(2):
        write(rows, topic=topic, transactional=False)
    assert len(seen(broker.bootstrap, topic)) == 20
