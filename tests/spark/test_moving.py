"""Queries whose topics and share groups `shareq migrate` moves to another cluster, as docs/moving.md describes.

`--broker=apache` and `--broker=node` test Apache Kafka and a node; the other cluster is shareq.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from shareq.testing import Broker
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.spark.support.share_stream import Batch, ShareStream, collect_into
from tests.support.clients.shareq_cli import Shell

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FIRST, MORE = 100, 40


@pytest.fixture(params=["there", "back"])
def ends(request: pytest.FixtureRequest, broker: BrokerUnderTest) -> Iterator[tuple[str, str]]:
    """Yield the addresses of both clusters: the one under test is the target, or the source."""
    with Broker() as other:
        ends = other.bootstrap, broker.bootstrap
        yield ends if request.param == "there" else ends[::-1]


@pytest.fixture
def stream(
    spark: SparkSession, ends: tuple[str, str], unique: Callable[[str], str], tmp_path: Path
) -> Iterator[ShareStream]:
    stream = ShareStream(spark, ends[0], unique("moved"), unique("movers"), tmp_path).create()
    stream.produce(FIRST)
    assert values(stream.drain()) == list(range(FIRST))
    yield stream
    Shell(ends[1]).run("topics", "delete", stream.topic, "--yes")


def values(batches: list[Batch]) -> list[int]:
    return sorted(int(row["value"]) for batch in batches for row in batch.rows)


def moved(stream: ShareStream, to: str) -> ShareStream:
    """Move the topic and the group. Return the stream at the new address, with the same checkpoint."""
    words = (stream.bootstrap, to, "--topic", stream.topic, "--group", stream.group)
    Shell(stream.bootstrap).ok("migrate", *words)
    Shell(stream.bootstrap).ok("migrate", *words, "--cut-over")
    return replace(stream, bootstrap=to)


def test_a_query_that_has_ended_by_itself_goes_on_with_its_checkpoint(
    stream: ShareStream, ends: tuple[str, str]
) -> None:
    """With `availableNow` the query accepts its last records before it ends, so none comes again."""
    stream.produce(MORE, start=FIRST)
    new = moved(stream, ends[1])
    new.produce(MORE, start=FIRST + MORE)
    assert values(new.drain()) == list(range(FIRST, FIRST + 2 * MORE))
    assert new.lag() == 0


def test_a_micro_batch_that_was_not_done_stops_the_query_and_its_records_come_in_another_one(
    stream: ShareStream, ends: tuple[str, str]
) -> None:
    """The records had another topic id at the source, and no query may confuse them.

    The source accepted no record of that micro-batch, so they are delivered again in another one.
    """
    stream.produce(MORE, start=FIRST)

    def fail(_rows: object, _number: int) -> None:
        raise ArithmeticError("a sink that fails")

    with pytest.raises(Exception, match="a sink that fails"):
        stream.start(stream.load(), fail).awaitTermination(60)
    new = moved(stream, ends[1])
    with pytest.raises(Exception, match="belong to a micro-batch, and some of their records are gone"):
        new.start(new.load(), collect_into([])).awaitTermination(60)
    taken = new.drain(new.load(failOnDataLoss="false"))
    assert values(taken) == list(range(FIRST, FIRST + MORE))
    assert new.lag() == 0
