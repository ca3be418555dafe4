"""`shareq.spark.batches`: a share group read without a streaming query, each batch accepted when it is done."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import shareq.spark
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.spark.support.share_stream import ShareStream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class BodyFailed(Exception):
    pass


@pytest.fixture
def stream(spark: SparkSession, broker: BrokerUnderTest, unique: Callable[[str], str], tmp_path: Path) -> ShareStream:
    return ShareStream(spark, broker.bootstrap, unique("topic"), unique("group"), tmp_path, partitions=2)


def options(stream: ShareStream, **more: object) -> dict[str, object]:
    return {
        "kafka.bootstrap.servers": stream.bootstrap,
        "kafka.group.id": stream.group,
        "subscribe": stream.topic,
        **more,
    }


def test_each_batch_is_accepted_when_the_next_is_asked_for(stream: ShareStream, spark: SparkSession) -> None:
    """A run reads what there was at its start, also when it is read twice; what comes later waits for the next run."""
    stream.create()
    expected = stream.produce(60)
    found: list[bytes] = []
    for rows in shareq.spark.batches(spark, options(stream, maxRecordsPerTrigger=25)):
        taken = [row.value for row in rows.collect()]
        assert rows.count() == len(taken) <= 25
        assert stream.lag() == 60 - len(found)
        found += taken
        if len(found) == 60:
            stream.produce(5, start=60)
    assert sorted(found) == sorted(expected)
    assert stream.lag() == 5


def test_a_batch_whose_body_fails_is_delivered_again(stream: ShareStream, spark: SparkSession) -> None:
    stream.create()
    expected = stream.produce(30)

    def fail() -> None:
        for rows in shareq.spark.batches(spark, options(stream)):
            assert rows.count() == 30
            raise BodyFailed

    with pytest.raises(BodyFailed):
        fail()
    (again,) = (rows.collect() for rows in shareq.spark.batches(spark, options(stream, includeDeliveryCount=True)))
    assert sorted(row.value for row in again) == sorted(expected)
    assert {row.deliveryCount for row in again} == {2}
    assert stream.lag() == 0


def test_an_empty_group_has_no_batch_and_ack_is_refused(stream: ShareStream, spark: SparkSession) -> None:
    stream.create()
    assert list(shareq.spark.batches(spark, options(stream))) == []
    with pytest.raises(ValueError, match="ack is for streaming queries"):
        list(shareq.spark.batches(spark, options(stream, ack="log")))
