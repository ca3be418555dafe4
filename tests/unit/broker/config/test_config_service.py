"""Effective configuration: dynamic broker properties, caches, listeners, sources."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from shareq.broker.config.changes import Alteration, ConfigOp
from shareq.broker.config.describe import ConfigEntry
from shareq.broker.metadata.changes import MetaChange, ResourceName
from shareq.broker.metadata.store import NewTopic
from shareq.protocol.config_def import ConfigError, ConfigSource
from shareq.protocol.errors import ApiError, ErrorCode
from tests.support.worlds.admin_world import World


@pytest.fixture
def world() -> World:
    return World()


def set_to(key: str, value: str) -> Alteration:
    return Alteration(key, ConfigOp.SET, value)


def delete(key: str) -> Alteration:
    return Alteration(key, ConfigOp.DELETE, None)


def entry(entries: Sequence[ConfigEntry], name: str) -> ConfigEntry:
    return next(found for found in entries if found.key.name == name)


def alter(world: World, kind: str, name: str, *alterations: Alteration) -> ErrorCode:
    planned = getattr(world.admin, f"plan_{kind}")(name, alterations)
    return ErrorCode((planned if isinstance(planned, ApiError) else world.admin.store([planned]).value).code)


def test_a_topic_follows_dynamic_broker_properties_until_it_has_its_own() -> None:
    world = World({"log.retention.ms": "5"})
    world.metadata.create_topic(NewTopic("t", 1))
    assert world.configs.topic("t")["retention.ms"] == 5
    assert alter(world, "broker", "", set_to("log.retention.ms", "6")) == ErrorCode.NONE
    assert world.configs.topic("t")["retention.ms"] == 6
    assert alter(world, "broker", "1", set_to("log.retention.ms", "7")) == ErrorCode.NONE
    assert world.configs.log_settings("t").retention_ms == 7
    assert alter(world, "topic", "t", set_to("retention.ms", "8")) == ErrorCode.NONE
    assert world.configs.log_settings("t").retention_ms == 8
    assert world.configs.log_settings("other").retention_ms == 7
    assert alter(world, "topic", "t", delete("retention.ms")) == ErrorCode.NONE
    assert alter(world, "broker", "1", delete("log.retention.ms")) == ErrorCode.NONE
    assert world.configs.topic("t")["retention.ms"] == 6


def test_synonyms_name_every_place_that_sets_a_value_the_strongest_first() -> None:
    world = World({"log.retention.ms": "5", "log.retention.hours": "1"})
    world.metadata.create_topic(NewTopic("t", 1, {"retention.ms": "9"}))
    alter(world, "broker", "", set_to("log.retention.ms", "6"))
    alter(world, "broker", "1", set_to("log.retention.ms", "7"))
    found = entry(world.admin.describe_topic("t"), "retention.ms")
    assert (found.value, found.source) == ("9", ConfigSource.TOPIC)
    assert [(synonym.name, synonym.value, synonym.source) for synonym in found.synonyms] == [
        ("retention.ms", "9", ConfigSource.TOPIC),
        ("log.retention.ms", "7", ConfigSource.DYNAMIC_BROKER),
        ("log.retention.ms", "6", ConfigSource.DYNAMIC_DEFAULT_BROKER),
        ("log.retention.ms", "5", ConfigSource.STATIC_BROKER),
        ("log.retention.hours", "1", ConfigSource.STATIC_BROKER),
        ("log.retention.hours", "168", ConfigSource.DEFAULT),
    ]


def test_sources_of_broker_properties() -> None:
    world = World({"num.partitions": "3"})
    alter(world, "broker", "", set_to("message.max.bytes", "100"))
    entries = world.admin.describe_broker(cluster=False)
    assert entry(entries, "num.partitions").source is ConfigSource.STATIC_BROKER
    assert entry(entries, "num.partitions").read_only
    assert entry(entries, "message.max.bytes").source is ConfigSource.DYNAMIC_DEFAULT_BROKER
    assert not entry(entries, "message.max.bytes").read_only
    assert entry(entries, "auto.create.topics.enable").source is ConfigSource.DEFAULT
    assert [found.key.name for found in world.admin.describe_broker(cluster=True)] == ["message.max.bytes"]
    assert all(not found.key.internal for found in entries)


def test_dynamic_broker_properties_survive_a_restart_but_not_tighter_static_ones(
    caplog: pytest.LogCaptureFixture, world: World
) -> None:
    assert alter(world, "broker", "", set_to("group.share.assignment.interval.ms", "9000")) == ErrorCode.NONE
    assert World(db=world.db).configs.share_group("g").assignment_interval_ms == 9000
    again = World({"group.share.max.assignment.interval.ms": "8000"}, db=world.db)
    assert again.configs.share_group("g").assignment_interval_ms == 1000
    assert any("dynamic broker properties are not applied" in message for message in caplog.messages)


def test_share_group_settings_change_at_once_and_for_that_group_only(world: World) -> None:
    before = world.configs.share_group("g")
    assert world.configs.share_group("g") is before  # no new object for each look-up
    assert alter(world, "group", "g", set_to("share.delivery.count.limit", "3")) == ErrorCode.NONE
    assert world.configs.share_group("g").delivery_count_limit == 3
    assert world.configs.share_group("h") is before
    assert alter(world, "group", "g", delete("share.delivery.count.limit")) == ErrorCode.NONE
    assert world.configs.share_group("g") == before
    assert world.metadata.config_names("group") == []


def test_a_change_is_checked_as_a_whole_and_then_stored_as_a_whole(world: World) -> None:
    good, bad = set_to("share.delivery.count.limit", "3"), set_to("share.isolation.level", "x")
    assert alter(world, "group", "g", good, bad) == ErrorCode.INVALID_CONFIG
    assert world.metadata.configs("group", "g") == {}


def test_an_unchanged_value_is_no_commit(world: World) -> None:
    alter(world, "group", "g", set_to("share.delivery.count.limit", "3"))
    commits = world.db.commits
    assert alter(world, "group", "g", set_to("share.delivery.count.limit", "3")) == ErrorCode.NONE
    assert world.db.commits == commits


def test_listeners_hear_of_changes_after_they_took_effect(world: World) -> None:
    heard: list[tuple[ResourceName, int]] = []
    world.configs.on_change(
        lambda resource: heard.append((resource, world.configs.share_group("g").delivery_count_limit))
    )
    alter(world, "group", "g", set_to("share.delivery.count.limit", "3"))
    assert heard == [(ResourceName("group", "g"), 3)]


def test_a_topic_created_again_does_not_keep_the_old_ones_properties(world: World) -> None:
    world.metadata.create_topic(NewTopic("t", 1, {"retention.ms": "9"}))
    assert world.configs.topic("t")["retention.ms"] == 9
    world.metadata.delete_topics(["t"])
    assert world.configs.topic("t")["retention.ms"] == 604_800_000
    world.metadata.create_topic(NewTopic("t", 1, {"retention.ms": "10"}))
    assert world.configs.topic("t")["retention.ms"] == 10


def test_a_full_disk_is_a_storage_error_and_changes_nothing(world: World) -> None:

    def no_space(_changes: Sequence[MetaChange]) -> None:
        raise OSError(28, "No space left on device")

    world.db.before_commit = no_space
    assert alter(world, "group", "g", set_to("share.delivery.count.limit", "3")) == ErrorCode.KAFKA_STORAGE_ERROR
    assert world.configs.share_group("g").delivery_count_limit == 5


def test_flush_every_message_follows_the_dynamic_property(world: World) -> None:
    assert not world.configs.flush_every_message()
    alter(world, "broker", "", set_to("log.flush.interval.messages", "1"))
    assert world.configs.flush_every_message()


def test_the_feature_level_switches_dead_letters_at_once(world: World) -> None:
    """share.version goes from 2 to 1 and back without a restart (KIP-1191, Apache Kafka 4.4.0)."""
    alter(world, "group", "g", set_to("errors.deadletterqueue.topic.name", "dlq.t"))
    assert world.configs.share_group("g").dead_letters
    world.metadata.set_features({"share.version": 1})
    assert not world.configs.share_group("g").dead_letters
    world.metadata.set_features({"share.version": 2})
    assert world.configs.share_group("g").dead_letters
    assert not world.configs.share_group("h").dead_letters


def test_dead_letters_of_the_broker_change_while_it_runs(world: World) -> None:
    for kind, name in (("broker", "1"), ("broker", "")):
        key = "errors.deadletterqueue.auto.create.topics.enable"
        assert alter(world, kind, name, set_to(key, "true")) == ErrorCode.NONE
        assert world.configs.broker.errors_deadletterqueue_auto_create_topics_enable is True
        assert alter(world, kind, name, delete(key)) == ErrorCode.NONE
        assert world.configs.broker.errors_deadletterqueue_auto_create_topics_enable is False
    assert world.configs.broker.errors_deadletterqueue_topic_name_prefix == "dlq."
    for prefix in ("__x", ""):
        assert alter(world, "broker", "", set_to("errors.deadletterqueue.topic.name.prefix", prefix)) == ErrorCode.NONE
        assert world.configs.broker.errors_deadletterqueue_topic_name_prefix == prefix


def test_the_class_that_writes_dead_letters_is_one_of_apache_kafkas() -> None:
    key = "group.share.dlq.manager.class.name"
    for name in ("", "org.apache.kafka.server.share.dlq.NoOpShareGroupDLQManager"):
        assert World({key: name}).configs.broker.group_share_dlq_manager_class_name == name
    with pytest.raises(ConfigError, match="must be empty or one of"):
        World({key: "com.example.Mine"})
