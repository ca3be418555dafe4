"""Share-group properties: names, defaults and bounds, for the broker and for a group (KIP-932, Apache Kafka 4.3.1)."""

from __future__ import annotations

import pytest

from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.config.group_config import GROUP_KEYS, check_group_configs
from shareq.broker.config.keys.broker import BROKER_KEYS
from shareq.protocol.config_def import ConfigError, UpdateMode, format_value

# name, default, least, greatest (None: open)
BROKER_NUMBERS = [
    ("group.share.max.size", 200, 1, 1000),
    ("group.share.session.timeout.ms", 45_000, 1, None),
    ("group.share.min.session.timeout.ms", 45_000, 1, None),
    ("group.share.max.session.timeout.ms", 60_000, 1, None),
    ("group.share.heartbeat.interval.ms", 5_000, 1, None),
    ("group.share.min.heartbeat.interval.ms", 5_000, 1, None),
    ("group.share.max.heartbeat.interval.ms", 15_000, 1, None),
    ("group.share.assignment.interval.ms", 1_000, 0, None),
    ("group.share.min.assignment.interval.ms", 0, 0, None),
    ("group.share.max.assignment.interval.ms", 15_000, 0, None),
    ("group.share.initialize.retry.interval.ms", 30_000, 1, None),
    ("group.share.delivery.count.limit", 5, 2, 10),
    ("group.share.min.delivery.count.limit", 2, 2, 5),
    ("group.share.max.delivery.count.limit", 10, 5, 25),
    ("group.share.record.lock.duration.ms", 30_000, 1_000, 3_600_000),
    ("group.share.min.record.lock.duration.ms", 15_000, 1_000, 30_000),
    ("group.share.max.record.lock.duration.ms", 60_000, 30_000, 3_600_000),
    ("group.share.partition.max.record.locks", 2_000, 100, 1_000_000),  # Apache Kafka: 10,000
    ("group.share.min.partition.max.record.locks", 100, 100, 2_000),
    ("group.share.max.partition.max.record.locks", 4_000, 2_000, 1_000_000),  # Apache Kafka: 10,000
    ("group.share.max.share.sessions", 2_000, 1, None),
    ("group.share.max.groups", None, 1, 100),  # the KIP's only; no limit unless given
    ("share.fetch.purgatory.purge.interval.requests", 1_000, None, None),
    ("share.coordinator.state.topic.num.partitions", 50, 1, None),
    ("share.coordinator.state.topic.replication.factor", 1, 1, None),  # Apache Kafka: 3
    ("share.coordinator.state.topic.min.isr", 1, 1, None),  # Apache Kafka: 2
    ("share.coordinator.state.topic.segment.bytes", 104_857_600, 1, None),
    ("share.coordinator.state.topic.compression.codec", 0, 0, 4),
    ("share.coordinator.threads", 1, 1, None),
    ("share.coordinator.snapshot.update.records.per.snapshot", 500, 0, 500),
    ("share.coordinator.write.timeout.ms", 5_000, 1, None),
    ("share.coordinator.load.buffer.size", 5_242_880, 1, None),
    ("share.coordinator.append.linger.ms", -1, -1, None),
    ("share.coordinator.state.topic.prune.interval.ms", 300_000, 1, None),
    ("share.coordinator.cold.partition.snapshot.interval.ms", 300_000, 1, None),
    ("share.coordinator.cached.buffer.max.bytes", 1_048_588, 524_288, None),
]

GROUP_NUMBERS = [
    ("share.session.timeout.ms", 45_000, 1),
    ("share.heartbeat.interval.ms", 5_000, 1),
    ("share.record.lock.duration.ms", 30_000, 1_000),
    ("share.delivery.count.limit", 5, 2),
    ("share.partition.max.record.locks", 2_000, 100),
    ("share.assignment.interval.ms", 1_000, 0),
]

ALIASES = [
    ("group.share.record.lock.duration.max.ms", "group.share.max.record.lock.duration.ms", "90000"),
    ("group.share.record.lock.partition.limit", "group.share.partition.max.record.locks", "300"),
    ("group.share.state.topic.num.partitions", "share.coordinator.state.topic.num.partitions", "7"),
    ("group.share.state.topic.replication.factor", "share.coordinator.state.topic.replication.factor", "3"),
    ("group.share.state.topic.segment.bytes", "share.coordinator.state.topic.segment.bytes", "1000000"),
    ("group.share.state.topic.min.isr", "share.coordinator.state.topic.min.isr", "2"),
]


@pytest.mark.parametrize(("name", "default", "least", "greatest"), BROKER_NUMBERS)
def test_broker_property_has_its_default_and_bounds(
    name: str, default: int | None, least: int | None, greatest: int | None
) -> None:
    key = BROKER_KEYS[name]
    assert key.default == default
    if least is not None:
        assert key.parse(str(least)) == least
        with pytest.raises(ConfigError, match=f"Invalid value {least - 1} for configuration {name}"):
            key.parse(str(least - 1))
    if greatest is not None:
        assert key.parse(str(greatest)) == greatest
        with pytest.raises(ConfigError, match=f"between {least} and {greatest}"):
            key.parse(str(greatest + 1))


def test_no_share_property_is_without_a_row() -> None:
    numbers = {name for name, *_ in BROKER_NUMBERS}
    others = {
        "group.share.enable",
        "group.share.assignors",
        "group.share.persister.class.name",
        "group.share.assignor.offload.enable",
        "group.share.dlq.manager.class.name",
    }
    shares = {key.name for key in BROKER_KEYS if key.name.startswith(("group.share.", "share."))}
    assert shares == numbers | others


def test_only_the_assignment_interval_and_the_buffer_change_while_running() -> None:
    dynamic = {key.name for key in BROKER_KEYS if "share." in key.name and key.mode is not UpdateMode.READ_ONLY}
    assert dynamic == {"group.share.assignment.interval.ms", "share.coordinator.cached.buffer.max.bytes"}


@pytest.mark.parametrize(("alias", "name", "text"), ALIASES)
def test_names_of_the_kips_table_are_aliases(alias: str, name: str, text: str) -> None:
    config = BrokerConfig.load({alias: text})
    assert format_value(config.values[name]) == text
    assert not any(alias in warning for warning in config.warnings)


@pytest.mark.parametrize(("alias", "name", "text"), ALIASES)
def test_the_canonical_name_wins_over_its_alias_with_a_warning(alias: str, name: str, text: str) -> None:
    canonical = format_value(BROKER_KEYS[name].default)
    config = BrokerConfig.load({name: canonical, alias: text})
    assert format_value(config.values[name]) == canonical
    assert len(config.warnings) == 1
    assert alias in config.warnings[0]
    assert name in config.warnings[0]


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("session.timeout.ms", 45_001, 59_999),
        ("heartbeat.interval.ms", 5_001, 14_999),
        ("assignment.interval.ms", 1, 14_999),
        ("delivery.count.limit", 3, 9),
        ("record.lock.duration.ms", 15_001, 59_999),
        ("partition.max.record.locks", 101, 3_999),
    ],
)
def test_the_broker_refuses_to_start_outside_min_and_max(name: str, low: int, high: int) -> None:
    own, least, greatest = f"group.share.{name}", f"group.share.min.{name}", f"group.share.max.{name}"
    bounds = {least: str(low), greatest: str(high)}
    for value in (low, high):
        assert BrokerConfig.load({**bounds, own: str(value)}).values[own] == value
    with pytest.raises(ConfigError, match=f"Invalid value {low - 1} for configuration {own}: .*{least} \\({low}\\)"):
        BrokerConfig.load({**bounds, own: str(low - 1)})
    with pytest.raises(
        ConfigError, match=f"Invalid value {high + 1} for configuration {own}: .*{greatest} \\({high}\\)"
    ):
        BrokerConfig.load({**bounds, own: str(high + 1)})


def test_a_minimum_above_the_maximum_names_both() -> None:
    properties = {"group.share.min.session.timeout.ms": "50000", "group.share.max.session.timeout.ms": "49999"}
    with pytest.raises(ConfigError, match=r"max\.session\.timeout\.ms: must be at least group\.share\.min\.session"):
        BrokerConfig.load(properties)


def test_heartbeats_must_be_shorter_than_sessions() -> None:
    properties = {
        "group.share.session.timeout.ms": "5000",
        "group.share.min.session.timeout.ms": "1",
    }
    with pytest.raises(ConfigError, match=r"heartbeat\.interval\.ms: must be less than group\.share\.session"):
        BrokerConfig.load(properties)


def test_share_sessions_must_cover_a_whole_group() -> None:
    with pytest.raises(ConfigError, match=r"must be at least group\.share\.max\.size \(200\)"):
        BrokerConfig.load({"group.share.max.share.sessions": "199"})


@pytest.mark.parametrize(
    "text",
    [
        "simple",
        "org.apache.kafka.coordinator.group.assignor.SimpleAssignor",
        "org.apache.kafka.coordinator.group.share.SimpleAssignor",
        "org.apache.kafka.server.group.share.SimpleAssignor",
    ],
)
def test_the_simple_assignor_by_any_of_its_names(text: str) -> None:
    assert BrokerConfig.load({"group.share.assignors": text}).group_share_assignors == ("simple",)


@pytest.mark.parametrize("text", ["", "uniform", "simple,simple", "simple,uniform"])
def test_no_other_share_assignor(text: str) -> None:
    with pytest.raises(ConfigError, match=r"group\.share\.assignors"):
        BrokerConfig.load({"group.share.assignors": text})


@pytest.mark.parametrize(("text", "level"), [("true", None), ("false", 0)])
def test_group_share_enable_asks_for_a_feature_level(text: str, level: int | None) -> None:
    assert BrokerConfig.load({"group.share.enable": text}).requested_features == {"share.version": level}
    assert BrokerConfig.load().requested_features == {}


@pytest.mark.parametrize(("name", "default", "least"), GROUP_NUMBERS)
def test_group_property_has_its_default_bounds_and_broker_bounds(name: str, default: int, least: int) -> None:
    config = BrokerConfig.load()
    assert GROUP_KEYS[name].default == default == config.values[f"group.{name}"]
    assert GROUP_KEYS[name].parse(str(least)) == least
    with pytest.raises(ConfigError, match=f"must be at least {least}"):
        GROUP_KEYS[name].parse(str(least - 1))
    prefix, rest = name.split(".", 1)
    low, high = config.values[f"group.{prefix}.min.{rest}"], config.values[f"group.{prefix}.max.{rest}"]
    assert isinstance(low, int)
    assert isinstance(high, int)
    for value in (low, high):
        check_group_configs(config, {name: str(value)})
    for value in (low - 1, high + 1):
        with pytest.raises(ConfigError, match=name):
            check_group_configs(config, {name: str(value)})


def test_the_other_group_properties_have_defaults_only() -> None:
    assert GROUP_KEYS["share.auto.offset.reset"].default == "latest"
    assert GROUP_KEYS["share.isolation.level"].default == "read_uncommitted"
    assert GROUP_KEYS["share.renew.acknowledge.enable"].default is True
    shares = {key.name for key in GROUP_KEYS if key.name.startswith("share.")}
    assert shares == {name for name, *_ in GROUP_NUMBERS} | {
        "share.auto.offset.reset",
        "share.isolation.level",
        "share.renew.acknowledge.enable",
        "share.assignor.offload.enable",
    }
