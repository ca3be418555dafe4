"""Faults, time and the transcript of `shareq.testing`, in a thread and in a process, with all kinds of clients."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from confluent_kafka import AcknowledgeType, KafkaError, KafkaException, Message, ShareConsumer
from confluent_kafka import Producer as ConfluentProducer
from kafka import KafkaConsumer, KafkaProducer

from devtools.clients.requests import batch, create_topic, fetch, fetch_request, produce, produce_request
from devtools.clients.wire import ConnectionClosed, WireClient
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.api_versions import ApiVersionsRequest, ApiVersionsResponse
from shareq.protocol.generated.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from shareq.protocol.generated.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from shareq.testing import Broker, BrokerFailed
from tests.support.waiting import PATIENCE_S

MODES = ["thread", "process"]


@pytest.fixture(params=MODES)
def broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    with Broker(mode=request.param) as running:
        yield running


@pytest.fixture
def group(broker: Broker) -> str:
    return broker.share_group(deliveries=3)


@pytest.fixture
def member(broker: Broker, group: str) -> Iterator[ShareConsumer]:
    consumer = a_member(broker, group)
    yield consumer
    with suppress(KafkaException, RuntimeError):
        consumer.close()


def a_member(broker: Broker, group: str) -> ShareConsumer:
    settings = {"bootstrap.servers": broker.bootstrap, "group.id": group, "share.acknowledgement.mode": "explicit"}
    consumer = ShareConsumer({**settings, "log_level": 0})
    consumer.subscribe(["orders"])
    return consumer


def records(consumer: ShareConsumer, wait_s: float = 20) -> list[Message]:
    ends = time.monotonic() + wait_s
    while time.monotonic() < ends:
        found = list(consumer.poll(0.2))
        if found:
            return found
    raise AssertionError("no records came")


# -- time


def test_a_lock_ends_when_time_is_moved_and_the_record_comes_again(
    broker: Broker, group: str, member: ShareConsumer
) -> None:
    broker.topic("orders")
    broker.produce("orders", "a vase")
    assert [each.delivery_count() for each in records(member)] == [1]
    began = time.monotonic()
    broker.clock.advance(31)
    with WireClient(broker.address):
        other = a_member(broker, group)
        (again,) = records(other)
    assert time.monotonic() - began < 15  # half of the lock
    assert (again.value(), again.delivery_count()) == (b"a vase", 2)
    assert broker.group_counts(group, "orders").lock_timeouts == 1
    other.acknowledge(again, AcknowledgeType.ACCEPT)
    other.commit_sync()
    broker.assert_acknowledged(group, "orders", 1)
    other.close()


def test_records_have_the_brokers_time_and_retention_follows_it(broker: Broker) -> None:
    topic = broker.topic(config={"retention.ms": "3600000", "message.timestamp.type": "LogAppendTime"})
    broker.produce(topic, "old")
    before = broker.clock.time()
    broker.clock.advance(1800)
    broker.produce(topic, "newer")
    old, newer = broker.records(topic)
    assert 1_800_000 <= newer.timestamp_ms - old.timestamp_ms < 1_860_000
    assert 1800 <= broker.clock.time() - before < 1860
    broker.clock.advance(3 * 3600)  # the active segment is closed by its age, and checked every five minutes
    broker.wait_until(lambda: broker.records(topic) == [])


def test_time_survives_a_restart(broker: Broker) -> None:
    broker.clock.advance(7200)
    before = broker.clock.time()
    broker.restart()
    assert before <= broker.clock.time() < before + 60
    with pytest.raises(ValueError, match="time does not go back"):
        broker.clock.advance(-1)


# -- faults


@pytest.mark.parametrize("code", ["NOT_LEADER_OR_FOLLOWER", "SHARE_SESSION_NOT_FOUND"])
def test_a_share_fetch_is_refused_and_its_session_goes_on(
    broker: Broker, group: str, member: ShareConsumer, code: str
) -> None:
    broker.topic("orders")
    broker.produce("orders", "a vase")
    with broker.faults.on("ShareFetch", times=2, group=group).error(code) as fault:
        (message,) = records(member)
        assert fault.hits == 2
    assert message.delivery_count() == 1  # nothing was acquired by those that were refused
    refused = [line for line in broker.transcript() if f"[fault: {code}]" in line]
    assert len(refused) == 2
    assert all(f"error_code={code}" in line for line in refused)


def test_a_fetch_of_a_session_is_refused_once_its_partitions_are_named_again(broker: Broker) -> None:
    """Fetches in a session name no partitions; the client has to open a new session, which does not count as a hit."""
    topic = broker.topic()
    with KafkaConsumer(
        topic, bootstrap_servers=broker.bootstrap, auto_offset_reset="earliest", fetch_max_wait_ms=50
    ) as consumer:
        broker.produce(topic, "first")
        assert [each.value for each in fetched(broker, consumer)] == [b"first"]
        mine = broker.faults.on("Fetch", times=1, client_id=consumer.config["client_id"])
        with mine.error("NOT_LEADER_OR_FOLLOWER") as fault:
            broker.wait_until(lambda: consumer.poll(timeout_ms=20) == {} and fault.hits == 1)
        broker.produce(topic, "second")
        assert [each.value for each in fetched(broker, consumer)] == [b"second"]
    refused = [line for line in broker.transcript() if "[fault: NOT_LEADER_OR_FOLLOWER]" in line]
    assert "error_code=NOT_LEADER_OR_FOLLOWER" in refused[-1].partition(" → ")[2]


def fetched(broker: Broker, consumer: KafkaConsumer) -> list[Any]:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        for found in consumer.poll(timeout_ms=100).values():
            return list(found)
    raise AssertionError("\n".join(["no records came", *broker.transcript(30)]))


def test_an_acknowledgement_is_refused_and_the_record_is_still_in_hand(
    broker: Broker, group: str, member: ShareConsumer
) -> None:
    broker.topic("orders")
    broker.produce("orders", "a vase")
    (message,) = records(member)
    member.acknowledge(message, AcknowledgeType.ACCEPT)
    fault = broker.faults.on("ShareAcknowledge", nth=1).error("COORDINATOR_NOT_AVAILABLE")
    (outcome,) = member.commit_sync().values()
    assert outcome is not None
    assert fault.hits == 1
    assert broker.undone(group, "orders") == 1
    assert broker.group_counts(group, "orders").accepted == 0


def test_a_dropped_answer_is_done_and_a_producer_that_repeats_writes_twice(broker: Broker) -> None:
    topic = broker.topic()
    settings = {"bootstrap_servers": broker.bootstrap, "retries": 5, "acks": "all"}
    for idempotent, expected in ((False, 2), (True, 1)):
        producer = KafkaProducer(**settings, enable_idempotence=idempotent)
        producer.partitions_for(topic)
        with broker.faults.on("Produce", nth=1, topic=topic).drop_answer() as fault:
            producer.send(topic, b"x").get(20)
            assert fault.hits == 1
        assert fault.hits == 1  # also of a fault that has ended
        producer.close()
        assert len(broker.records(topic)) == expected
        topic = broker.topic()


def test_a_connection_ends_in_place_of_the_second_request(broker: Broker) -> None:
    fault = broker.faults.on("ApiVersions", nth=2, client_id="me").disconnect()
    with WireClient(broker.address, client_id="me") as client, WireClient(broker.address, client_id="you") as other:
        other.call(ApiVersionsRequest(), 0, ApiVersionsResponse)
        client.call(ApiVersionsRequest(), 0, ApiVersionsResponse)
        with pytest.raises(ConnectionClosed):
            client.call(ApiVersionsRequest(), 0, ApiVersionsResponse)
        other.call(ApiVersionsRequest(), 0, ApiVersionsResponse)
    assert fault.hits == 1


@pytest.mark.parametrize("action", ["hold", "hold_answer"])
def test_a_request_or_its_answer_is_held_until_it_is_released(broker: Broker, action: str) -> None:
    with WireClient(broker.address) as client:
        create_topic(client, "t")
        fault = getattr(broker.faults.on("Produce"), action)()
        answers: list[ErrorCode] = []
        writer = threading.Thread(
            target=lambda: answers.append(ErrorCode(produce(client, "t", batch(b"x")).error_code))
        )
        writer.start()
        fault.wait()
        broker.wait_until(lambda: fault.held == 1)
        assert len(broker.records("t")) == (1 if action == "hold_answer" else 0)
        assert answers == []
        assert fault.release() == 1
        writer.join(20)
        assert answers == [ErrorCode.NONE]
        assert len(broker.records("t")) == 1
        fault.remove()
        assert produce(client, "t", batch(b"y")).error_code == ErrorCode.NONE


def test_a_delay_is_of_the_brokers_time(broker: Broker) -> None:
    with WireClient(broker.address) as client:
        fault = broker.faults.on("Metadata", times=1).delay(3600)
        client.send(MetadataRequest(topics=[]), 9)
        fault.wait()
        broker.clock.advance(3601)
        assert isinstance(client.receive(), MetadataResponse)


def test_a_held_request_keeps_no_stop_waiting(broker: Broker) -> None:
    with WireClient(broker.address) as client:
        fault = broker.faults.on("Metadata").hold()
        client.send(MetadataRequest(topics=[]), 9)
        fault.wait()
        began = time.monotonic()
        broker.stop()
        assert time.monotonic() - began < 4


@pytest.mark.parametrize("after", [False, True])
def test_a_crash_on_a_request_and_what_it_leaves(broker: Broker, after: bool) -> None:
    with WireClient(broker.address) as client:
        create_topic(client, "t")
        broker.faults.on("Produce", nth=2).crash(after=after)
        produce(client, "t", batch(b"first"))
        with pytest.raises((ConnectionClosed, ConnectionError)):
            produce(client, "t", batch(b"second"))
        broker.wait_until(lambda: broker.crashed)
    address = broker.address
    broker.restart()
    assert broker.address == address
    assert [each.text for each in broker.records("t")] == (["first", "second"] if after else ["first"])


@pytest.mark.parametrize("after", [False, True])
def test_a_crash_is_waited_for_and_the_broker_restarted_at_once(broker: Broker, after: bool) -> None:
    topic = broker.topic()
    other = broker.faults.on("Metadata", nth=1_000).disconnect()
    fault = broker.faults.on("Produce").crash(after=after)
    with WireClient(broker.address) as client, suppress(ConnectionClosed, ConnectionError):
        produce(client, topic, batch(b"x"))
    fault.wait()
    assert (fault.hits, fault.held, other.hits) == (1, 0, 0)
    broker.restart()
    assert (fault.hits, other.hits) == (1, 0)
    assert [each.text for each in broker.records(topic)] == (["x"] if after else [])
    fault.remove()
    assert fault.hits == 1


def test_helpers_of_a_broker_that_is_away_fail_at_once(broker: Broker) -> None:
    """Only the test itself could restart the broker, so nothing is retried."""
    topic = broker.topic()
    with broker.faults.on("Produce").crash() as fault:
        with WireClient(broker.address) as client, suppress(ConnectionClosed, ConnectionError):
            produce(client, topic, batch(b"x"))
        fault.wait()
        broker.wait_until(lambda: broker.crashed)
        for call in (lambda: broker.records(topic), lambda: broker.produce(topic, "y"), broker.topic):
            with pytest.raises(BrokerFailed, match=r"the broker is gone: restart\(\) starts it again"):
                call()
        broker.restart()
        broker.produce(topic, "y")
    assert fault.hits == 1
    broker.kill()
    with pytest.raises(BrokerFailed, match="the broker is not running"):
        broker.records(topic)


def test_a_broker_is_restarted_while_a_fault_ends_it(broker: Broker) -> None:
    """The fault ends the process while it is being stopped."""
    topic = broker.topic()
    for _ in range(5):
        fault = broker.faults.on("Produce").crash()
        with WireClient(broker.address) as client:
            client.send(produce_request(batch(b"x"), topic=topic), 9)
            broker.restart()
        assert fault.hits in (0, 1)
    broker.produce(topic, "y")


def test_faults_of_a_stopped_broker_say_how_often_they_were_applied(broker: Broker) -> None:
    fault = broker.faults.on("Produce").disconnect()
    with WireClient(broker.address) as client, suppress(ConnectionClosed, ConnectionError):
        produce(client, "t", batch(b"x"))
    broker.stop()
    fault.wait()
    assert fault.hits == 1


def test_a_queue_that_would_get_no_letters_is_refused_by_the_helper(broker: Broker) -> None:
    """Apache Kafka accepts the property, and archives dead records without letters."""
    with pytest.raises(ValueError, match=r"dead_letters='dlq': must begin with 'dlq\.'"):
        broker.share_group(dead_letters="dlq")
    assert broker.share_group("g", dead_letters="dlq.t") == "g"


def test_faults_end_with_the_broker(broker: Broker) -> None:
    with broker.faults.on("Produce").disconnect(), broker.faults.full_disk():
        broker.kill()
    with pytest.raises(BrokerFailed, match="is not running"):
        broker.faults.on("Produce").disconnect()
    broker.start()
    topic = broker.topic()
    broker.produce(topic, "x")
    assert [each.text for each in broker.records(topic)] == ["x"]


def test_a_full_disk_refuses_records_and_takes_them_again(broker: Broker) -> None:
    topic = broker.topic()
    with WireClient(broker.address) as client:
        with broker.faults.full_disk():
            assert produce(client, topic, batch(b"x")).error_code == ErrorCode.KAFKA_STORAGE_ERROR
        assert produce(client, topic, batch(b"x")).error_code == ErrorCode.NONE


def test_a_lost_leader_takes_the_locks_with_it(broker: Broker, group: str, member: ShareConsumer) -> None:
    broker.topic("orders")
    broker.produce("orders", "a vase")
    (message,) = records(member)
    with broker.faults.leader_lost("orders"):
        member.acknowledge(message, AcknowledgeType.ACCEPT)
        (outcome,) = member.commit_sync().values()
        assert outcome is not None
    (again,) = records(member)
    assert again.value() == b"a vase"
    with pytest.raises(ValueError, match="no such partition"), broker.faults.leader_lost("orders", 7):
        pass


def test_what_a_partition_without_a_leader_refuses(broker: Broker) -> None:
    topic = broker.topic(partitions=2)
    broker.produce(topic, "x", partition=0)
    broker.produce(topic, "y", partition=1)
    with WireClient(broker.address) as client, broker.faults.leader_lost(topic, 1):
        refused, fine = ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NONE
        assert [produce(client, topic, batch(b"z"), partition=each).error_code for each in (0, 1)] == [fine, refused]
        assert [fetch(client, fetch_request(topic, partition=each)).error_code for each in (0, 1)] == [fine, refused]
        offsets = ListOffsetsTopic(topic, [ListOffsetsPartition(each, timestamp=-1) for each in (0, 1)])
        listed = client.call(ListOffsetsRequest(topics=[offsets]), 7, ListOffsetsResponse).topics[0].partitions
        assert [row.error_code for row in listed] == [fine, refused]
        asked = MetadataRequest([MetadataRequestTopic(name=topic)])
        (shown,) = client.call(asked, 9, MetadataResponse).topics
        assert [(row.error_code, row.leader_id != -1) for row in shown.partitions] == [
            (fine, True),
            (ErrorCode.LEADER_NOT_AVAILABLE, False),
        ]
    assert [each.text for each in broker.records(topic)] == ["x", "z", "y"]


def test_a_lost_leader_comes_back_in_an_epoch_that_clients_believe(broker: Broker) -> None:
    """Clients drop metadata with an older leader epoch than they have seen."""
    topic = broker.topic()

    def epoch() -> int:
        (shown,) = client.call(MetadataRequest([MetadataRequestTopic(name=topic)]), 9, MetadataResponse).topics
        return shown.partitions[0].leader_epoch

    with WireClient(broker.address) as client:
        with broker.faults.leader_lost(topic):
            refused = produce(client, topic, batch(b"x"), version=12)
            assert refused.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
            seen = max(epoch(), refused.current_leader.leader_epoch)
        assert epoch() >= seen


def test_clients_wait_for_a_lost_leader_and_go_on(broker: Broker) -> None:
    topic, delivered = broker.topic(), list[KafkaError | None]()
    producer = ConfluentProducer({"bootstrap.servers": broker.bootstrap, "enable.idempotence": True, "log_level": 0})
    producer.produce(topic, "first")
    assert producer.flush(20) == 0

    def refused(api: str) -> bool:
        producer.poll(0)
        assert consumer.poll(timeout_ms=20) == {}
        answers = [line.partition(" → ")[2] for line in broker.transcript() if f" {api} v" in line]
        return any("error_code=NOT_LEADER_OR_FOLLOWER" in answer for answer in answers)

    with KafkaConsumer(topic, bootstrap_servers=broker.bootstrap, auto_offset_reset="earliest") as consumer:
        assert [each.value for each in fetched(broker, consumer)] == [b"first"]
        with broker.faults.leader_lost(topic):
            producer.produce(topic, "second", on_delivery=lambda error, _message: delivered.append(error))
            broker.wait_until(lambda: refused("Produce") and refused("Fetch"))
            assert delivered == []
        assert producer.flush(20) == 0
        assert delivered == [None]
        assert [each.value for each in fetched(broker, consumer)] == [b"second"]
    assert [each.text for each in broker.records(topic)] == ["first", "second"]


def test_a_transaction_ends_when_its_leader_is_back(broker: Broker) -> None:
    """The decided marker is written as soon as possible."""
    topic = broker.topic()
    producer = ConfluentProducer({"bootstrap.servers": broker.bootstrap, "transactional.id": "t", "log_level": 0})
    producer.init_transactions(20)
    producer.begin_transaction()
    producer.produce(topic, "paid")
    assert producer.flush(20) == 0
    with broker.faults.leader_lost(topic):
        producer.commit_transaction(20)
    broker.wait_until(lambda: [each.text for each in broker.records(topic, committed_only=True)] == ["paid"])


def test_what_a_rule_cannot_be(broker: Broker) -> None:
    with pytest.raises(ValueError, match="must be one of"):
        broker.faults.on("NoSuchApi")
    with pytest.raises(ValueError, match="at least 1"):
        broker.faults.on("Fetch", nth=0)
    with pytest.raises(ValueError, match="give one of them"):
        broker.faults.on("Fetch", nth=1, times=1)
    with pytest.raises(ValueError, match="name of an error code"):
        broker.faults.on("Fetch").error("OH_NO")
    broker.faults.on("Fetch").hold()
    broker.faults.clear()
    broker.topic("t")
    assert broker.records("t") == []


# -- the transcript


def test_the_transcript_says_what_was_asked_and_answered(broker: Broker) -> None:
    topic = broker.topic()
    broker.produce(topic, "one", "two")
    (line,) = [line for line in broker.transcript() if " Produce " in line]
    assert "shareq-testing Produce v" in line
    assert f"topic_id={topic}" in line
    assert "<2 records, " in line
    assert "={}" not in line
    request, _, answer = line.partition(" → ")
    assert "acks" not in request.split("Produce")[0]
    assert "responses=" in answer
    broker.restart()
    broker.produce(topic, "three")
    assert len([line for line in broker.transcript() if " Produce " in line]) == 2
    assert len(broker.transcript(1)) == 1


def test_of_what_is_large_the_transcript_has_the_size(broker: Broker) -> None:
    topic = broker.topic()
    broker.produce(topic, b"x" * 100_000)
    assert len(broker.records(topic)) == 1
    (written,) = [line for line in broker.transcript() if " Produce " in line]
    assert re.search(r"Produce v\d+ \d+  <100\d{3} bytes> → responses=", written)
    assert any(re.search(r" → <100\d{3} bytes>", line) for line in broker.transcript() if " Fetch " in line)


def test_the_command_as_it_is_has_no_way_in() -> None:
    with Broker(mode="command") as broker:
        topic = broker.topic()
        broker.produce(topic, "x")
        assert len(broker.records(topic)) == 1
        with pytest.raises(BrokerFailed, match='mode="command"'):
            broker.clock.advance(1)
