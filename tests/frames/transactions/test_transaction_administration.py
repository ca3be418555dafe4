"""DescribeTransactions, ListTransactions, DescribeProducers, WriteTxnMarkers, and the feature's levels, over frames."""

from __future__ import annotations

import sys

import pytest

from devtools.clients.offsets_client import OffsetsClient, Row
from devtools.clients.requests import batch, produce
from devtools.clients.transactor import JAVA_TV1, JAVA_TV2, LIBRDKAFKA, Transactor, Versions
from devtools.in_memory.mock_transport import BrokerWorld, MockConnection
from shareq.coordinator.routing import group_partition_for
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    TopicRequest,
)
from shareq.protocol.generated.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TransactionState,
)
from shareq.protocol.generated.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from shareq.protocol.generated.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from shareq.protocol.names import CONSUMER_OFFSETS, TRANSACTION_STATE
from shareq.protocol.records.control import ControlType
from tests.support.kafka.transactions import batches_of
from tests.support.worlds.log_world import read_all

NONE = ErrorCode.NONE


class World:
    """A broker with topic `a`, and a connection. Dots in the names of properties are underscores."""

    def __init__(self, **properties: str) -> None:
        self.world = BrokerWorld({name.replace("_", "."): value for name, value in properties.items()})
        self.ids = {"a": self.world.create_topic("a", 2).topic_id}
        self.client: MockConnection = self.world.connect()

    def producer(self, transactional_id: str = "t", versions: Versions = JAVA_TV2) -> Transactor:
        producer = Transactor(self.client, versions, transactional_id)
        assert producer.init() is NONE
        return producer

    def described(self, *transactional_ids: str) -> list[TransactionState]:
        request = DescribeTransactionsRequest(list(transactional_ids))
        return self.client.call(request, 0, DescribeTransactionsResponse).transaction_states

    def listed(self, version: int = 2, **filters: object) -> list[str]:
        request = ListTransactionsRequest(**filters)  # type: ignore[arg-type]
        response = self.client.call(request, version, ListTransactionsResponse)
        assert response.error_code == NONE
        return sorted(row.transactional_id for row in response.transaction_states)

    def producers(self, topic: str, partition: int) -> PartitionResponse:
        request = DescribeProducersRequest([TopicRequest(topic, [partition])])
        return self.client.call(request, 0, DescribeProducersResponse).topics[0].partitions[0]

    def write_markers(
        self,
        producer: Transactor,
        *at: tuple[str, int],
        commit: bool = False,
        epoch: int | None = None,
        version: int = 2,
    ) -> dict[tuple[str, int], ErrorCode]:
        marker = WritableTxnMarker(
            producer.producer_id,
            producer.epoch if epoch is None else epoch,
            commit,
            [WritableTxnMarkerTopic(topic, [partition]) for topic, partition in at],
            coordinator_epoch=0,
        )
        if version >= 2:
            marker.transaction_version = 2 if producer.bumps else 0
        response = self.client.call(WriteTxnMarkersRequest([marker]), version, WriteTxnMarkersResponse)
        (result,) = response.markers
        assert result.producer_id == producer.producer_id
        return {
            (topic.name, row.partition_index): ErrorCode(row.error_code)
            for topic in result.topics
            for row in topic.partitions
        }


@pytest.fixture
def world() -> World:
    return World()


# -- descriptions


def test_described(world: World, producer: Transactor) -> None:
    producer.write("a", b"x", partition=1)
    row, nobody, empty = world.described("t", "nobody", "")
    assert (row.error_code, row.transaction_state, row.producer_id, row.producer_epoch) == (0, "Ongoing", 0, 0)
    assert (row.transaction_timeout_ms, row.transaction_start_time_ms) == (60_000, world.world.clock.wall_ms())
    assert [(topic.topic, topic.partitions) for topic in row.topics] == [("a", [1])]
    assert nobody.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    assert empty.error_code == ErrorCode.INVALID_REQUEST
    producer.commit()
    (row,) = world.described("t")
    assert (row.transaction_state, row.topics) == ("CompleteCommit", [])


def test_listed(world: World) -> None:
    for name in ("one", "two", "other"):
        world.producer(name)
    ongoing = world.producer("ongoing")
    ongoing.write("a", b"x")
    world.world.clock.advance(1_000)
    assert world.listed(0) == ["one", "ongoing", "other", "two"]
    assert world.listed(0, state_filters=["Ongoing"]) == ["ongoing"]
    assert world.listed(0, producer_id_filters=[0, 1]) == ["one", "two"]
    assert world.listed(1, state_filters=["Ongoing"], duration_filter=1_000) == []
    assert world.listed(1, state_filters=["Ongoing"], duration_filter=999) == ["ongoing"]
    assert world.listed(2, transactional_id_pattern="o.*e") == ["one"]
    assert world.listed(2, transactional_id_pattern="") == ["one", "ongoing", "other", "two"]


def test_a_filter_that_nobody_knows(world: World) -> None:
    world.producer()
    request = ListTransactionsRequest(state_filters=["Empty", "Nonsense"])
    response = world.client.call(request, 2, ListTransactionsResponse)
    assert response.unknown_state_filters == ["Nonsense"]
    assert [row.transactional_id for row in response.transaction_states] == ["t"]


@pytest.mark.parametrize("pattern", ["(", "a{2,1}", r"(a)\1"])
def test_a_pattern_that_is_none(pattern: str) -> None:
    request = ListTransactionsRequest(transactional_id_pattern=pattern)
    response = World().client.call(request, 2, ListTransactionsResponse)
    assert response.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION


def test_without_google_re2_a_pattern_is_refused_and_the_other_filters_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "re2", None)
    world = World()
    world.producer("one")
    request = ListTransactionsRequest(transactional_id_pattern="o.*")
    response = world.client.call(request, 2, ListTransactionsResponse)
    assert response.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION
    assert world.listed(2, state_filters=["Empty"]) == ["one"]


def test_nothing_is_listed_of_a_fresh_broker(world: World) -> None:
    assert world.listed() == []
    assert world.described("t")[0].error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND


def test_producers(world: World) -> None:
    assert world.producers("a", 0).active_producers == []
    producer = world.producer()
    assert produce(world.client, "a", batch(b"plain")).error_code == NONE
    producer.write("a", b"x", b"y")
    (row,) = world.producers("a", 0).active_producers
    assert (row.producer_id, row.producer_epoch, row.last_sequence) == (0, 0, 1)
    assert (row.coordinator_epoch, row.current_txn_start_offset) == (-1, 1)
    producer.commit()
    (row,) = world.producers("a", 0).active_producers
    assert (row.producer_epoch, row.last_sequence) == (1, -1)
    assert (row.coordinator_epoch, row.current_txn_start_offset) == (0, -1)


@pytest.mark.parametrize(
    ("topic", "partition", "error"),
    [
        ("a", 2, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("a", -1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("nowhere", 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("a b", 0, ErrorCode.INVALID_TOPIC_EXCEPTION),
    ],
)
def test_producers_of_no_partition(topic: str, partition: int, error: ErrorCode) -> None:
    assert World().producers(topic, partition).error_code == error


# -- markers past the coordinator


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("versions", [JAVA_TV1, JAVA_TV2], ids=["tv1", "tv2"])
def test_an_administrator_aborts_a_hanging_transaction(version: int, versions: Versions, world: World) -> None:
    producer = world.producer(versions=versions)
    producer.write("a", b"x")
    log = world.world.folder.logs.get("a", 0)
    assert log.last_stable_offset == 0
    # A client of transaction version 2 has a later epoch coming, and so has to be ended in one.
    epoch = producer.epoch + (1 if versions is JAVA_TV2 and version == 2 else 0)
    assert world.write_markers(producer, ("a", 0), epoch=epoch, version=version) == {("a", 0): NONE}
    assert log.last_stable_offset == log.high_watermark == 2
    assert [marker for header, marker in batches_of(log) if header.is_control] == [ControlType.ABORT]


def test_markers_that_are_refused(world: World) -> None:
    first = world.producer(versions=JAVA_TV1)
    second = world.producer(versions=JAVA_TV1)
    second.write("a", b"x")
    assert world.write_markers(first, ("a", 0), ("a", 7), ("nowhere", 0)) == {
        ("a", 0): ErrorCode.INVALID_PRODUCER_EPOCH,
        ("a", 7): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ("nowhere", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }


def test_a_marker_of_version_2_needs_a_new_epoch(world: World, producer: Transactor) -> None:
    """KIP-890: with the old epoch a late marker could end the next transaction."""
    producer.write("a", b"x")
    assert world.write_markers(producer, ("a", 0)) == {("a", 0): ErrorCode.INVALID_PRODUCER_EPOCH}
    producer.commit()
    assert world.write_markers(producer, ("a", 0), commit=True) == {("a", 0): NONE}, "again: as in Apache Kafka"


@pytest.mark.parametrize("commit", [True, False])
def test_markers_for_offsets(commit: bool, world: World, producer: Transactor) -> None:
    producer.commit_offsets("g", {("a", 0): 5})
    at = (CONSUMER_OFFSETS, group_partition_for("g", 50))
    assert world.write_markers(producer, at, commit=commit, epoch=producer.epoch + 1) == {at: NONE}
    offsets = OffsetsClient(world.client, world.ids)
    assert offsets.fetch([("a", 0)], stable=True)[1] == {("a", 0): Row(5 if commit else -1)}


def test_no_markers() -> None:
    assert World().client.call(WriteTxnMarkersRequest(), 2, WriteTxnMarkersResponse).markers == []


# -- transaction.version


@pytest.mark.parametrize(("level", "value_versions"), [(0, {0}), (1, {1}), (2, {1})])
def test_records_by_the_level_of_the_feature(level: int, value_versions: set[int], world: World) -> None:
    world.world.folder.metadata.set_features({"transaction.version": level})
    producer = world.producer(versions=LIBRDKAFKA)
    producer.write("a", b"x")
    producer.commit()
    log = world.world.folder.logs.get(TRANSACTION_STATE, group_partition_for("t", 50))
    values = [record.value for record in read_all(log)]
    assert {int.from_bytes(value[:2], "big") for value in values if value is not None} == value_versions
    world.world.restart()
    world.client = producer.client = world.world.connect()
    assert producer.write("a", b"y") is NONE
    assert producer.commit() is NONE


@pytest.mark.parametrize(("level", "epoch"), [(0, 1), (1, 1), (2, 1)])
def test_fencing_by_the_level_of_the_feature(level: int, epoch: int, world: World) -> None:
    """The broker's own abort follows the broker's level, whatever the producer uses."""
    world.world.folder.metadata.set_features({"transaction.version": level})
    first = world.producer(versions=LIBRDKAFKA)
    first.write("a", b"x")
    assert Transactor(world.client, LIBRDKAFKA).init() is ErrorCode.CONCURRENT_TRANSACTIONS
    (row,) = world.producers("a", 0).active_producers
    assert (row.producer_epoch, row.current_txn_start_offset) == (epoch, -1)
    second = world.producer(versions=LIBRDKAFKA)
    assert second.epoch == epoch + 1
