"""Transactions of many partitions, and many transactions at once: some in each turn of the loop."""

from __future__ import annotations

import pytest

from devtools.clients.transactor import JAVA_TV1, Transactor
from devtools.in_memory.mock_transport import BrokerWorld
from shareq.broker.foundation.turn_budget import LOOK, TURN_ELEMENTS
from shareq.broker.handlers.transactions import describe_producers
from shareq.broker.transactions.markers import MARKER_ELEMENTS, MarkerWriter
from shareq.coordinator.transaction.shard import TransactionCoordinatorShard
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    ProducerState,
    TopicRequest,
)
from shareq.protocol.generated.describe_transactions import DescribeTransactionsRequest, DescribeTransactionsResponse
from shareq.protocol.generated.end_txn import EndTxnRequest, EndTxnResponse
from shareq.protocol.generated.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from shareq.protocol.generated.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from tests.support.clients.access import STANDARD
from tests.support.worlds.counted_work import Work

NONE = ErrorCode.NONE


def test_a_transaction_of_many_partitions_ends_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    world, work = BrokerWorld(), Work()
    world.create_topic("t", 300)
    client, neighbour = world.connect(), world.connect()
    producer = Transactor(client, JAVA_TV1)
    assert producer.init() is NONE
    assert set(producer.add("t", *range(300))) == {NONE}
    monkeypatch.setattr(MarkerWriter, "write", work.count(MarkerWriter.write))
    client.send(EndTxnRequest("t", producer.producer_id, producer.epoch, True), 3)
    work.run(world, neighbour)
    assert client.receive(EndTxnResponse).error_code == NONE
    assert sum(work.ticks) == 300
    assert max(work.ticks) <= TURN_ELEMENTS // MARKER_ELEMENTS
    for partition in range(300):
        producers = world.folder.logs.get("t", partition).producers
        assert producers.has_ended(producer.producer_id, producer.epoch)
    (row,) = client.call(DescribeTransactionsRequest(["t"]), 0, DescribeTransactionsResponse).transaction_states
    assert row.transaction_state == "CompleteCommit"


def test_many_transactions_are_described_and_listed_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    world, work = BrokerWorld(), Work()
    client, neighbour = world.connect(), world.connect()
    names = [f"x{at}" for at in range(60)]
    for name in names:
        assert Transactor(client, JAVA_TV1, name).init() is NONE
    used = len(list(world.folder.transactions.coordinator.partitions))
    assert used > 4 * TURN_ELEMENTS // LOOK
    for method in ("describe", "list_transactions"):
        function = getattr(TransactionCoordinatorShard, method)
        monkeypatch.setattr(TransactionCoordinatorShard, method, work.count(function))
    client.send(DescribeTransactionsRequest(names), 0)
    work.run(world, neighbour)
    described = client.receive(DescribeTransactionsResponse).transaction_states
    assert [(row.transactional_id, row.transaction_state) for row in described] == [(name, "Empty") for name in names]
    assert (max(work.ticks), sum(work.ticks)) == (TURN_ELEMENTS // LOOK, len(names))
    work.ticks.clear()
    client.send(ListTransactionsRequest(), 2)
    work.run(world, neighbour)
    listed = client.receive(ListTransactionsResponse).transaction_states
    assert sorted(row.transactional_id for row in listed) == sorted(names)
    assert (max(work.ticks), sum(work.ticks)) == (TURN_ELEMENTS // LOOK, used)


def test_many_producers_are_described_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    world, work = BrokerWorld(), Work()
    world.create_topic("t")
    client, neighbour = world.connect(), world.connect()
    producers = [Transactor(client, JAVA_TV1, f"x{at}") for at in range(30)]
    for producer in producers:
        assert producer.init() is NONE
        assert producer.write("t", b"v") is NONE
    monkeypatch.setattr(describe_producers, "ProducerState", work.count(ProducerState))
    client.send(DescribeProducersRequest([TopicRequest("t", [0] * 40)]), 0)
    work.run(world, neighbour)
    (topic,) = client.receive(DescribeProducersResponse).topics
    for row in topic.partitions:
        assert [each.producer_id for each in row.active_producers] == [each.producer_id for each in producers]
    assert sum(work.ticks) == 1_200
    assert max(work.ticks) <= TURN_ELEMENTS


def test_of_a_partition_that_is_named_twice_the_last_marker_counts() -> None:
    world = BrokerWorld()
    world.create_topic("t")
    client = world.connect()
    producer = Transactor(client, JAVA_TV1)
    assert producer.init() is NONE
    assert producer.write("t", b"v") is NONE
    topic = WritableTxnMarkerTopic("t", [0, 1, 0])
    markers = [
        WritableTxnMarker(producer.producer_id, epoch, False, [topic], coordinator_epoch=0)
        for epoch in (producer.epoch, producer.epoch - 1)
    ]
    empty = WritableTxnMarker(99, 0, False, [])
    answer = client.call(WriteTxnMarkersRequest([*markers, empty]), 1, WriteTxnMarkersResponse)
    rows = {
        (result.producer_id, each.name, row.partition_index): row.error_code
        for result in answer.markers
        for each in result.topics
        for row in each.partitions
    }
    assert rows == {
        (producer.producer_id, "t", 0): ErrorCode.INVALID_PRODUCER_EPOCH,
        (producer.producer_id, "t", 1): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert [result.producer_id for result in answer.markers] == [producer.producer_id, 99]


def test_markers_of_a_client_without_the_right_are_refused_each() -> None:
    world = BrokerWorld({"authorizer.class.name": STANDARD})
    world.create_topic("t")
    client = world.connect()
    marker = WritableTxnMarker(7, 0, False, [WritableTxnMarkerTopic("t", [0, 1])], coordinator_epoch=0)
    (result,) = client.call(WriteTxnMarkersRequest([marker]), 1, WriteTxnMarkersResponse).markers
    (topic,) = result.topics
    assert [(row.partition_index, row.error_code) for row in topic.partitions] == [
        (at, ErrorCode.CLUSTER_AUTHORIZATION_FAILED) for at in (0, 1)
    ]
    assert world.folder.logs.get("t", 0).log_end_offset == 0
