"""The executors' side without a session: ranges, kept connections, deleted records, a pickled reader."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Generator, Iterator

import pytest
from confluent_kafka.admin import AdminClient

from devtools.clients.admin import QUIET, create_topic, produce
from shareq.client.config import ClientConfig
from shareq.client.network import Network
from shareq.spark import executor
from shareq.spark.data_source import KafkaShareSource
from shareq.spark.executor import DataLoss
from shareq.spark.offsets import BatchRange, SharePartition
from shareq.spark.options import SourceOptions
from shareq.spark.planning import NEAR, TaskRanges
from shareq.spark.reader import ShareGroupStreamReader
from shareq.spark.versions import PySparkNeeded
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.spark.support.share_stream import delete_records

COLUMNS = ("offset", "value", "deliveryCount")


class Topic:
    """One partition with numbered values, and tasks that read ranges of it."""

    def __init__(self, bootstrap: str, name: str, count: int) -> None:
        self.config = ClientConfig.from_properties({"bootstrap.servers": bootstrap})
        self.bootstrap = bootstrap
        create_topic(bootstrap, name)
        produce(bootstrap, name, [(0, b"%d" % number) for number in range(count)], batch_records=100)
        network = Network(self.config)
        self.key = SharePartition(name, network.topic_ids([name])[name], 0)
        network.close()

    def read(self, *ranges: tuple[int, int], fail_on_data_loss: bool = True) -> list[tuple[int, bytes, int]]:
        task = TaskRanges(self.key, tuple(BatchRange(first, last, 1 + n) for n, (first, last) in enumerate(ranges)))
        return [
            tuple(row.values())
            for batch in executor.read(task, self.config, COLUMNS, fail_on_data_loss=fail_on_data_loss)
            for row in batch.to_pylist()
        ]

    def rows(self, *ranges: tuple[int, int]) -> list[tuple[int, bytes, int]]:
        return [
            (offset, b"%d" % offset, 1 + n)
            for n, (first, last) in enumerate(ranges)
            for offset in range(first, last + 1)
        ]


@pytest.fixture
def topic(broker: BrokerUnderTest, unique: Callable[[str], str]) -> Iterator[Topic]:
    yield Topic(broker.bootstrap, unique("topic"), 3000)
    for fetcher in executor._fetchers.values():
        fetcher.close()
    executor._fetchers.clear()


def test_exactly_the_ranges_near_and_far_within_a_batch_and_across(topic: Topic) -> None:
    ranges = [(3, 3), (5, 250), (260, 299), (300 + NEAR + 50, 300 + NEAR + 60), (2999, 2999)]
    assert topic.read(*ranges) == topic.rows(*ranges)
    assert topic.read(*ranges) == topic.rows(*ranges)  # as often as Spark likes


def test_a_worker_keeps_its_connections_but_not_after_an_error(topic: Topic) -> None:
    topic.read((0, 9))
    (fetcher,) = executor._fetchers.values()
    topic.read((10, 19))
    assert list(executor._fetchers.values()) == [fetcher]
    task = TaskRanges(topic.key, (BatchRange(0, 2999, 1),))
    reading = executor.read(task, topic.config, COLUMNS, fail_on_data_loss=True)
    assert isinstance(reading, Generator)
    next(reading)
    reading.close()  # given up, as by a limit
    assert not executor._fetchers
    assert topic.read((0, 9)) == topic.rows((0, 9))


def test_records_below_the_start_of_the_log(topic: Topic, caplog: pytest.LogCaptureFixture) -> None:
    delete_records(topic.bootstrap, topic.key.topic, 150)
    with pytest.raises(DataLoss, match=r"-0: offsets 10 to 199 belong to .* has 150 to 2999 now\. Option failOnData"):
        topic.read((10, 20), (100, 199))
    assert topic.read((10, 20), (100, 199), fail_on_data_loss=False) == topic.rows((10, 20), (100, 199))[61:]
    assert "failOnDataLoss=false goes on without them" in caplog.text
    assert topic.read((10, 20), fail_on_data_loss=False) == []


def test_a_log_that_lost_its_end(topic: Topic) -> None:
    """Records beyond the log's end are reported as lost, as after a power loss."""
    with pytest.raises(DataLoss, match="has 0 to 2999 now"):
        topic.read((3500, 3600))
    assert topic.read((3500, 3600), fail_on_data_loss=False) == []


def test_a_topic_that_was_deleted(topic: Topic) -> None:
    admin = AdminClient({"bootstrap.servers": topic.bootstrap, **QUIET})
    admin.delete_topics([topic.key.topic])[topic.key.topic].result(20)
    with pytest.raises(DataLoss, match="the topic was deleted"):
        topic.read((0, 9))
    assert topic.read((0, 9), fail_on_data_loss=False) == []


def test_the_reader_travels_without_what_the_runner_has(broker: BrokerUnderTest, unique: Callable[[str], str]) -> None:
    topic = unique("topic")
    create_topic(broker.bootstrap, topic)
    given = {"kafka.bootstrap.servers": broker.bootstrap, "kafka.group.id": unique("group"), "subscribe": topic}
    reader = ShareGroupStreamReader(SourceOptions.parse(given), COLUMNS)
    reader.prepareForTriggerAvailableNow()
    start = reader.initialOffset()
    assert reader.latestOffset(start, reader.getDefaultReadLimit()) is start
    assert reader.partitions(start, start) == []
    copy = pickle.loads(pickle.dumps(reader))
    assert copy.reportLatestOffset() is None
    assert reader.reportLatestOffset() is not None
    copy.stop()
    reader.stop()


def test_an_older_pyspark_is_reported_when_the_stream_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.version", lambda _: "4.1.0")
    source = KafkaShareSource({"subscribe": "t"})
    with pytest.raises(PySparkNeeded, match=r"needs PySpark 4.2 or newer: .* \(this is 4.1.0\)"):
        source.streamReader(None)
