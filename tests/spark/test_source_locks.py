"""Short locks: renewed while Spark works, up to a limit, and recognised when they were lost."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.support.share_ledger import Ledger, members
from tests.spark.support.share_stream import Batch, ShareStream, collect_into, reported_by, until

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LOCK_S = 4
"""The lock duration. Locks are renewed when a third of it is over; a busy machine may take the rest for that."""
BROKER_SETTINGS = {
    "group.share.min.record.lock.duration.ms": "1000",
    "group.share.record.lock.duration.ms": f"{1000 * LOCK_S}",
}


@pytest.fixture
def stream(spark: SparkSession, broker: BrokerUnderTest, unique: Callable[[str], str], tmp_path: Path) -> ShareStream:
    return ShareStream(spark, broker.bootstrap, unique("topic"), unique("group"), tmp_path).create()


def test_a_micro_batch_that_takes_longer_than_the_lock_keeps_its_records(stream: ShareStream) -> None:
    """The locks are renewed all the time: another member, which keeps asking, gets none of the records."""
    stream.produce(30)
    ledger = Ledger()
    taken: list[Batch] = []

    def slow(rows: DataFrame, number: int) -> None:
        collect_into(taken)(rows, number)
        with members(stream.bootstrap, stream.group, stream.topic, ledger) as joined:
            over = time.monotonic() + 1.5 * LOCK_S
            while time.monotonic() < over:
                joined[0].step(0.2)

    stream.start(stream.load(), slow).awaitTermination(90)
    assert sum(len(batch.rows) for batch in taken) == 30
    assert not ledger.counts
    assert stream.lag() == 0


def test_renewing_ends_with_max_renew_ms(stream: ShareStream) -> None:
    """Others may have the records of a query that hangs, and the query has none of them twice."""
    stream.produce(30)
    ledger = Ledger()
    taken: list[Batch] = []

    def hang(rows: DataFrame, number: int) -> None:
        collect_into(taken)(rows, number)
        if number == 0:
            with members(stream.bootstrap, stream.group, stream.topic, ledger) as joined:
                over = time.monotonic() + 60
                while len(ledger.finished) < 30 and time.monotonic() < over:
                    joined[0].step(0.2)

    stream.start(stream.load(maxRenewMs=1000), hang).awaitTermination(120)
    assert ledger.finished.keys() == set(taken[0].places)
    assert len(taken) == 1


def test_what_came_back_after_its_lock_was_lost_is_swallowed_and_counted(stream: ShareStream) -> None:
    """Records that come again because their locks expired while the sink worked are accepted, but not emitted."""
    stream.produce(30)
    taken: list[Batch] = []
    slept: list[int] = []

    def slow(rows: DataFrame, number: int) -> None:
        collect_into(taken)(rows, number)
        if taken and not slept:  # on Apache Kafka the first micro-batch is empty: the member has no partitions yet
            slept.append(number)
            time.sleep(1.2 * LOCK_S)
            stream.produce(10, start=30)

    query = stream.start(stream.load(maxRenewMs=0), slow, processingTime="0 seconds")
    try:
        deadline = time.monotonic() + 60
        while (len(taken) < 2 or stream.lag()) and time.monotonic() < deadline:
            time.sleep(0.1)
        stream.produce(1, start=40)  # one more micro-batch, with which everything is reported
        until(lambda: reported_by(query)[-1]["total"]["acquired"] == 71, query)
    finally:
        query.stop()
    places = [place for batch in taken for place in batch.places]
    assert len(places) == len(set(places)) >= 40
    total = reported_by(query)[-1]["total"]
    assert total["swallowed"] == total["lost"] == 30
    assert total["renewed"] == 0
