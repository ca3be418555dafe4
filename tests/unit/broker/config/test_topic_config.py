"""Topic properties: the broker's defaults, bounds, and refused values."""

from __future__ import annotations

import pytest

from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.config.keys.broker import BROKER_KEYS
from shareq.broker.config.topic_config import (
    SYNONYMS,
    TOPIC_KEYS,
    check_topic_configs,
    log_settings,
    topic_defaults,
    topic_values,
)
from shareq.broker.log.settings import LogSettings
from shareq.protocol.config_def import ConfigError, format_value
from shareq.protocol.records.compression import Compression


def test_defaults_are_the_same_with_and_without_a_broker() -> None:
    assert topic_defaults(BrokerConfig.load()) == TOPIC_KEYS.defaults()


def test_every_synonym_is_a_broker_property_of_the_same_type() -> None:
    for name, synonyms in SYNONYMS.items():
        for synonym in synonyms:
            assert synonym in BROKER_KEYS
        assert BROKER_KEYS[synonyms[0]].type is TOPIC_KEYS[name].type, name


def test_every_default_is_valid_and_documented() -> None:
    for key in TOPIC_KEYS:
        assert key.doc
        if key.default is not None:
            assert key.parse(format_value(key.default)) == key.default


@pytest.mark.parametrize(
    ("broker", "topic"),
    [
        ({"log.retention.hours": "1"}, {"retention.ms": 3_600_000}),
        ({"log.segment.bytes": "2000000"}, {"segment.bytes": 2_000_000}),
        ({"message.max.bytes": "5"}, {"max.message.bytes": 5}),
        ({"log.cleanup.policy": "compact,delete"}, {"cleanup.policy": ("compact", "delete")}),
        ({"log.message.timestamp.type": "LogAppendTime"}, {"message.timestamp.type": "LogAppendTime"}),
        ({"log.roll.hours": "2"}, {"segment.ms": 7_200_000}),
        ({"log.flush.scheduler.interval.ms": "2"}, {"flush.ms": 2}),
        ({"log.cleaner.min.cleanable.ratio": "0.25"}, {"min.cleanable.dirty.ratio": 0.25}),
    ],
)
def test_the_brokers_properties_are_the_topics_defaults(broker: dict[str, str], topic: dict[str, object]) -> None:
    values = topic_defaults(BrokerConfig.load(broker))
    assert {name: values[name] for name in topic} == topic


def test_a_topics_own_properties_win() -> None:
    values = topic_values("t", BrokerConfig.load({"log.retention.ms": "7"}), {"retention.ms": "-1"})
    assert values["retention.ms"] == -1


def test_what_cannot_be_read_back_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    values = topic_values("t", BrokerConfig.load(), {"retention.ms": "x", "gone": "1", "segment.ms": "5"})
    assert (values["retention.ms"], values["segment.ms"]) == (604_800_000, 5)
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]


@pytest.mark.parametrize(
    ("overrides", "allowed"),
    [
        ({"retention": "1"}, "Unknown topic config name: retention"),
        ({"retention.ms": "-2"}, "at least -1"),
        ({"segment.bytes": "1000"}, "at least 1048576"),
        ({"cleanup.policy": "compact,Delete"}, "one of compact, delete"),
        ({"min.compaction.lag.ms": "9", "max.compaction.lag.ms": "8"}, "at most max.compaction.lag.ms"),
        ({"remote.storage.enable": "true"}, "no remote storage"),
    ],
)
def test_refused(overrides: dict[str, str], allowed: str) -> None:
    with pytest.raises(ConfigError, match=allowed):
        check_topic_configs("t", BrokerConfig.load(), overrides)


@pytest.mark.parametrize("policy", ["delete", "compact,delete", ""])
def test_the_share_state_topic_stays_compacted(policy: str) -> None:
    """Updates are changes, so keeping the last value per key, or deleting by age, would lose state."""
    config = BrokerConfig.load()
    check_topic_configs("__share_group_state", config, {"cleanup.policy": "compact"})
    with pytest.raises(ConfigError, match="must be compact"):
        check_topic_configs("__share_group_state", config, {"cleanup.policy": policy})
    with pytest.raises(ConfigError, match="must be compact"):
        check_topic_configs("__share_group_state", config, {})


def test_log_settings_without_properties_are_the_logs_own_defaults() -> None:
    config = BrokerConfig.load()
    assert log_settings(topic_defaults(config), config) == LogSettings()


def test_log_settings_of_a_topic() -> None:
    config = BrokerConfig.load({"producer.id.expiration.ms": "5"})
    values = topic_values(
        "t",
        config,
        {
            "internal.segment.bytes": "1000",
            "cleanup.policy": "compact",
            "compression.type": "zstd",
            "message.timestamp.type": "LogAppendTime",
            "flush.messages": "1",
        },
    )
    settings = log_settings(values, config)
    assert settings == LogSettings(
        segment_bytes=1000,
        compact=True,
        delete=False,
        compression_type=Compression.ZSTD,
        append_time=True,
        flush_messages=1,
        producer_id_expiration_ms=5,
    )
