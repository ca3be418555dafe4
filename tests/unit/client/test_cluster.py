from __future__ import annotations

from shareq.client.cluster import Cluster
from shareq.client.config import Address
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from shareq.protocol.primitives import ZERO_UUID

OLD, NEW = b"o" * 16, b"n" * 16


def answer(*topics: MetadataResponseTopic, brokers: tuple[int, ...] = (1, 2)) -> MetadataResponse:
    rows = [MetadataResponseBroker(node, f"b{node}", 9092) for node in brokers]
    return MetadataResponse(brokers=rows, topics=list(topics))


def topic(topic_id: bytes, *leaders: tuple[int, int], name: str | None = "t", error: int = 0) -> MetadataResponseTopic:
    rows = [
        MetadataResponsePartition(partition_index=number, leader_id=leader, leader_epoch=epoch)
        for number, (leader, epoch) in enumerate(leaders)
    ]
    return MetadataResponseTopic(error, name, topic_id, partitions=rows)


def test_topics_by_name_and_by_id() -> None:
    cluster = Cluster()
    cluster.add(answer(topic(OLD, (1, 0), (2, 0))), 5.0)
    assert cluster.topic_id("t") == OLD
    assert [cluster.leader(OLD, number) for number in range(3)] == [1, 2, None]
    assert cluster.brokers == {1: Address("b1", 9092), 2: Address("b2", 9092)}


def test_a_partition_without_a_leader() -> None:
    cluster = Cluster()
    cluster.add(answer(topic(OLD, (-1, 3))), 0.0)
    assert cluster.leader(OLD, 0) is None


def test_a_broker_that_is_behind_does_not_bring_back_an_old_leader() -> None:
    cluster = Cluster()
    cluster.add(answer(topic(OLD, (2, 7))), 0.0)
    cluster.add(answer(topic(OLD, (1, 6))), 1.0)
    assert cluster.leader(OLD, 0) == 2
    cluster.add(answer(topic(OLD, (1, 8))), 2.0)
    assert cluster.leader(OLD, 0) == 1


def test_a_topic_deleted_and_created_again_is_another_one() -> None:
    cluster = Cluster()
    cluster.add(answer(topic(OLD, (1, 5))), 0.0)
    cluster.add(answer(topic(NEW, (2, 0))), 1.0)
    cluster.add(answer(topic(OLD, name=None, error=ErrorCode.UNKNOWN_TOPIC_ID)), 2.0)
    assert cluster.topic_id("t") == NEW
    assert cluster.leader(NEW, 0) == 2
    assert cluster.leader(OLD, 0) is None
    gone = cluster.topic(OLD)
    assert gone is not None
    assert (gone.error, gone.name) == (ErrorCode.UNKNOWN_TOPIC_ID, "t")


def test_a_topic_whose_id_is_gone_has_no_name_any_more() -> None:
    cluster = Cluster()
    cluster.add(answer(topic(OLD, (1, 5))), 0.0)
    cluster.add(answer(topic(OLD, name=None, error=ErrorCode.UNKNOWN_TOPIC_ID)), 2.0)
    assert cluster.topic_id("t") is None


def test_why_a_name_has_no_id() -> None:
    cluster = Cluster()
    assert cluster.name_error("t") == ErrorCode.NONE
    cluster.add(answer(topic(OLD)), 0.0)
    cluster.add(answer(topic(ZERO_UUID, error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)), 1.0)
    assert cluster.topic_id("t") is None
    assert cluster.name_error("t") == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    cluster.add(answer(topic(NEW)), 2.0)
    assert cluster.name_error("t") == ErrorCode.NONE


def test_an_answer_without_brokers_takes_none_away() -> None:
    cluster = Cluster()
    cluster.add(answer(), 0.0)
    cluster.add(answer(brokers=()), 1.0)
    assert set(cluster.brokers) == {1, 2}


def test_a_coordinator_elsewhere() -> None:
    cluster = Cluster()
    cluster.add(answer(), 0.0)
    cluster.set_coordinator("g", 3, Address("b3", 1))
    assert cluster.coordinator("g") == 3
    assert cluster.brokers[3] == Address("b3", 1)
    cluster.forget_coordinator("g")
    assert cluster.coordinator("g") is None
