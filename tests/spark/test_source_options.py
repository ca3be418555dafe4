"""Options: their effects, and the errors for invalid ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.spark.support.share_stream import ShareStream, delete_records

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def stream(spark: SparkSession, broker: BrokerUnderTest, unique: Callable[[str], str], tmp_path: Path) -> ShareStream:
    return ShareStream(spark, broker.bootstrap, unique("topic"), unique("group"), tmp_path)


@pytest.mark.parametrize(
    ("options", "tasks"),
    [({}, 1), ({"minPartitions": 4, "maxRecordsPerPartition": 20}, 4)],
)
def test_how_many_tasks_read_a_micro_batch(stream: ShareStream, options: dict[str, object], tasks: int) -> None:
    stream.create()
    values = stream.produce(60)
    seen: list[tuple[int, list[bytes]]] = []
    query = stream.start(
        stream.load(**options),
        lambda rows, _: seen.append((rows.rdd.getNumPartitions(), sorted(row.value for row in rows.collect()))),
    )
    query.awaitTermination(90)
    assert seen == [(tasks, sorted(values))]


def test_records_that_are_gone_fail_the_query_or_are_left_out(stream: ShareStream) -> None:
    """Records are deleted between the offset log and the replay; failOnDataLoss decides what happens."""
    stream.create().produce(60)
    (batch,) = stream.drain()
    stream.forget_commit(batch.number)
    delete_records(stream.bootstrap, stream.topic, 25)
    with pytest.raises(Exception, match=r"DataLoss: .*-0: offsets 0 to 59 .* failOnDataLoss=false"):
        stream.drain()
    (left,) = stream.drain(stream.load(failOnDataLoss=False))
    assert left.number == batch.number
    assert left.places == [place for place in batch.places if place[1] >= 25]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"startingOffsets": "earliest"}, "startingOffsets is not an option here: .*share.auto.offset.reset"),
        ({"ack": "never"}, "ack='never': must be commit or log"),
        ({"subscribePattern": "a.*", "assign": "{}"}, "2 problems: assign is not .*; subscribe and subscribePattern"),
        ({"maxRecordPerTrigger": "5"}, "did you mean maxRecordsPerTrigger?"),
    ],
)
def test_bad_options_are_reported_at_load(stream: ShareStream, options: dict[str, object], text: str) -> None:
    with pytest.raises(Exception, match=f"OptionsError: kafka-share: .*{text}"):
        stream.load(**options)


def test_a_schema_of_other_columns_is_refused(stream: ShareStream) -> None:
    stream.create()
    with pytest.raises(Exception, match=r"SchemaError: kafka-share: a schema may choose .* price is none of them"):
        stream.drain(stream.load_columns("price double"))


def test_a_topic_that_does_not_exist(stream: ShareStream) -> None:
    """The error is one line, after a trace that does not lead through the client."""
    with pytest.raises(
        Exception, match=f"\nshareq.*: subscribe: there is no topic {stream.topic}; create it"
    ) as failure:
        stream.drain()
    assert "reader.py" in str(failure.value)
    assert "driver.py" not in str(failure.value)


def test_brokers_that_are_away_are_waited_for_and_then_reported(stream: ShareStream) -> None:
    rows = stream.load(**{"kafka.bootstrap.servers": "127.0.0.1:1", "kafka.default.api.timeout.ms": 1500})
    with pytest.raises(Exception, match=r"Unreachable: .*127\.0\.0\.1:1"):
        stream.drain(rows)


def test_there_is_no_batch_reader_and_it_says_why(stream: ShareStream, spark: SparkSession) -> None:
    stream.create()
    reader = spark.read.format("kafka-share").option("kafka.bootstrap.servers", stream.bootstrap)
    rows = reader.option("kafka.group.id", stream.group).option("subscribe", stream.topic)
    with pytest.raises(
        Exception,
        match=r"Spark notifies a batch source of nothing .*readStream with .*availableNow=True.*shareq\.spark\.batches",
    ):
        rows.load().count()


def test_an_offset_of_a_newer_release_is_refused(stream: ShareStream) -> None:
    stream.create().produce(10)
    (batch,) = stream.drain()
    log = stream.folder / "checkpoint" / "offsets" / str(batch.number)
    log.write_text(log.read_text().replace('{"v": 1,', '{"v": 2,'))
    (log.parent / f".{log.name}.crc").unlink(missing_ok=True)
    with pytest.raises(Exception, match="offsets of version 2, and this release of shareq knows version 1"):
        stream.drain()


def test_spark_finds_the_source_by_itself_and_registering_it_does_no_harm(
    stream: ShareStream, spark: SparkSession
) -> None:
    """Spark's look-up of modules, `import shareq.spark` with a session, and `register` find the source.

    `register` works with and without a session.
    """
    import shareq.spark

    stream.spark = spark.newSession()  # knows nothing of what is registered in others
    stream.create()
    first = stream.produce(5)
    (batch,) = stream.drain()
    assert sorted(row.value for row in batch.rows) == sorted(first)
    shareq.spark.register(stream.spark)
    shareq.spark.register()
    second = stream.produce(5, start=5)
    (batch,) = stream.drain()
    assert sorted(row.value for row in batch.rows) == sorted(second)


def test_a_query_that_starts_adds_nothing_to_what_all_queries_share(stream: ShareStream, spark: SparkSession) -> None:
    """Spark's map of the workers' environment stays as it is.

    Spark writes it without a lock whenever a query starts. If one query enlarged it while another starts, it would be
    broken for good, and with it every later query of the session.
    """
    import shareq.spark

    shareq.spark.register(spark)
    manager = spark._jsparkSession.sessionState().dataSourceManager()
    variables = manager.lookupDataSource("kafka-share").dataSourceCls().envVars()
    before = set(variables)
    stream.create().produce(5)
    assert len(stream.drain()) == 1
    assert variables["SPARK_PYTHON_RUNTIME"] == "PYTHON_WORKER"
    assert set(variables) == before
