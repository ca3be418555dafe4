"""kafka-python and librdkafka as administrators: deleted records, folders, the quorum, elections, reassignments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest
from confluent_kafka import Consumer, KafkaException
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import KafkaError
from kafka import TopicPartition
from kafka import errors as kafka_errors
from kafka.admin import KafkaAdminClient

from devtools.clients.admin import QUIET, create_topic, produce
from shareq.protocol.api_keys import ApiKey
from tests.interop.support.broker_under_test import BrokerUnderTest

Unique = Callable[[str], str]


@pytest.fixture
def topic(broker: BrokerUnderTest, unique: Unique) -> str:
    broker.require(ApiKey.DELETE_RECORDS, ApiKey.DESCRIBE_LOG_DIRS, ApiKey.DESCRIBE_QUORUM)
    name = unique("topic")
    create_topic(broker.bootstrap, name, 2)
    produce(broker.bootstrap, name, ((number % 2, b"value") for number in range(20)))
    return name


@pytest.fixture
def kafka_python(broker: BrokerUnderTest) -> Iterator[KafkaAdminClient]:
    with closing(KafkaAdminClient(bootstrap_servers=broker.bootstrap)) as admin:
        yield admin


@pytest.fixture
def librdkafka(broker: BrokerUnderTest) -> AdminClient:
    return AdminClient({"bootstrap.servers": broker.bootstrap, **QUIET})


def earliest(broker: BrokerUnderTest, topic: str) -> list[int]:
    with closing(Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "nobody", **QUIET})) as consumer:
        return [consumer.get_watermark_offsets(Place(topic, partition), 20)[0] for partition in range(2)]


def test_kafka_python_takes_the_broker_for_the_release_it_is_compatible_with(kafka_python: KafkaAdminClient) -> None:
    """The release is inferred from the highest version of DescribeLogDirs."""
    assert kafka_python._manager.broker_version_data.broker_version == (4, 3)


def test_librdkafka_deletes_records(broker: BrokerUnderTest, librdkafka: AdminClient, topic: str) -> None:
    both = [Place(topic, 0, 4), Place(topic, 1, 10)]
    answers = librdkafka.delete_records(both, request_timeout=20)
    assert {place.partition: future.result(20).low_watermark for place, future in answers.items()} == {0: 4, 1: 10}
    assert earliest(broker, topic) == [4, 10]
    for offset, code in ((11, KafkaError.OFFSET_OUT_OF_RANGE), (10, None)):
        (future,) = librdkafka.delete_records([Place(topic, 0, offset)], request_timeout=20).values()
        if code is None:
            assert future.result(20).low_watermark == offset
            continue
        with pytest.raises(KafkaException) as refused:
            future.result(20)
        assert refused.value.args[0].code() == code
    broker.restart(kill=broker.kind == "ours")  # Apache Kafka notes log starts once a minute: a kill may take one back
    produce(broker.bootstrap, topic, [(0, b"next")])
    assert earliest(broker, topic) == [10, 10]


def test_kafka_python_deletes_records(kafka_python: KafkaAdminClient, broker: BrokerUnderTest, topic: str) -> None:
    places = [TopicPartition(topic, partition) for partition in range(2)]
    done = kafka_python.delete_records({places[0]: 3, places[1]: -1}, timeout_ms=20_000)
    assert [done[place]["low_watermark"] for place in places] == [3, 10]
    assert earliest(broker, topic) == [3, 10]
    with pytest.raises(kafka_errors.OffsetOutOfRangeError):
        kafka_python.delete_records({places[0]: 11}, timeout_ms=20_000)


def test_folders_and_their_sizes(kafka_python: KafkaAdminClient, topic: str) -> None:
    reported = str(kafka_python.describe_log_dirs({topic: [0, 1]}))
    assert topic in reported
    assert reported.count("partition_size") == 2


def test_the_quorum_is_this_broker(kafka_python: KafkaAdminClient, broker: BrokerUnderTest) -> None:
    broker.require(ApiKey.DESCRIBE_QUORUM)
    quorum = kafka_python.describe_metadata_quorum()["topics"][0]["partitions"][0]
    assert quorum["leader_id"] == 1
    assert [voter["replica_id"] for voter in quorum["current_voters"]] == [1]
    assert quorum["high_watermark"] >= 1


def test_elections_and_reassignments_have_nothing_to_do(
    kafka_python: KafkaAdminClient, broker: BrokerUnderTest, topic: str
) -> None:
    broker.require(ApiKey.ELECT_LEADERS, ApiKey.LIST_PARTITION_REASSIGNMENTS, ApiKey.ALTER_PARTITION_REASSIGNMENTS)
    place = TopicPartition(topic, 0)
    assert not kafka_python.list_partition_reassignments()
    kafka_python.alter_partition_reassignments({place: [1]})
    for kind in (0, 1):
        reported = str(kafka_python.elect_leaders(kind, {topic: [0]}, raise_errors=False))
        assert topic in reported
        assert "error_code=84" in reported
