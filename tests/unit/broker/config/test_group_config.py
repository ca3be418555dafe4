"""Group properties: checks at the Admin API, clamping when used, and share.auto.offset.reset."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.config.group_config import (
    check_group_configs,
    consumer_group_settings,
    group_values,
    share_group_settings,
)
from shareq.coordinator.ports import (
    AutoOffsetReset,
    ConsumerGroupSettings,
    IsolationLevel,
    RedeliveryBackoff,
    ShareGroupSettings,
)
from shareq.protocol.config_def import ConfigError


def test_a_group_without_properties_follows_the_broker() -> None:
    config = BrokerConfig.load()
    assert share_group_settings(group_values("g", config, {})) == ShareGroupSettings()
    assert consumer_group_settings(group_values("g", config, {})) == ConsumerGroupSettings()
    config = BrokerConfig.load(
        {"group.share.delivery.count.limit": "7", "group.consumer.heartbeat.interval.ms": "6000"}
    )
    assert share_group_settings(group_values("g", config, {})).delivery_count_limit == 7
    assert consumer_group_settings(group_values("g", config, {})).heartbeat_interval_ms == 6000


def test_a_groups_own_properties() -> None:
    overrides = {
        "share.session.timeout.ms": "50000",
        "share.heartbeat.interval.ms": "6000",
        "share.record.lock.duration.ms": "15000",
        "share.delivery.count.limit": "10",
        "share.partition.max.record.locks": "4000",
        "share.assignment.interval.ms": "0",
        "share.auto.offset.reset": "by_duration:PT1H",
        "share.isolation.level": "read_committed",
        "share.renew.acknowledge.enable": "false",
        "shareq.redelivery.backoff.ms": "500",
        "shareq.redelivery.backoff.max.ms": "8000",
        "shareq.redelivery.backoff.multiplier": "1.5",
        "shareq.redelivery.backoff.jitter": "0.2",
    }
    config = BrokerConfig.load()
    check_group_configs(config, overrides)
    assert share_group_settings(group_values("g", config, overrides)) == ShareGroupSettings(
        session_timeout_ms=50_000,
        heartbeat_interval_ms=6_000,
        record_lock_duration_ms=15_000,
        delivery_count_limit=10,
        partition_max_record_locks=4_000,
        assignment_interval_ms=0,
        auto_offset_reset=AutoOffsetReset("by_duration", 3_600_000),
        isolation_level=IsolationLevel.READ_COMMITTED,
        renew_acknowledge_enable=False,
        redelivery=RedeliveryBackoff(500, 8_000, 1.5, 0.2),
    )


@pytest.mark.parametrize(
    ("overrides", "allowed"),
    [
        ({"share.assignor.offload": "true"}, "Unknown group config name: share.assignor.offload"),
        ({"share.assignor.offload.enable": "yes"}, "true or false"),
        (
            {"group.share.isolation.level": "read_committed"},
            r"Unknown group config name: .*; it is now called share\.isolation\.level",
        ),
        ({"group.share.auto.offset.reset": "earliest"}, r"is now called share\.auto\.offset\.reset"),
        ({"share.isolation.level": "READ_COMMITTED"}, "one of read_uncommitted, read_committed"),
        ({"share.auto.offset.reset": "none"}, "latest, earliest, or by_duration"),
        ({"share.auto.offset.reset": "Latest"}, "latest, earliest, or by_duration"),
        ({"share.renew.acknowledge.enable": "maybe"}, "true or false"),
        ({"share.delivery.count.limit": "11"}, "must be in the range 2 to 10 inclusive"),
        ({"share.record.lock.duration.ms": "14999"}, "range 15000 to 60000"),
        ({"share.assignment.interval.ms": "15001"}, "range 0 to 15000"),
        ({"consumer.session.timeout.ms": "44999"}, "range 45000 to 60000"),
        (
            {"errors.deadletterqueue.topic.name": "__x"},
            "errors.deadletterqueue.topic.name: DLQ topic name must not start with '__'",
        ),
        ({"errors.deadletterqueue.copy.record.enable": "maybe"}, "true or false"),
        ({"shareq.dlq.keep": "maybe"}, "true or false"),
        ({"shareq.redelivery.backoff.ms": "-1"}, "between 0 and 604800000"),
        ({"shareq.redelivery.backoff.max.ms": "0"}, "between 1 and 604800000"),
        ({"shareq.redelivery.backoff.max.ms": "604800001"}, "between 1 and 604800000"),
        ({"shareq.redelivery.backoff.multiplier": "0.9"}, "between 1 and 100"),
        ({"shareq.redelivery.backoff.multiplier": "nan"}, "must be a number"),
        ({"shareq.redelivery.backoff.jitter": "1.1"}, "between 0 and 1"),
        (
            {"shareq.redelivery.backoff.ms": "300001"},
            r"must be at most shareq\.redelivery\.backoff\.max\.ms \(300000\)",
        ),
        ({"shareq.redelivery.backoff.ms": "501", "shareq.redelivery.backoff.max.ms": "500"}, "must be at most"),
    ],
)
def test_refused(overrides: dict[str, str], allowed: str) -> None:
    with pytest.raises(ConfigError, match=allowed):
        check_group_configs(BrokerConfig.load(), overrides)


def test_records_do_not_wait_by_default() -> None:
    config = BrokerConfig.load()
    assert share_group_settings(group_values("g", config, {})).redelivery == RedeliveryBackoff(0, 300_000, 2.0, 0.0)
    check_group_configs(config, {"shareq.redelivery.backoff.ms": "300000"})


def test_the_combination_is_checked_with_the_brokers_values() -> None:
    config = BrokerConfig.load({"group.share.min.session.timeout.ms": "1000"})
    with pytest.raises(ConfigError, match=r"must be greater than share\.heartbeat\.interval\.ms \(5000\)"):
        check_group_configs(config, {"share.session.timeout.ms": "5000"})


def test_what_a_group_follows_the_broker_in_does_not_stand_in_its_way() -> None:
    """A group's values are accepted although the broker's lie outside their bounds, as in Apache Kafka from 4.4 on."""
    config = BrokerConfig.load()
    config.values.update({"group.share.heartbeat.interval.ms": 1, "group.share.session.timeout.ms": 1})
    check_group_configs(config, {"share.delivery.count.limit": "7"})
    with pytest.raises(ConfigError, match=r"must be greater than share\.heartbeat\.interval\.ms \(5000\)"):
        check_group_configs(config, {"share.heartbeat.interval.ms": "5000"})
    check_group_configs(config, {"share.heartbeat.interval.ms": "5000", "share.session.timeout.ms": "45000"})


def test_a_group_with_a_value_of_its_own_follows_the_broker_in_all_others() -> None:
    own = {"share.delivery.count.limit": "7"}
    before = group_values("g", BrokerConfig.load(), own)
    after = group_values("g", BrokerConfig.load({"group.share.record.lock.duration.ms": "40000"}), own)
    assert (before["share.record.lock.duration.ms"], after["share.record.lock.duration.ms"]) == (30_000, 40_000)
    assert before["share.delivery.count.limit"] == after["share.delivery.count.limit"] == 7


def test_stored_values_are_clamped_to_tighter_bounds_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    config = BrokerConfig.load(
        {"group.share.max.delivery.count.limit": "6", "group.share.min.delivery.count.limit": "4"}
    )
    assert group_values("g", config, {"share.delivery.count.limit": "10"})["share.delivery.count.limit"] == 6
    assert group_values("g", config, {"share.delivery.count.limit": "2"})["share.delivery.count.limit"] == 4
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]
    assert "group g: share.delivery.count.limit=10 is outside the broker's bounds, using 6" in caplog.messages


def test_stored_values_that_cannot_be_read_are_left_out(caplog: pytest.LogCaptureFixture) -> None:
    values = group_values("g", BrokerConfig.load(), {"share.isolation.level": "x", "gone": "1"})
    assert values["share.isolation.level"] == "read_uncommitted"
    assert len(caplog.records) == 2


@pytest.mark.parametrize(
    ("text", "millis"),
    [
        ("PT0S", 0),
        ("PT1.5S", 1500),
        ("PT1,5S", 1500),
        ("pt1h", 3_600_000),
        ("P1DT2H3M4.005S", 93_784_005),
        ("P2D", 172_800_000),
        ("PT-1M61S", 1000),
        ("-PT-1S", 1000),
        ("PT0.0009S", 0),
        ("PT1.S", 1000),
    ],
)
def test_durations_as_java_reads_them(text: str, millis: int) -> None:
    assert AutoOffsetReset.of(f"by_duration:{text}") == AutoOffsetReset("by_duration", millis)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "LATEST",
        "none",
        "by_duration",
        "by_duration:",
        "by_duration:P",
        "by_duration:PT",
        "by_duration:P1DT",
        "by_duration:-PT1S",
        "by_duration:PT-1S",
        "by_duration:P1Y",
        "by_duration:PT1H ",
        "by_duration:PT٣S",
        "by_duration:P" + "9" * 30 + "D",
        "by_duration:PT" + "1" * 5000 + "S",
    ],
)
def test_other_offset_resets_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^"):
        AutoOffsetReset.of(text)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 999))
def test_durations_add_up(days: int, hours: int, seconds: int, millis: int) -> None:
    reset = AutoOffsetReset.of(f"by_duration:P{days}DT{hours}H{seconds}.{millis:03}S")
    assert reset.duration_ms == ((days * 24 + hours) * 3600 + seconds) * 1000 + millis


def test_a_group_has_dead_letters_when_it_names_a_queue_and_the_feature_is_on() -> None:
    config = BrokerConfig.load()
    overrides = {
        "errors.deadletterqueue.topic.name": "dlq.t",
        "errors.deadletterqueue.copy.record.enable": "true",
        "shareq.dlq.keep": "true",
    }
    check_group_configs(config, overrides)
    values = group_values("g", config, overrides)
    assert share_group_settings(values) == ShareGroupSettings(
        dead_letters=True, dead_letter_queue="dlq.t", copy_dead_records=True, keep_dead_records=True
    )
    assert not share_group_settings(values, dead_letters=False).dead_letters
