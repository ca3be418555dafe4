"""Committed offsets with kafka-python and librdkafka, with and without membership; raw OffsetFetch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaException
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import AdminClient
from kafka import KafkaConsumer, TopicPartition
from kafka.admin import KafkaAdminClient
from kafka.errors import CoordinatorLoadInProgressError, CoordinatorNotAvailableError, NotCoordinatorError
from kafka.structs import OffsetAndMetadata

from devtools.clients.admin import QUIET, create_topic, produce
from devtools.clients.offsets_client import FETCH_VERSIONS, NO_OFFSET, NONE, OffsetsClient, Row
from devtools.clients.wire import Caller, WireClient
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.support.share_wire import eventually

Unique = Callable[[str], str]
CommittedThere = dict[tuple[str, int], tuple[int, str]]
OLD_VERSIONS = [None, (0, 10, 2), (2, 0), (2, 5)]
"""The brokers' versions that kafka-python is made to assume: with them it uses the newest OffsetFetch, 2, 3 and 5."""


@contextmanager
def python_admin(broker: BrokerUnderTest, api_version: tuple[int, ...] | None = None) -> Iterator[KafkaAdminClient]:
    settings = {} if api_version is None else {"api_version": api_version}
    with closing(KafkaAdminClient(bootstrap_servers=broker.bootstrap, **settings)) as admin:
        yield admin


@contextmanager
def wire(broker: BrokerUnderTest) -> Iterator[OffsetsClient]:
    with WireClient(("127.0.0.1", broker.port)) as client:
        yield OffsetsClient(client, {})


def seen_by_kafka_python(broker: BrokerUnderTest, group: str, version: tuple[int, ...] | None = None) -> CommittedThere:
    with python_admin(broker, version) as admin:
        found = admin.list_group_offsets(group)[group]
    return {(place.topic, place.partition): (offset.offset, offset.metadata) for place, offset in found.items()}


def seen_by_librdkafka(broker: BrokerUnderTest, *groups: str) -> dict[str, dict[tuple[str, int], int]]:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, **QUIET})
    seen = {}
    for group in groups:  # it takes one at a time
        (answer,) = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)]).values()
        places = answer.result(30).topic_partitions
        seen[group] = {(place.topic, place.partition): place.offset for place in places}
    return seen


@pytest.mark.parametrize("version", [None, (0, 11), *OLD_VERSIONS[2:]], ids=str)
def test_a_kafka_python_consumer_without_membership(
    broker: BrokerUnderTest, unique: Unique, version: tuple[int, ...] | None
) -> None:
    """The consumer commits with a self-assigned partition, and a new consumer continues there."""
    topic, group = unique("topic"), unique("group")
    create_topic(broker.bootstrap, topic, 2)
    produce(broker.bootstrap, topic, [(0, b"%d" % number) for number in range(10)])
    place = TopicPartition(topic, 0)
    settings = {"bootstrap_servers": broker.bootstrap, "group_id": group, "enable_auto_commit": False}
    settings |= {"auto_offset_reset": "earliest"} | ({} if version is None else {"api_version": version})
    read: list[int] = []
    for _ in range(2):
        with closing(KafkaConsumer(**settings)) as consumer:
            consumer.assign([place])
            records = eventually(lambda: consumer.poll(500, max_records=4).get(place) or None)
            read += [record.offset for record in records]
            after = consumer.position(place)
            consumer.commit({place: OffsetAndMetadata(after, f"at {after}", -1)})
            assert consumer.committed(place) == after
            assert consumer.committed(TopicPartition(topic, 1)) is None
    assert read == list(range(len(read)))
    assert seen_by_kafka_python(broker, group) == {(topic, 0): (len(read), f"at {len(read)}")}


@pytest.mark.parametrize("version", OLD_VERSIONS, ids=str)
def test_kafka_pythons_administration(broker: BrokerUnderTest, unique: Unique, version: tuple[int, ...] | None) -> None:
    topic, group = unique("topic"), unique("group")
    create_topic(broker.bootstrap, topic, 3)
    assert seen_by_kafka_python(broker, group, version) == {}, "no group, and no error"
    with wire(broker) as offsets:
        offsets.committed({(topic, 0): 5, (topic, 2): Row(7, metadata="me")}, group=group)
    assert seen_by_kafka_python(broker, group, version) == {(topic, 0): (5, ""), (topic, 2): (7, "me")}


def test_kafka_python_moves_and_deletes_offsets(broker: BrokerUnderTest, unique: Unique) -> None:
    topic, group = unique("topic"), unique("group")
    create_topic(broker.bootstrap, topic, 3)
    with python_admin(broker) as admin:
        places = [TopicPartition(topic, partition) for partition in range(3)]
        moved = admin.alter_group_offsets(group, {place: OffsetAndMetadata(9, "", -1) for place in places})
        assert {error.errno for error in moved.values()} == {0}
        deleted = admin.delete_group_offsets(group, places[:2])
        assert {error.errno for error in deleted.values()} == {0}
        assert seen_by_kafka_python(broker, group) == {(topic, 2): (9, "")}
        many = admin.list_group_offsets([group, unique("nobody")])
        assert {name: len(found) for name, found in many.items()} == {group: 1, unique("nobody"): 0}
        admin.delete_groups([group])
        assert admin.list_group_offsets(group) == {group: {}}


def test_a_librdkafka_consumer_without_membership(broker: BrokerUnderTest, unique: Unique) -> None:
    topic, group = unique("topic"), unique("group")
    create_topic(broker.bootstrap, topic, 2)
    produce(broker.bootstrap, topic, [(0, b"%d" % number) for number in range(10)])
    settings = {"bootstrap.servers": broker.bootstrap, "group.id": group, "enable.auto.commit": False, **QUIET}
    settings["auto.offset.reset"] = "earliest"
    read: list[int] = []
    for _ in range(2):
        consumer = Consumer(settings)
        try:
            consumer.assign([Place(topic, 0)])
            for _ in range(4):
                message = eventually(partial(consumer.poll, 0.5))
                assert message.error() is None
                offset = message.offset()
                assert offset is not None
                read.append(offset)
                consumer.commit(message=message, asynchronous=False)
            committed = consumer.committed([Place(topic, 0), Place(topic, 1)], 30)
            assert [place.offset for place in committed] == [len(read), -1001]
        finally:
            consumer.close()
    assert read == list(range(8))
    assert seen_by_librdkafka(broker, group, unique("nobody")) == {group: {(topic, 0): 8}, unique("nobody"): {}}


def test_librdkafkas_administration(broker: BrokerUnderTest, unique: Unique) -> None:
    topic, group = unique("topic"), unique("group")
    create_topic(broker.bootstrap, topic, 3)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, **QUIET})
    places = [Place(topic, partition, 4 + partition) for partition in range(3)]
    (altered,) = admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, places)]).values()
    assert [place.error for place in altered.result(30).topic_partitions] == [None] * 3
    assert seen_by_librdkafka(broker, group) == {group: {(topic, index): 4 + index for index in range(3)}}
    named = ConsumerGroupTopicPartitions(group, [Place(topic, 1)])
    (listed,) = admin.list_consumer_group_offsets([named], require_stable=True).values()
    assert [(place.partition, place.offset) for place in listed.result(30).topic_partitions] == [(1, 5)]
    states = [one for one in admin.list_consumer_groups().result(30).valid if one.group_id == group]
    assert [(one.is_simple_consumer_group, one.state.name) for one in states] == [(True, "EMPTY")]
    for deleted in admin.delete_consumer_groups([group]).values():
        deleted.result(30)
    assert seen_by_librdkafka(broker, group) == {group: {}}


def test_nobody_moves_the_offsets_of_a_group_with_members(broker: BrokerUnderTest, unique: Unique) -> None:
    topic, group = unique("topic"), unique("group")
    create_topic(broker.bootstrap, topic)
    broker.require(ApiKey.JOIN_GROUP)
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": group, **QUIET})
    try:
        consumer.subscribe([topic])
        eventually(lambda: consumer.poll(0.1) or consumer.assignment() or None)
        admin = AdminClient({"bootstrap.servers": broker.bootstrap, **QUIET})
        request = ConsumerGroupTopicPartitions(group, [Place(topic, 0, 4)])
        (altered,) = admin.alter_consumer_group_offsets([request]).values()
        with pytest.raises(KafkaException, match="UNKNOWN_MEMBER_ID"):
            raise KafkaException(altered.result(30).topic_partitions[0].error)
    finally:
        consumer.close()


@pytest.mark.parametrize("kill", [False, True], ids=["stopped", "killed"])
def test_what_was_committed_survives(broker: BrokerUnderTest, unique: Unique, kill: bool) -> None:
    topic, group = unique("topic"), unique("group")
    create_topic(broker.bootstrap, topic, 2)
    seen_after_a_restart(broker, group)  # has the coordinator found
    first: dict[tuple[str, int], int | Row] = {(topic, 0): 5, (topic, 1): Row(6, metadata="me")}
    with wire(broker) as offsets:
        eventually(lambda: NONE in offsets.commit(first, group=group).values() or None)
        offsets.committed({(topic, 0): 7}, group=group)
    broker.restart(kill=kill)
    found = eventually(partial(seen_after_a_restart, broker, group))
    assert found == {(topic, 0): (7, ""), (topic, 1): (6, "me")}


def seen_after_a_restart(broker: BrokerUnderTest, group: str) -> CommittedThere | None:
    """Return the commit, or None: Apache Kafka answers slightly before it has loaded its coordinators."""
    try:
        return seen_by_kafka_python(broker, group) or None
    except (CoordinatorNotAvailableError, NotCoordinatorError, CoordinatorLoadInProgressError):
        return None


@pytest.mark.parametrize("version", FETCH_VERSIONS)
def test_raw_offset_fetch_in_every_version(broker: BrokerUnderTest, unique: Unique, version: int) -> None:
    topic, group = unique("topic"), unique("group")
    create_topic(broker.bootstrap, topic, 2)
    seen_by_kafka_python(broker, group)  # has the coordinator found
    with wire(broker) as offsets:
        offsets.ids[topic] = topic_id(offsets.client, topic)
        offsets.committed({(topic, 0): Row(5, metadata="me", leader_epoch=0)}, group=group)
        row = Row(5, NONE, "me", 0 if version >= 5 else -1)
        asked = [(topic, 0), (topic, 1)]
        assert offsets.fetch(asked, version, group=group) == (NONE, {(topic, 0): row, (topic, 1): NO_OFFSET})
        assert offsets.fetch([], version, group=group) == (NONE, {})
        if version >= 2:
            assert offsets.fetch(None, version, group=group) == (NONE, {(topic, 0): row})
            assert offsets.fetch(None, version, group=unique("nobody")) == (NONE, {})


@pytest.mark.parametrize("version", range(2, 11))
def test_raw_offset_commit_in_every_version(broker: BrokerUnderTest, unique: Unique, version: int) -> None:
    topic, group = unique("topic"), unique("group")
    create_topic(broker.bootstrap, topic, 2)
    seen_by_kafka_python(broker, group)
    with wire(broker) as offsets:
        offsets.ids = {topic: topic_id(offsets.client, topic), "nowhere": bytes(range(16))}
        unknown = ErrorCode.UNKNOWN_TOPIC_ID if version >= 10 else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        errors = offsets.commit(
            {(topic, 0): 5, (topic, 2): 6, ("nowhere", 0): 7, (topic, 1): Row(8, metadata="x" * 4097)},
            version,
            group=group,
        )
        assert errors == {
            (topic, 0): NONE,
            (topic, 2): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            ("nowhere", 0): unknown,
            (topic, 1): ErrorCode.OFFSET_METADATA_TOO_LARGE,
        }
        assert list(errors) == [(topic, 2), (topic, 0), (topic, 1), ("nowhere", 0)]
        stranger = ErrorCode.GROUP_ID_NOT_FOUND if version >= 9 else ErrorCode.ILLEGAL_GENERATION
        nobody = unique("nobody")
        assert offsets.commit({(topic, 0): 5}, version, group=nobody, generation=1, member="m") == {
            (topic, 0): stranger
        }
        member = offsets.commit({(topic, 0): 5}, version, group=group, generation=3, member="m")
        assert member == {(topic, 0): ErrorCode.UNKNOWN_MEMBER_ID}


def topic_id(client: Caller, topic: str) -> bytes:
    (found,) = client.call(MetadataRequest([MetadataRequestTopic(name=topic)]), 12, MetadataResponse).topics
    return found.topic_id
