"""KIP-848 consumer groups with the clients that support it: reconciliation, patterns, restarts and kills."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from devtools.clients.admin import create_topic
from shareq.protocol.api_keys import ApiKey
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.support.group_member import CLIENTS_OF_KIP_848, started, wait_until
from tests.interop.support.group_work import (
    Unique,
    Work,
    a_group_goes_on_after_a_restart,
    a_static_member_comes_back,
    members_come_and_go,
)
from tests.interop.support.java_driver import JavaDriver

BROKER_SETTINGS = {
    "group.consumer.min.heartbeat.interval.ms": "500",
    "group.consumer.heartbeat.interval.ms": "500",
    "group.consumer.min.session.timeout.ms": "6000",
    "group.consumer.session.timeout.ms": "6000",
}
PARTITIONS = 4

pytestmark = pytest.mark.interop


@pytest.fixture(autouse=True)
def _served(broker: BrokerUnderTest) -> None:
    broker.require(ApiKey.CONSUMER_GROUP_HEARTBEAT, ApiKey.CONSUMER_GROUP_DESCRIBE)


@pytest.mark.parametrize("client", CLIENTS_OF_KIP_848)
def test_members_come_and_go_and_every_record_is_read_once(
    broker: BrokerUnderTest, unique: Unique, client: str
) -> None:
    members_come_and_go(Work(broker, unique, CLIENTS_OF_KIP_848), client)


def test_different_clients_in_one_group(broker: BrokerUnderTest, unique: Unique) -> None:
    work = Work(broker, unique, CLIENTS_OF_KIP_848)
    one, two = work.member("librdkafka"), work.member("java")
    with started(one, two):
        work.wait_for_assignment(one, two)
        work.produce(200)
        work.wait_for_all()
    work.check_once()


@pytest.mark.parametrize("client", CLIENTS_OF_KIP_848)
def test_a_static_member_that_comes_back_has_its_own_again(
    broker: BrokerUnderTest, unique: Unique, client: str
) -> None:
    a_static_member_comes_back(Work(broker, unique, CLIENTS_OF_KIP_848), client)


@pytest.mark.crash
@pytest.mark.parametrize("client", CLIENTS_OF_KIP_848)
@pytest.mark.parametrize(
    "kill", [pytest.param(False, marks=pytest.mark.thorough, id="clean restart"), pytest.param(True, id="kill -9")]
)
def test_a_group_goes_on_after_a_restart(broker: BrokerUnderTest, unique: Unique, client: str, kill: bool) -> None:
    a_group_goes_on_after_a_restart(Work(broker, unique, CLIENTS_OF_KIP_848), client, kill=kill)


@pytest.fixture
def consumer(broker: BrokerUnderTest, unique: Unique) -> Iterator[Consumer]:
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": unique("group"),
            "group.protocol": "consumer",
            "auto.offset.reset": "earliest",
            "topic.metadata.refresh.interval.ms": 500,
            "log_level": 0,
        }
    )
    try:
        yield consumer
    finally:
        consumer.close()


def _assigned(consumer: Consumer, wanted: set[tuple[str, int]], timeout_s: float = 30) -> None:
    end = time.monotonic() + timeout_s
    found: set[tuple[str, int]] = set()
    while found != wanted:
        assert time.monotonic() < end, found
        consumer.poll(0.1)
        found = {(place.topic, place.partition) for place in consumer.assignment()}


def test_a_pattern_finds_topics_that_are_there_and_those_that_come(
    broker: BrokerUnderTest, unique: Unique, consumer: Consumer
) -> None:
    prefix = unique("orders")
    create_topic(broker.bootstrap, f"{prefix}-a", 2)
    create_topic(broker.bootstrap, f"x{prefix}", 1)
    consumer.subscribe([f"^{prefix}-.*"])
    _assigned(consumer, {(f"{prefix}-a", 0), (f"{prefix}-a", 1)})
    create_topic(broker.bootstrap, f"{prefix}-b", 1)
    _assigned(consumer, {(f"{prefix}-a", 0), (f"{prefix}-a", 1), (f"{prefix}-b", 0)})


def test_a_pattern_that_re2_does_not_know_is_refused(broker: BrokerUnderTest, consumer: Consumer) -> None:
    """RE2 lacks back references, which librdkafka's own expressions have."""
    consumer.subscribe([r"^(a)\1"])
    end = time.monotonic() + 30
    error = None
    while error is None:
        assert time.monotonic() < end, "no error"
        message = consumer.poll(0.2)
        error = None if message is None else message.error()
    assert error.code() == KafkaError._FATAL
    assert "regular expression" in str(error)


def test_the_group_as_administrators_see_it(broker: BrokerUnderTest, unique: Unique) -> None:
    work = Work(broker, unique, CLIENTS_OF_KIP_848)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    with started(work.member("librdkafka", "i")):
        work.produce(20)
        work.wait_for_all()
        group = admin.describe_consumer_groups([work.group])[work.group].result(10)
        assert group.state.name == "STABLE"
        assert group.type.name == "CONSUMER"
        assert group.partition_assignor == "uniform"
        (member,) = group.members
        assert member.group_instance_id == "i"
        everything = {(work.topic, partition) for partition in range(PARTITIONS)}
        assert {(p.topic, p.partition) for p in member.assignment.topic_partitions} == everything
        assert {(p.topic, p.partition) for p in member.target_assignment.topic_partitions} == everything
        listed = {each.group_id: each for each in admin.list_consumer_groups().result(10).valid}
        assert (listed[work.group].state.name, listed[work.group].type.name) == ("STABLE", "CONSUMER")
        with pytest.raises(KafkaException) as refused:
            admin.delete_consumer_groups([work.group])[work.group].result(10)
        assert refused.value.args[0].code() == KafkaError.NON_EMPTY_GROUP
    wait_until(lambda: _state(admin, work.group) == "EMPTY", work.ledger, "the end of the static member's session")
    admin.delete_consumer_groups([work.group])[work.group].result(10)
    assert work.group not in {each.group_id for each in admin.list_consumer_groups().result(10).valid}


def _state(admin: AdminClient, group: str) -> str:
    name: str = admin.describe_consumer_groups([group])[group].result(10).state.name
    return name


def test_kafka_consumer_groups_describes_members_and_lag(
    broker: BrokerUnderTest, unique: Unique, java: JavaDriver
) -> None:
    work = Work(broker, unique, CLIENTS_OF_KIP_848)
    work.produce(20)
    with started(work.member("librdkafka")):
        work.wait_for_all()
        arguments = ["--bootstrap-server", broker.bootstrap, "--group", work.group, "--describe"]
        offsets = java.tool("consumer.group.ConsumerGroupCommand", *arguments)
        members = java.tool("consumer.group.ConsumerGroupCommand", *arguments, "--members", "--verbose")
        state = java.tool("consumer.group.ConsumerGroupCommand", *arguments, "--state")
    for result in (offsets, members, state):
        assert result.code == 0, result
    assert offsets.out.count(work.topic) == PARTITIONS
    assert f"{work.topic}:0,1,2,3" in members.out.replace(" ", "")
    assert "uniform" in state.out
    assert "Stable" in state.out
