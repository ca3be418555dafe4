"""Answers in which the simulated cluster was unlike Apache Kafka 3.9.1 and 4.3.1, which were asked the same."""

from __future__ import annotations

from typing import TypeVar

import pytest

from devtools.clients.requests import TIMESTAMP_MS, fetch_request, produce_request
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from shareq.protocol.generated.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from shareq.protocol.generated.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from shareq.protocol.generated.fetch import FetchRequest, FetchResponse, PartitionData
from shareq.protocol.generated.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from shareq.protocol.generated.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from shareq.protocol.generated.produce import PartitionProduceResponse, ProduceResponse
from shareq.protocol.primitives import Message
from shareq.protocol.records.batch import RecordData, build_batch
from tests.support.cluster.rights import Operation, Resource
from tests.support.cluster.settings import ClusterSettings
from tests.support.cluster.versions import KAFKA_3_9, KAFKA_4_3, KafkaRelease
from tests.support.cluster.world import ClusterWorld

M = TypeVar("M", bound=Message)

_OLD, _NEW = (7, 0), (7, 1)


class _Broker:
    """One broker, and a topic."""

    def __init__(self, release: KafkaRelease = KAFKA_4_3, **configs: str) -> None:
        self.world = ClusterWorld(ClusterSettings(release=release, brokers=(1,), producer_id_expiration_ms=1_000))
        own = {name.replace("_", "."): value for name, value in configs.items()}
        self.topic_id = self.world.cluster.create_topic("orders", 2, 1, own).topic_id

    def ask(self, message: Message, answer: type[M], version: int | None = None) -> M:
        found = self.world.ask(1, message, max_version=version)
        assert isinstance(found, answer), found
        return found

    def produce(
        self, producer: tuple[int, int] = (-1, -1), sequence: int = -1, *, key: bytes | None = b"k", ago_ms: int = 0
    ) -> PartitionProduceResponse:
        records = build_batch(
            [RecordData(key, b"v")],
            timestamp_ms=self.world.clock.wall_ms() - ago_ms,
            producer_id=producer[0],
            producer_epoch=producer[1],
            base_sequence=sequence,
        )
        return self.send(bytes(records))

    def send(self, records: bytes) -> PartitionProduceResponse:
        request = produce_request(records, topic="orders", topic_id=self.topic_id, acks=-1)
        return self.ask(request, ProduceResponse).responses[0].partition_responses[0]

    def fetch(self, request: FetchRequest) -> PartitionData:
        return self.ask(request, FetchResponse).responses[0].partitions[0]


def test_what_the_log_refuses_says_where_it_begins() -> None:
    broker = _Broker()
    broker.produce(_NEW, 0)
    broker.world.cluster.log("orders").delete_before(1)
    for row in (broker.produce(_OLD, 1), broker.produce(_NEW, 5)):
        assert (row.base_offset, row.log_start_offset) == (-1, 1)
    assert broker.send(b"").log_start_offset == -1


def test_a_batch_that_comes_again_has_its_own_time_and_first_offset() -> None:
    broker = _Broker()
    broker.produce(_OLD, 0, ago_ms=5)
    records = build_batch(
        [RecordData(b"k", b"v")], timestamp_ms=TIMESTAMP_MS, producer_id=7, producer_epoch=0, base_sequence=1
    )
    assert broker.send(bytes(records)).log_append_time_ms == -1
    again = broker.send(bytes(records))
    assert (again.base_offset, again.log_append_time_ms) == (1, TIMESTAMP_MS)


def test_records_at_fault_are_named() -> None:
    row = _Broker(cleanup_policy="compact").produce(key=None)
    assert (row.error_code, row.log_start_offset) == (ErrorCode.INVALID_RECORD, 0)
    assert [each.batch_index for each in row.record_errors] == [0]


def test_no_more_replicas_are_asked_for_than_there_are() -> None:
    assert _Broker(min_insync_replicas="3").produce().error_code == ErrorCode.NONE


def test_producers_are_forgotten_by_the_time_of_their_records() -> None:
    broker = _Broker()
    broker.produce(_NEW, 0)
    broker.world.cluster.expire_producers()
    assert broker.produce(_OLD, 3).error_code == ErrorCode.INVALID_PRODUCER_EPOCH
    broker.produce(_NEW, 1, ago_ms=2_000)
    broker.world.cluster.expire_producers()
    assert broker.produce(_OLD, 3).error_code == ErrorCode.NONE
    assert broker.produce(_NEW, 2).error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_what_is_refused_before_reading_has_no_aborted_transactions_instead_of_null() -> None:
    broker = _Broker()
    unread = fetch_request("orders", topic_id=broker.topic_id, partition=9)
    assert broker.fetch(unread).aborted_transactions == []
    beyond = fetch_request("orders", 5, topic_id=broker.topic_id)
    assert broker.fetch(beyond).aborted_transactions is None


def test_a_session_knows_its_deleted_topics_by_name() -> None:
    broker = _Broker()
    opening = fetch_request("orders", topic_id=broker.topic_id)
    opening.session_epoch = 0
    session = broker.ask(opening, FetchResponse).session_id
    broker.world.cluster.controller.delete_topic("orders")
    assert broker.fetch(FetchRequest(session_id=session, session_epoch=1)).error_code == (
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    )
    assert broker.fetch(opening).error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_a_topic_that_is_made_by_asking_is_unknown_at_first() -> None:
    broker = _Broker()
    request = MetadataRequest([MetadataRequestTopic(name="new")])
    first, then = (broker.ask(request, MetadataResponse).topics[0].error_code for _ in range(2))
    assert (first, then) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NONE)


def test_an_id_that_may_not_be_described_is_refused_without_its_name() -> None:
    broker = _Broker()
    broker.world.cluster.rights.deny(Resource.TOPIC, "orders", Operation.DESCRIBE)
    topic = broker.ask(MetadataRequest([MetadataRequestTopic(broker.topic_id, None)]), MetadataResponse).topics[0]
    assert (topic.error_code, topic.name) == (ErrorCode.TOPIC_AUTHORIZATION_FAILED, None)
    by_name, by_id = DeleteTopicState("orders"), DeleteTopicState(None, broker.topic_id)
    for state, error in ((by_name, ErrorCode.TOPIC_AUTHORIZATION_FAILED), (by_id, ErrorCode.NONE)):
        row = broker.ask(DeleteTopicsRequest([state], [], 1_000), DeleteTopicsResponse).responses[0]
        assert row.error_code == error


def test_a_topic_named_twice_is_answered_once() -> None:
    broker = _Broker()
    topics = [MetadataRequestTopic(name="orders") for _ in range(2)]
    assert len(broker.ask(MetadataRequest(topics), MetadataResponse).topics) == 1
    made = [CreatableTopic(name, 1, 1) for name in ("a", "b", "a")]
    rows = broker.ask(CreateTopicsRequest(made, 1_000), CreateTopicsResponse).topics
    assert [(row.name, row.error_code) for row in rows] == [("b", 0), ("a", ErrorCode.INVALID_REQUEST)]


@pytest.mark.parametrize(("release", "rows"), [(KAFKA_3_9, [0, 0, 1]), (KAFKA_4_3, [0, 1])])
def test_a_partition_that_is_named_twice_is_refused(release: KafkaRelease, rows: list[int]) -> None:
    parts = [ListOffsetsPartition(number, -1, -1) for number in (0, 1, 0)]
    request = ListOffsetsRequest(-1, 0, [ListOffsetsTopic("orders", parts)])
    answer = _Broker(release).ask(request, ListOffsetsResponse).topics[0].partitions
    assert sorted(row.partition_index for row in answer) == rows
    assert {row.partition_index for row in answer if row.error_code} == {0}


def test_an_empty_log_begins_in_its_leaders_epoch() -> None:
    rows = [ListOffsetsTopic("orders", [ListOffsetsPartition(0, -1, -2)])]
    row = _Broker().ask(ListOffsetsRequest(-1, 0, rows), ListOffsetsResponse).topics[0].partitions[0]
    assert (row.offset, row.leader_epoch) == (0, 0)


def test_old_versions_have_no_epochs() -> None:
    rows = [ListOffsetsTopic("orders", [ListOffsetsPartition(0, -1, -1)])]
    answer = _Broker().ask(ListOffsetsRequest(-1, 0, rows), ListOffsetsResponse, version=3)
    assert answer.topics[0].partitions[0].leader_epoch == -1


def test_releases_have_their_own_properties() -> None:
    for release, ahead in ((KAFKA_3_9, str(2**63 - 1)), (KAFKA_4_3, "3600000")):
        broker = _Broker(release)
        rows = [DescribeConfigsResource(2, "orders", [])]  # none named: all
        found = broker.ask(DescribeConfigsRequest(rows), DescribeConfigsResponse).results[0].configs
        values = {row.name: row.value for row in found}
        assert values["message.timestamp.after.max.ms"] == ahead
        assert "max.decompressed.message.bytes" not in values


def test_both_releases_have_init_producer_id_up_to_5() -> None:
    assert KAFKA_3_9.apis[ApiKey.INIT_PRODUCER_ID] == KAFKA_4_3.apis[ApiKey.INIT_PRODUCER_ID] == (0, 5)
