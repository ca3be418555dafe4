"""The internal topics: their properties, failures to create them, and single creation."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from devtools.in_memory.mock_transport import BrokerWorld
from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.metadata.changes import MetaChange
from shareq.protocol.errors import ErrorCode
from tests.support.worlds.admin_world import World

NAMES = ["__consumer_offsets", "__share_group_state", "__transaction_state"]


def ensure(world: World, name: str) -> ErrorCode:
    return world.internal_topics.ensure(name).code


def partitions(world: World, name: str) -> int:
    topic = world.metadata.topic(name)
    assert topic is not None
    return topic.partitions


def test_their_properties() -> None:
    world = World()
    for name in NAMES:
        assert ensure(world, name) == ErrorCode.NONE
        topic = world.metadata.topic(name)
        assert topic is not None
        assert (topic.partitions, topic.internal) == (50, True)
        assert world.admin.check_new_topic(name, world.metadata.configs("topic", name)).code == ErrorCode.NONE
    assert world.metadata.configs("topic", "__consumer_offsets") == {
        "cleanup.policy": "compact",
        "compression.type": "producer",
        "segment.bytes": "104857600",
    }
    assert world.metadata.configs("topic", "__share_group_state") == {
        "cleanup.policy": "compact",
        "compression.type": "producer",
        "min.insync.replicas": "1",
        "retention.ms": "-1",
        "segment.bytes": "104857600",
    }
    assert world.metadata.configs("topic", "__transaction_state") == {
        "cleanup.policy": "compact",
        "compression.type": "uncompressed",
        "min.insync.replicas": "1",
        "segment.bytes": "104857600",
        "unclean.leader.election.enable": "false",
    }


@pytest.mark.parametrize(
    ("name", "prefix"),
    [
        ("__consumer_offsets", "offsets.topic"),
        ("__share_group_state", "share.coordinator.state.topic"),
        ("__share_group_state", "group.share.state.topic"),
        ("__transaction_state", "transaction.state.log"),
    ],
)
def test_their_broker_properties(name: str, prefix: str) -> None:
    """The partition count is fixed at creation; each topic has its own properties."""
    world = World({f"{prefix}.num.partitions": "3", f"{prefix}.segment.bytes": "20000"})
    for each in NAMES:
        assert ensure(world, each) == ErrorCode.NONE
    assert {each: partitions(world, each) for each in NAMES} == {**dict.fromkeys(NAMES, 50), name: 3}
    segment_bytes = {each: world.configs.log_settings(each).segment_bytes for each in NAMES}
    assert segment_bytes == {**dict.fromkeys(NAMES, 104_857_600), name: 20_000}
    again = World({f"{prefix}.num.partitions": "4"}, db=world.db)
    assert ensure(again, name) == ErrorCode.NONE
    assert partitions(again, name) == 3


def test_a_partition_count_that_is_not_the_existing_topics_is_reported_at_the_start(
    caplog: pytest.LogCaptureFixture, world: BrokerWorld
) -> None:
    for name in NAMES:
        world.folder.internal_topics.ensure(name)
    world.restart()
    counts = {
        "offsets.topic.num.partitions": "3",
        "share.coordinator.state.topic.num.partitions": "4",
        "transaction.state.log.num.partitions": "50",
    }
    world.config = BrokerConfig.load({**world.config.originals, **counts})
    world.restart()
    assert [record.message for record in caplog.records if "num.partitions" in record.message] == [
        "Property offsets.topic.num.partitions (3) is ignored: __consumer_offsets exists, and its 50 partitions count",
        "Property share.coordinator.state.topic.num.partitions (4) is ignored: __share_group_state exists, and its 50 "
        "partitions count",
    ]


def test_they_are_created_once() -> None:
    world = World()
    assert ensure(world, "__consumer_offsets") == ErrorCode.NONE
    commits, topic = world.db.commits, world.metadata.topic("__consumer_offsets")
    assert ensure(world, "__consumer_offsets") == ErrorCode.NONE
    assert (world.db.commits, world.metadata.topic("__consumer_offsets")) == (commits, topic)


@pytest.mark.parametrize(
    ("name", "key", "code"),
    [
        ("__consumer_offsets", "offsets.topic.replication.factor", ErrorCode.INVALID_REPLICATION_FACTOR),
        ("__transaction_state", "transaction.state.log.replication.factor", ErrorCode.INVALID_REPLICATION_FACTOR),
        (
            "__share_group_state",
            "share.coordinator.state.topic.replication.factor",
            ErrorCode.INVALID_REPLICATION_FACTOR,
        ),
    ],
)
def test_more_replicas_than_brokers_create_nothing_and_name_the_property(name: str, key: str, code: ErrorCode) -> None:
    world = World({key: "3"})
    error = world.internal_topics.ensure(name)
    assert error.code == code
    assert error.message == f"Topic {name} cannot be created: {key}=3, and there is one broker"
    assert world.metadata.topics() == []


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("__transaction_state", "transaction.state.log.min.isr"),
        ("__share_group_state", "share.coordinator.state.topic.min.isr"),
    ],
)
def test_more_replicas_in_sync_than_brokers_count_as_one(name: str, key: str) -> None:
    """Apache Kafka's default of 2 is capped at the number of replicas."""
    world = World({key: "2"})
    assert ensure(world, name) == ErrorCode.NONE
    assert world.metadata.configs("topic", name)["min.insync.replicas"] == "2"


def test_a_full_disk() -> None:
    world = World()

    def no_space(_changes: Sequence[MetaChange]) -> None:
        raise OSError(28, "No space left on device")

    world.db.before_commit = no_space
    assert ensure(world, "__consumer_offsets") == ErrorCode.KAFKA_STORAGE_ERROR
    world.db.before_commit = None
    assert ensure(world, "__consumer_offsets") == ErrorCode.NONE
