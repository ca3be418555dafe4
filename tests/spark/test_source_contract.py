"""The contract of docs/spark.md, sentence by sentence, in real sessions."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import AcknowledgeType, Message

from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.support.share_ledger import Ledger, members, run_until
from tests.spark.support.share_stream import Batch, ShareStream, collect_into, reported_by, until

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture
def stream(spark: SparkSession, broker: BrokerUnderTest, unique: Callable[[str], str], tmp_path: Path) -> ShareStream:
    return ShareStream(spark, broker.bootstrap, unique("topic"), unique("group"), tmp_path, partitions=2)


DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "spark.md"


NOTHING_ACKNOWLEDGED = -1


class SinkFailed(Exception):
    pass


def test_a_record_is_acknowledged_only_after_spark_has_committed_its_micro_batch(stream: ShareStream) -> None:
    """The broker has finished no record while the sink works, and all of them after the commit."""
    stream.create().produce(10)
    stream.drain()
    stream.produce(60, start=10)
    seen: list[tuple[int, int]] = []
    query = stream.start(
        stream.load(maxRecordsPerTrigger=30), lambda rows, number: seen.append((rows.count(), stream.lag()))
    )
    query.awaitTermination(90)
    left = 60
    for rows, lag in seen:
        assert lag == left
        left -= rows
    assert left == stream.lag() == 0
    assert stream.committed() == stream.logged().keys()


def test_a_failing_sink_keeps_its_records_from_being_acknowledged_and_gets_them_again(stream: ShareStream) -> None:
    """The same micro-batch runs, with the same records, after foreachBatch raised and the query was restarted."""
    stream.create()
    values = stream.produce(40)
    failed: list[Batch] = []

    def fail(rows: DataFrame, number: int) -> None:
        collect_into(failed)(rows, number)
        raise SinkFailed

    with pytest.raises(Exception, match="SinkFailed"):
        stream.start(stream.load(), fail).awaitTermination(90)
    assert stream.lag() in (40, NOTHING_ACKNOWLEDGED)
    more = stream.produce(10, start=40)
    batches = stream.drain()
    assert batches[0] == failed[0]
    assert sorted(row.value for batch in batches for row in batch.rows) == sorted([*values, *more])
    assert stream.lag() == 0


def test_a_micro_batch_replayed_from_a_checkpoint_holds_exactly_the_same_records(stream: ShareStream) -> None:
    """The micro-batch's records reached the sink, but Spark's commit log lacks it."""
    stream.create().produce(60)
    before = stream.drain()
    logged = stream.logged()
    stream.forget_commit(before[-1].number)
    stream.produce(10, start=60)
    replayed, *fresh = stream.drain()
    assert replayed == before[-1]
    assert stream.logged()[replayed.number] == logged[replayed.number]
    places = [place for batch in (*before, *fresh) for place in batch.places]
    assert len(places) == len(set(places)) == 70


def test_records_are_replayed_even_when_the_group_is_done_with_them(stream: ShareStream) -> None:
    """The log is read as long as it has the records, whatever the share group's state is."""
    stream.create().produce(20)
    before = stream.drain()[-1]
    assert stream.lag() == 0
    stream.forget_commit(before.number)
    assert stream.drain() == [before]


def test_each_record_is_in_exactly_one_micro_batch_of_a_checkpoint(stream: ShareStream) -> None:
    """A query that fails after every second micro-batch, and loses its locks each time, recognises redeliveries."""
    stream.create()
    taken: dict[int, list[tuple[int, int]]] = {}
    for attempt in range(4):
        stream.produce(30, start=30 * attempt)

        def keep(rows: DataFrame, number: int, attempt: int = attempt) -> None:
            batch: list[Batch] = []
            collect_into(batch)(rows, number)
            if batch:
                assert taken.setdefault(number, batch[0].places) == batch[0].places
            if attempt % 2 == 0:
                raise SinkFailed

        query = stream.start(stream.load(maxRecordsPerTrigger=20), keep)
        if attempt % 2 == 0:
            with pytest.raises(Exception, match="SinkFailed"):
                query.awaitTermination(90)
        else:
            query.awaitTermination(90)
    places = [place for batch in taken.values() for place in batch]
    assert len(places) == len(set(places)) == 120
    assert stream.lag() == 0


def test_the_example_has_every_record_once(stream: ShareStream) -> None:
    """The example of docs/spark.md is killed between its sink and Spark's commit log."""
    stream.create()
    values = stream.produce(50)
    run_example(stream)
    stream.forget_commit(max(stream.committed()))
    values += stream.produce(50, start=50)
    run_example(stream)
    written = [row.value for row in stream.spark.read.parquet(str(stream.folder / "sink")).collect()]
    assert sorted(written) == sorted(values)
    assert stream.committed() == stream.logged().keys()


def test_another_member_may_receive_what_this_query_lost_before_acknowledging(stream: ShareStream) -> None:
    """A failed query's records go to the other member, and are replayed here: at least once within the group."""
    stream.create().produce(30)

    def fail(rows: DataFrame, number: int) -> None:
        rows.collect()
        raise SinkFailed

    with pytest.raises(Exception, match="SinkFailed"):
        stream.start(stream.load(), fail).awaitTermination(90)
    ledger = take_all(stream, 30)
    batches = stream.drain()
    assert set(batches[0].places) <= ledger.finished.keys()
    assert {ledger.counts[place][0] for place in batches[0].places} == {2}


def test_a_competing_member_and_the_query_share_the_topic_without_overlap(stream: ShareStream) -> None:
    """Each record is delivered to only one of them, as long as no lock is lost."""
    stream.create()
    rows: list[Batch] = []
    ledger = Ledger()
    query = stream.start(stream.load(maxRecordsPerTrigger=40), collect_into(rows), processingTime="0 seconds")
    try:
        until(lambda: 0 in stream.committed(), query)  # it is a member, and there is nothing yet
        with members(stream.bootstrap, stream.group, stream.topic, ledger, poll_records=20) as joined:
            for part in range(6):
                stream.produce(100, start=100 * part)
                joined[0].step(0.2)
            run_until(joined, lambda: stream.lag() == 0)
    finally:
        query.stop()
    here = [place for batch in rows for place in batch.places]
    assert len(here) == len(set(here))
    assert not set(here) & ledger.finished.keys()
    assert len(here) + len(ledger.finished) == 600
    assert here
    assert ledger.finished


def test_ack_log_acknowledges_when_the_offset_log_has_the_range(stream: ShareStream) -> None:
    """Other members get none of the records while the sink works, and they are replayed after it fails."""
    stream.partitions = 1
    stream.create().produce(40)
    seen: list[int] = []
    failed: list[Batch] = []

    def fail(rows: DataFrame, number: int) -> None:
        collect_into(failed)(rows, number)
        seen.append(stream.lag())
        raise SinkFailed

    with pytest.raises(Exception, match="SinkFailed"):
        stream.start(stream.load(ack="log"), fail).awaitTermination(90)
    assert seen == [0]
    assert stream.drain(stream.load(ack="log")) == failed


def test_ack_log_the_group_no_longer_protects_what_an_abandoned_checkpoint_had(stream: ShareStream) -> None:
    """Another checkpoint gets the unfinished micro-batch with ack=commit, and does not with ack=log."""
    for ack, left in (("log", 0), ("commit", 40)):
        one = ShareStream(
            stream.spark, stream.bootstrap, f"{stream.topic}-{ack}", f"{stream.group}-{ack}", stream.folder
        )
        one.create().produce(40)

        def fail(rows: DataFrame, number: int) -> None:
            rows.collect()
            raise SinkFailed

        with pytest.raises(Exception, match="SinkFailed"):
            one.start(one.load(ack=ack), fail, checkpoint=f"one-{ack}").awaitTermination(90)
        assert sum(len(batch.rows) for batch in one.drain(one.load(ack=ack), checkpoint=f"two-{ack}")) == left


def test_two_queries_in_one_group_share_one_topic_without_overlap(stream: ShareStream) -> None:
    stream.create()
    one: list[Batch] = []
    two: list[Batch] = []
    queries = [
        stream.start(
            stream.load(maxRecordsPerTrigger=50), collect_into(one), checkpoint="one", processingTime="0 seconds"
        ),
        stream.start(
            stream.load(maxRecordsPerTrigger=50), collect_into(two), checkpoint="two", processingTime="0 seconds"
        ),
    ]
    try:
        until(lambda: all(0 in stream.committed(name) for name in ("one", "two")))  # both are members, without records
        for part in range(8):
            stream.produce(100, start=100 * part)
        until(lambda: sum(len(batch.rows) for batch in (*one, *two)) >= 800, queries[0])
        until(lambda: stream.lag() == 0, queries[1])
    finally:
        for query in queries:
            query.stop()
    places = [place for batch in (*one, *two) for place in batch.places]
    assert len(places) == len(set(places)) == 800
    assert one
    assert two


def test_max_delivery_count_rejects_at_acquisition(stream: ShareStream) -> None:
    """Records that a member released too often are rejected and counted, not emitted; the others follow."""
    stream.create().produce(20)
    ledger = Ledger()
    with members(stream.bootstrap, stream.group, stream.topic, ledger, decide=release_all) as joined:
        run_until(joined, lambda: len(ledger.released) >= 20)
    stream.produce(10, start=20)
    taken: list[Batch] = []
    rows = stream.load(maxDeliveryCount=2, includeDeliveryCount=True)
    query = stream.start(rows, collect_into(taken))
    query.awaitTermination(90)
    assert sum(len(batch.rows) for batch in taken) == 10
    assert not {place for batch in taken for place in batch.places} & ledger.released
    assert {row.deliveryCount for batch in taken for row in batch.rows} == {1}
    assert reported_by(query)[-1]["total"]["rejected"] == 20
    assert stream.lag() == 0


def test_a_self_union_reads_every_record_on_both_sides(stream: ShareStream) -> None:
    """The records are planned and read twice, but acquired once."""
    stream.create()
    values = stream.produce(30)
    rows = stream.load()
    batches = stream.drain(rows.union(rows))
    assert sorted(row.value for batch in batches for row in batch.rows) == sorted([*values, *values])


def test_evaluating_a_micro_batch_again_gives_the_same(stream: ShareStream) -> None:
    stream.create().produce(30)
    found: list[list[list[object]]] = []
    query = stream.start(stream.load(), lambda rows, _: found.append([sorted(rows.collect()) for _ in range(3)]))
    query.awaitTermination(90)
    assert all(one == two == three for one, two, three in found)
    assert sum(len(one) for one, _, _ in found) == 30


def test_max_records_per_trigger_is_kept(stream: ShareStream) -> None:
    stream.create()
    stream.produce(95, batch_records=40)
    batches = stream.drain(stream.load(maxRecordsPerTrigger=20))
    assert all(len(batch.rows) <= 20 for batch in batches)
    assert len({place for batch in batches for place in batch.places}) == 95


def test_processing_time_and_progress(stream: ShareStream) -> None:
    """New records are read while the query runs; its progress events have lag, locks and acknowledgements."""
    stream.create()
    rows: list[Batch] = []
    query = stream.start(stream.load(), collect_into(rows), processingTime="100 milliseconds")
    try:
        for part in range(3):
            stream.produce(20, start=20 * part)
            until(lambda: sum(len(batch.rows) for batch in rows) >= 20 * (part + 1), query)  # noqa: B023
        until(lambda: stream.lag() == 0, query)
        until(lambda: len(reported_by(query)) >= 3, query)
    finally:
        query.stop()
    reported = reported_by(query)
    assert [one["acquired"] for one in reported] == [len(batch.rows) for batch in rows]
    assert reported[-1]["total"]["acquired"] == 60
    assert reported[-1]["total"]["accepted"] == 60 - len(rows[-1].rows)
    assert reported[-1].keys() >= {
        "lag",
        "locksHeld",
        "unconfirmed",
        "renewed",
        "redelivered",
        "swallowed",
        "rejected",
        "lost",
    }


def test_a_stopped_query_gives_its_records_back_at_once(stream: ShareStream) -> None:
    """The query leaves the group after SIGTERM, so another member gets the records without waiting for the locks."""
    stream.create().produce(20)
    taken: list[Batch] = []

    def sink(rows: DataFrame, number: int) -> None:
        collect_into(taken)(rows, number)
        if taken:
            joined.append(stream.members())
            query.stop()

    joined: list[int] = []
    query = stream.start(stream.load(), sink, processingTime="0 seconds")
    until(lambda: not query.isActive)
    assert joined == [1]
    until(lambda: stream.members() == 0, timeout_s=20)  # its session would last 45
    ledger = take_all(stream, 20)
    assert ledger.finished.keys() == set(taken[0].places)


def run_example(stream: ShareStream) -> None:
    _creates_the_topic, example, *_ = re.findall(
        r"^```python\n(.*?)^```", DOCUMENT.read_text(), re.MULTILINE | re.DOTALL
    )
    for there, here in {
        "localhost:9092": stream.bootstrap,
        '"sorting"': f'"{stream.group}"',
        '"flights"': f'"{stream.topic}"',
        "sink/": f"{stream.folder}/sink/",
        "sink-checkpoint": f"{stream.folder}/checkpoint",
    }.items():
        assert there in example
        example = example.replace(there, here)
    names: dict[str, Any] = {"spark": stream.spark}
    exec(compile(example, str(DOCUMENT), "exec"), names)
    assert names["query"].awaitTermination(90)


def release_all(_: Message) -> AcknowledgeType:
    return AcknowledgeType.RELEASE


def take_all(stream: ShareStream, records: int) -> Ledger:
    ledger = Ledger()
    with members(stream.bootstrap, stream.group, stream.topic, ledger) as joined:
        run_until(joined, lambda: len(ledger.finished) >= records, timeout_s=25)  # locks would last 30
    return ledger
