"""DescribeConfigs and IncrementalAlterConfigs: resources, operations, sources, refusals, in every version."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.config.changes import ConfigOp
from shareq.broker.config.group_config import GROUP_KEYS
from shareq.broker.config.keys.broker import BROKER_KEYS
from shareq.broker.config.listener_properties import per_listener
from shareq.broker.config.topic_config import TOPIC_KEYS
from shareq.broker.handlers.shared.config_resources import ResourceType
from shareq.broker.metadata.store import NewTopic
from shareq.protocol.config_def import ConfigError, ConfigKey, ConfigSource, ConfigType, OneOf, format_value
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
)
from shareq.protocol.generated.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from tests.support.each import for_each
from tests.support.worlds.admin_world import World

SET, DELETE, APPEND, SUBTRACT = ConfigOp
TOPIC, BROKER, GROUP = ResourceType.TOPIC, ResourceType.BROKER, ResourceType.GROUP


@pytest.fixture
def world() -> World:
    world = World({"log.retention.ms": "77"})
    world.metadata.create_topic(NewTopic("t", 1, {"segment.ms": "5"}))
    return world


def describe(
    world: World,
    kind: int,
    name: str,
    keys: list[str] | None = None,
    *,
    version: int = 4,
    synonyms: bool = False,
    documentation: bool = False,
) -> tuple[ErrorCode, dict[str, DescribeConfigsResourceResult]]:
    request = DescribeConfigsRequest([DescribeConfigsResource(kind, name, keys)], synonyms, documentation)
    (result,) = world.call(DescribeConfigsResponse, request, version).results
    assert (result.resource_type, result.resource_name) == (kind, name)
    return ErrorCode(result.error_code), {config.name: config for config in result.configs}


def alter(
    world: World,
    kind: int,
    name: str,
    *changes: tuple[str, int, str | None],
    version: int = 1,
    validate_only: bool = False,
) -> AlterConfigsResourceResponse:
    resource = AlterConfigsResource(kind, name, [AlterableConfig(*change) for change in changes])
    request = IncrementalAlterConfigsRequest([resource], validate_only)
    (row,) = world.call(IncrementalAlterConfigsResponse, request, version).responses
    assert (row.resource_type, row.resource_name) == (kind, name)
    return row


# -- DescribeConfigs


@pytest.mark.parametrize("version", range(1, 5))
def test_describe_a_topic(world: World, version: int) -> None:
    error, configs = describe(world, TOPIC, "t", version=version)
    assert error == ErrorCode.NONE
    assert set(configs) == {key.name for key in TOPIC_KEYS if not key.internal}
    assert (configs["segment.ms"].value, configs["segment.ms"].config_source) == ("5", 1)
    assert (configs["retention.ms"].value, configs["retention.ms"].config_source) == ("77", 4)
    assert (configs["retention.bytes"].value, configs["retention.bytes"].config_source) == ("-1", 5)
    assert configs["segment.ms"].config_type == (5 if version >= 3 else 0)
    assert not any(config.read_only or config.is_sensitive or config.synonyms for config in configs.values())


def test_types_are_shown_as_apache_kafkas_where_ours_are_others(world: World) -> None:
    _, configs = describe(world, BROKER, "1", version=4)
    shown = {name: ConfigType(row.config_type) for name, row in configs.items()}
    assert (shown["log.dir"], shown["log.dirs"]) == (ConfigType.LIST, ConfigType.LIST)
    assert (shown["listener.security.protocol.map"], shown["listeners"]) == (ConfigType.STRING, ConfigType.LIST)
    described_otherwise = {key.name for key in BROKER_KEYS if shown.get(key.name, key.type) is not key.type}
    assert described_otherwise == {"log.dir"}


@pytest.mark.parametrize("version", range(1, 5))
def test_describe_with_synonyms(world: World, version: int) -> None:
    _, configs = describe(world, TOPIC, "t", version=version, synonyms=True)
    assert [(synonym.name, synonym.value, synonym.source) for synonym in configs["retention.ms"].synonyms] == [
        ("log.retention.ms", "77", 4),
        ("log.retention.hours", "168", 5),
    ]
    assert [(synonym.name, synonym.source) for synonym in configs["segment.ms"].synonyms] == [
        ("segment.ms", 1),
        ("log.roll.hours", 5),
    ]


@pytest.mark.parametrize("version", [3, 4])
def test_describe_with_documentation(world: World, version: int) -> None:
    for kind, name in ((TOPIC, "t"), (BROKER, "1"), (GROUP, "g")):
        _, configs = describe(world, kind, name, version=version, documentation=True)
        assert all(config.documentation for config in configs.values())
        _, configs = describe(world, kind, name, version=version)
        assert not any(config.documentation for config in configs.values())


@pytest.mark.parametrize(("keys", "found"), [(["segment.ms", "nope"], ["segment.ms"]), (["nope"], [])])
def test_describe_some_keys(world: World, keys: list[str], found: list[str]) -> None:
    assert list(describe(world, TOPIC, "t", keys)[1]) == found


def test_describe_null_and_empty_keys_mean_all(world: World) -> None:
    assert describe(world, TOPIC, "t", [])[1].keys() == describe(world, TOPIC, "t", None)[1].keys()


def test_describe_this_broker(world: World) -> None:
    error, configs = describe(world, BROKER, "1", synonyms=True)
    assert error == ErrorCode.NONE
    assert set(configs) == {key.name for key in BROKER_KEYS if not key.internal}
    assert (configs["log.retention.ms"].value, configs["log.retention.ms"].read_only) == ("77", False)
    assert (configs["num.partitions"].value, configs["num.partitions"].read_only) == ("1", True)
    assert configs["log.roll.ms"].value is None
    assert configs["listeners"].value == "PLAINTEXT://127.0.0.1:9092"


def test_what_came_through_a_config_provider_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "secrets").write_text("rack=behind the curtain\nhours=5\n")
    world = World(
        {
            "config.providers": "file",
            "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
            "broker.rack": f"${{file:{tmp_path}/secrets:rack}}",
            "log.roll.hours": f"${{file:{tmp_path}/secrets:hours}}",
            "num.partitions": "2",
        }
    )
    _, configs = describe(world, BROKER, "1", synonyms=True)
    assert world.configs.broker.broker_rack == "behind the curtain"
    for name in ("broker.rack", "log.roll.hours"):
        assert (configs[name].value, configs[name].is_sensitive) == (None, True)
        shown = [synonym.value for synonym in configs[name].synonyms if synonym.source == ConfigSource.STATIC_BROKER]
        assert shown == [None]
    assert (configs["num.partitions"].value, configs["num.partitions"].is_sensitive) == ("2", False)


@for_each("key", [key for key in BROKER_KEYS if not key.internal])
def test_every_property_reports_who_has_set_it(key: ConfigKey[Any]) -> None:
    """The source is the file, or a dynamic change of this broker or of all; secrets have no value."""
    text = another_value(key)
    world = World({key.name: text})
    reported = describe(world, BROKER, str(world.started_with.node_id), [key.name])[1][key.name]
    assert (reported.value, reported.config_source) == (None if key.sensitive else text, ConfigSource.STATIC_BROKER)
    for name, source in (("1", ConfigSource.DYNAMIC_BROKER), ("", ConfigSource.DYNAMIC_DEFAULT_BROKER)):
        world = World()
        altered = alter(world, BROKER, name, (key.name, SET, text))
        if not key.mode or per_listener(key.name):
            assert altered.error_code == ErrorCode.INVALID_REQUEST
            assert key.name in str(altered.error_message)
            continue
        assert altered.error_code == ErrorCode.NONE
        for described in {"1", name}:
            reported = describe(world, BROKER, described, [key.name])[1][key.name]
            assert (reported.value, reported.config_source) == (text, source)


def another_value(key: ConfigKey[Any]) -> str:
    numbers = [key.default, 0] if isinstance(key.default, int) else [7]
    near = [str(number + step) for number in numbers if isinstance(number, int) for step in (1, -1, 0, 7)]
    choices = list(key.validator.choices) if isinstance(key.validator, OneOf) else []
    for text in ("true", "false", *choices, "range", "simple", "0.25", *near, "A:PLAINTEXT,PLAINTEXT:PLAINTEXT"):
        if text != format_value(key.default) and works(key, text):
            return text
    return _OTHER_VALUES[key.name]


_OTHER_VALUES = {
    "listeners": "PLAINTEXT://a:1",
    "advertised.listeners": "PLAINTEXT://b:1",
    "max.connections.per.ip.overrides": "10.0.0.1:7",
    "group.share.assignors": "SimpleAssignor",
}


def works(key: ConfigKey[Any], text: str) -> bool:
    try:
        return format_value(BrokerConfig.load({key.name: text}).values[key.name]) == text
    except ConfigError:
        return False


def test_a_time_in_several_units_is_described_as_apache_kafka_does() -> None:
    """Values given in coarser units are listed, too, after the one in effect."""
    world = World({"log.retention.minutes": "6", "log.retention.hours": "1", "log.roll.hours": "3"})
    alter(world, BROKER, "", ("log.roll.ms", SET, "9"))
    described = describe(world, BROKER, "1", synonyms=True)[1]
    assert {
        name: [(one.name, one.value, one.source) for one in described[name].synonyms]
        for name in (
            "log.retention.ms",
            "log.retention.minutes",
            "log.retention.hours",
            "log.roll.ms",
            "log.roll.hours",
        )
    } == {
        "log.retention.ms": [],
        "log.retention.minutes": [
            ("log.retention.minutes", "6", 4),
            ("log.retention.hours", "1", 4),
            ("log.retention.hours", "168", 5),
        ],
        "log.retention.hours": [("log.retention.hours", "1", 4), ("log.retention.hours", "168", 5)],
        "log.roll.ms": [("log.roll.ms", "9", 3), ("log.roll.hours", "3", 4), ("log.roll.hours", "168", 5)],
        "log.roll.hours": [("log.roll.hours", "3", 4), ("log.roll.hours", "168", 5)],
    }


def test_a_property_given_under_an_older_name_is_described_under_todays() -> None:
    described = describe(World({"group.share.record.lock.partition.limit": "300"}), BROKER, "1", synonyms=True)[1]
    assert "group.share.record.lock.partition.limit" not in described
    locks = described["group.share.partition.max.record.locks"]
    assert (locks.value, locks.config_source) == ("300", 4)
    assert [(one.name, one.value, one.source) for one in locks.synonyms] == [
        ("group.share.partition.max.record.locks", "300", 4),
        ("group.share.partition.max.record.locks", "2000", 5),
    ]


def test_describe_all_brokers_shows_dynamic_properties_only(world: World) -> None:
    assert describe(world, BROKER, "") == (ErrorCode.NONE, {})
    alter(world, BROKER, "", ("message.max.bytes", SET, "9"))
    _, configs = describe(world, BROKER, "")
    assert {name: (config.value, config.config_source) for name, config in configs.items()} == {
        "message.max.bytes": ("9", 3)
    }


def test_describe_a_group_that_does_not_exist(world: World) -> None:
    error, configs = describe(world, GROUP, "g", synonyms=True)
    assert error == ErrorCode.NONE
    assert set(configs) == {key.name for key in GROUP_KEYS if not key.internal}
    assert "share.assignor.offload.enable" not in configs
    lock = configs["share.record.lock.duration.ms"]
    assert (lock.value, lock.config_source) == ("30000", 5)
    assert [(synonym.name, synonym.source) for synonym in lock.synonyms] == [("group.share.record.lock.duration.ms", 5)]
    reset = configs["share.auto.offset.reset"]
    assert [(synonym.name, synonym.value, synonym.source) for synonym in reset.synonyms] == [
        ("share.auto.offset.reset", "latest", 5)
    ]


def test_properties_of_ours_are_shown_for_groups_that_have_them(world: World) -> None:
    assert "shareq.dlq.keep" not in describe(world, GROUP, "g")[1]
    alter(world, GROUP, "g", ("shareq.dlq.keep", SET, "true"))
    keep = describe(world, GROUP, "g")[1]["shareq.dlq.keep"]
    assert (keep.value, keep.config_source) == ("true", 8)
    assert "shareq.dlq.keep" not in describe(world, GROUP, "h")[1]


def test_a_dead_letter_queue_is_a_property_of_the_group_without_one_of_the_broker(world: World) -> None:
    """The property has no broker synonym, and once set it is the group's (KIP-1191, Apache Kafka 4.4.0)."""
    _, before = describe(world, GROUP, "g", synonyms=True)
    queue = before["errors.deadletterqueue.topic.name"]
    assert (queue.value, queue.config_source) == ("", 5)
    copy = before["errors.deadletterqueue.copy.record.enable"]
    assert (copy.value, copy.config_source, len(copy.synonyms)) == ("false", 5, 1)
    alter(world, GROUP, "g", ("errors.deadletterqueue.topic.name", SET, "bad/name"))
    queue = describe(world, GROUP, "g", synonyms=True)[1]["errors.deadletterqueue.topic.name"]
    assert (queue.value, queue.config_source) == ("bad/name", 8)


def test_what_is_ours_alone_is_described_by_name_or_once_it_is_set(world: World) -> None:
    """Other clients are shown only Apache Kafka's properties."""
    backoff, jitter = "shareq.redelivery.backoff.ms", "shareq.redelivery.backoff.jitter"
    named = describe(world, GROUP, "g", keys=[backoff])[1]
    assert {name: (one.value, one.config_source) for name, one in named.items()} == {backoff: ("0", 5)}
    alter(world, GROUP, "g", (backoff, SET, "1000"))
    listed = describe(world, GROUP, "g")[1]
    assert (listed[backoff].value, listed[backoff].config_source) == ("1000", 8)
    assert jitter not in listed


def test_describe_a_group_with_a_property_of_its_own(world: World) -> None:
    alter(world, GROUP, "g", ("share.record.lock.duration.ms", SET, "20000"))
    lock = describe(world, GROUP, "g", synonyms=True)[1]["share.record.lock.duration.ms"]
    assert (lock.value, lock.config_source) == ("20000", 8)
    assert [(synonym.name, synonym.value, synonym.source) for synonym in lock.synonyms] == [
        ("share.record.lock.duration.ms", "20000", 8),
        ("group.share.record.lock.duration.ms", "30000", 5),
    ]


def test_after_a_restart_with_tighter_bounds_a_group_shows_its_own_value_and_uses_the_bound(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    alter(world, GROUP, "g", ("share.record.lock.duration.ms", SET, "60000"))
    tighter = World({"group.share.max.record.lock.duration.ms": "31000"}, db=world.db)
    lock = describe(tighter, GROUP, "g")[1]["share.record.lock.duration.ms"]
    assert (lock.value, lock.config_source) == ("60000", 8)
    assert tighter.configs.share_group("g").record_lock_duration_ms == 31_000
    assert "share.record.lock.duration.ms=60000 is outside the broker's bounds, using 31000" in caplog.text
    refused = alter(tighter, GROUP, "g", ("share.delivery.count.limit", SET, "4"))
    assert refused.error_code == ErrorCode.INVALID_CONFIG
    assert "share.record.lock.duration.ms" in str(refused.error_message)
    wider = World(db=world.db)
    assert wider.configs.share_group("g").record_lock_duration_ms == 60_000


@pytest.mark.parametrize(("kind", "name"), [(TOPIC, "t"), (GROUP, "g"), (BROKER, "1"), (TOPIC, "nope")])
def test_a_description_without_an_error_message_has_an_empty_one(world: World, kind: int, name: str) -> None:
    """The field stays at its default, as in Apache Kafka 4.3.1."""
    request = DescribeConfigsRequest([DescribeConfigsResource(kind, name, None)], False, False)
    assert world.call(DescribeConfigsResponse, request, 4).results[0].error_message == ""


@pytest.mark.parametrize(
    ("kind", "name", "code"),
    [
        (TOPIC, "nope", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TOPIC, "a/b", ErrorCode.INVALID_TOPIC_EXCEPTION),
        (TOPIC, "", ErrorCode.INVALID_TOPIC_EXCEPTION),
        (BROKER, "2", ErrorCode.INVALID_REQUEST),
        (BROKER, "x", ErrorCode.INVALID_REQUEST),
        (GROUP, "", ErrorCode.INVALID_REQUEST),
        (ResourceType.BROKER_LOGGER, "1", ErrorCode.INVALID_REQUEST),
        (ResourceType.CLIENT_METRICS, "x", ErrorCode.INVALID_REQUEST),
        (0, "x", ErrorCode.INVALID_REQUEST),
        (99, "x", ErrorCode.INVALID_REQUEST),
    ],
)
def test_what_cannot_be_described(world: World, kind: int, name: str, code: ErrorCode) -> None:
    assert describe(world, kind, name) == (code, {})


# -- IncrementalAlterConfigs


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize(
    ("kind", "name", "key", "value"),
    [
        (TOPIC, "t", "retention.ms", "9"),
        (BROKER, "1", "message.max.bytes", "9"),
        (BROKER, "", "message.max.bytes", "9"),
        (GROUP, "g", "share.isolation.level", "read_committed"),
    ],
)
def test_set_and_delete(world: World, version: int, kind: int, name: str, key: str, value: str) -> None:
    default = describe(world, kind, name)[1].get(key)
    assert alter(world, kind, name, (key, SET, value), version=version, validate_only=True).error_code == 0
    assert describe(world, kind, name)[1].get(key) == default
    assert alter(world, kind, name, (key, SET, value), version=version).error_code == 0
    assert describe(world, kind, name)[1][key].value == value
    assert alter(world, kind, name, (key, DELETE, None), version=version).error_code == 0
    assert describe(world, kind, name)[1].get(key) == default


def test_lists_are_appended_to_and_subtracted_from_as_they_are_in_effect(world: World) -> None:
    def policy() -> str | None:
        return describe(world, TOPIC, "t")[1]["cleanup.policy"].value

    for change, expected in (
        (("cleanup.policy", APPEND, "compact"), "delete,compact"),
        (("cleanup.policy", APPEND, "compact,delete"), "delete,compact"),
        (("cleanup.policy", SUBTRACT, "delete"), "compact"),
        (("cleanup.policy", SUBTRACT, "delete"), "compact"),
    ):
        assert alter(world, TOPIC, "t", change).error_code == ErrorCode.NONE
        assert policy() == expected


@pytest.mark.parametrize(
    ("kind", "name", "change", "code", "says"),
    [
        (
            TOPIC,
            "t",
            ("retention.ms", SET, "x"),
            ErrorCode.INVALID_CONFIG,
            "Invalid value x for configuration retention",
        ),
        (TOPIC, "t", ("nope", SET, "1"), ErrorCode.INVALID_CONFIG, "Unknown topic config name: nope"),
        (TOPIC, "t", ("", SET, "1"), ErrorCode.INVALID_CONFIG, "Unknown topic config name: "),
        (TOPIC, "t", ("retention.ms", APPEND, "1"), ErrorCode.INVALID_CONFIG, "not a list"),
        (TOPIC, "t", ("nope", SUBTRACT, "1"), ErrorCode.INVALID_CONFIG, "not a list"),
        (TOPIC, "t", ("retention.ms", SET, None), ErrorCode.INVALID_REQUEST, "null"),
        (TOPIC, "t", ("cleanup.policy", APPEND, None), ErrorCode.INVALID_REQUEST, "null"),
        (TOPIC, "t", ("retention.ms", 4, "1"), ErrorCode.INVALID_REQUEST, "Unknown operation 4"),
        (TOPIC, "nope", ("retention.ms", SET, "1"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "does not exist"),
        (TOPIC, "nope", ("nope", SET, "1"), ErrorCode.INVALID_CONFIG, "Unknown topic config"),
        (TOPIC, "a/b", ("retention.ms", SET, "1"), ErrorCode.INVALID_TOPIC_EXCEPTION, "invalid"),
        (TOPIC, "", ("retention.ms", SET, "1"), ErrorCode.INVALID_REQUEST, "Default topic"),
        (GROUP, "", ("share.isolation.level", SET, "read_committed"), ErrorCode.INVALID_REQUEST, "Default group"),
        (GROUP, "g", ("share.delivery.count.limit", SET, "11"), ErrorCode.INVALID_CONFIG, "range 2 to 10"),
        (GROUP, "g", ("share.assignor.offload", SET, "true"), ErrorCode.INVALID_CONFIG, "Unknown group config"),
        (GROUP, "g", ("group.share.isolation.level", SET, "x"), ErrorCode.INVALID_CONFIG, "share.isolation.level"),
        (GROUP, "g", ("group.share.auto.offset.reset", SET, "x"), ErrorCode.INVALID_CONFIG, "share.auto.offset.reset"),
        (BROKER, "1", ("num.partitions", SET, "2"), ErrorCode.INVALID_REQUEST, "dynamically: num.partitions"),
        (BROKER, "1", ("nope", SET, "2"), ErrorCode.INVALID_REQUEST, "dynamically: nope"),
        (BROKER, "2", ("message.max.bytes", SET, "2"), ErrorCode.INVALID_REQUEST, "expected 1"),
        (BROKER, "1", ("message.max.bytes", SET, "-1"), ErrorCode.INVALID_REQUEST, "at least 0"),
        (BROKER, "", ("message.max.bytes", SET, "x"), ErrorCode.INVALID_REQUEST, "whole number"),
        (
            BROKER,
            "",
            ("group.share.assignment.interval.ms", SET, "15001"),
            ErrorCode.INVALID_REQUEST,
            "group.share.max.assignment.interval.ms",
        ),
        (ResourceType.BROKER_LOGGER, "1", ("x", SET, "INFO"), ErrorCode.INVALID_REQUEST, "resource type"),
        (99, "1", ("x", SET, "INFO"), ErrorCode.INVALID_REQUEST, "resource type"),
    ],
)
def test_refused(
    world: World, kind: int, name: str, change: tuple[str, int, str | None], code: ErrorCode, says: str
) -> None:
    row = alter(world, kind, name, change)
    assert row.error_code == code
    assert says in str(row.error_message)


def test_a_value_that_another_one_hides_is_checked_too(world: World) -> None:
    assert alter(world, BROKER, "1", ("message.max.bytes", SET, "9")).error_code == ErrorCode.NONE
    assert alter(world, BROKER, "", ("message.max.bytes", SET, "x")).error_code == ErrorCode.INVALID_REQUEST
    assert describe(world, BROKER, "") == (ErrorCode.NONE, {})


def test_removing_what_was_never_set_is_no_error(world: World) -> None:
    for kind, name in ((TOPIC, "t"), (BROKER, "1"), (GROUP, "g")):
        assert alter(world, kind, name, ("nope", DELETE, None)).error_code == ErrorCode.NONE


def test_one_resource_or_key_twice(world: World) -> None:
    resource = AlterConfigsResource(TOPIC, "t", [AlterableConfig("retention.ms", SET, "1")])
    request = IncrementalAlterConfigsRequest([resource, resource])
    rows = world.call(IncrementalAlterConfigsResponse, request, 1).responses
    assert [row.error_code for row in rows] == [ErrorCode.INVALID_REQUEST] * 2
    row = alter(world, TOPIC, "t", ("retention.ms", SET, "1"), ("retention.ms", SET, "2"))
    assert row.error_code == ErrorCode.INVALID_REQUEST


def test_resources_stand_alone(world: World) -> None:
    good = AlterConfigsResource(TOPIC, "t", [AlterableConfig("retention.ms", SET, "1")])
    bad = AlterConfigsResource(GROUP, "g", [AlterableConfig("nope", SET, "1")])
    rows = world.call(IncrementalAlterConfigsResponse, IncrementalAlterConfigsRequest([good, bad]), 1).responses
    assert [row.error_code for row in rows] == [ErrorCode.NONE, ErrorCode.INVALID_CONFIG]
    assert world.configs.log_settings("t").retention_ms == 1


@pytest.mark.parametrize(
    "change",
    [
        ("cleanup.policy", SET, "delete"),
        ("cleanup.policy", APPEND, "delete"),
        ("cleanup.policy", SUBTRACT, "compact"),
        ("cleanup.policy", DELETE, None),
    ],
)
def test_the_share_state_topic_stays_compacted(world: World, change: tuple[str, int, str | None]) -> None:
    world.internal_topics.ensure("__share_group_state")
    row = alter(world, TOPIC, "__share_group_state", change)
    assert row.error_code == ErrorCode.INVALID_CONFIG
    assert "must be compact for __share_group_state" in str(row.error_message)
    assert alter(world, TOPIC, "__share_group_state", ("cleanup.policy", SET, "compact")).error_code == ErrorCode.NONE
    assert alter(world, TOPIC, "__share_group_state", ("segment.bytes", SET, "2000000")).error_code == ErrorCode.NONE


@pytest.mark.parametrize("change", [("segment.bytes", SET, "2000000"), ("cleanup.policy", SET, "delete")])
def test_the_share_state_topic_before_it_is_there(world: World, change: tuple[str, int, str | None]) -> None:
    row = alter(world, TOPIC, "__share_group_state", change)
    assert row.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
