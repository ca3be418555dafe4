"""Properties of one group (ConfigResource GROUP): share groups' and consumer groups', each with a broker-wide default.

A group need not exist to have properties. A change is checked strictly against the broker's bounds; what is stored is
clamped to them when it is used, because the bounds may have become tighter since.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from typing import Final

from shareq.broker.config.broker_config import BrokerConfig
from shareq.coordinator.ports import (
    AutoOffsetReset,
    ConsumerGroupSettings,
    IsolationLevel,
    RedeliveryBackoff,
    ShareGroupSettings,
)
from shareq.protocol.config_def import (
    LONG_MAX,
    ConfigDef,
    ConfigError,
    ConfigKey,
    ConfigValue,
    OneOf,
    Range,
    UnknownConfigError,
    float_value,
    int_value,
    read_stored,
)
from shareq.protocol.config_def import ConfigType as Type
from shareq.protocol.names import (
    AUTO_OFFSET_RESET,
    DELIVERY_COUNT_LIMIT,
    DLQ_COPY_RECORD,
    DLQ_TOPIC_NAME,
    HEARTBEAT_INTERVAL_MS,
    ISOLATION_LEVEL,
    PARTITION_MAX_RECORD_LOCKS,
    RECORD_LOCK_DURATION_MS,
    SESSION_TIMEOUT_MS,
)

logger = logging.getLogger(__name__)

_BY_DURATION: Final = "by_duration:"

# ISO 8601 as java.time.Duration reads it: days, then T and hours, minutes, seconds with up to nine decimals.
_DURATION: Final = (
    r"(?P<sign>[+-])?P(?:(?P<days>[+-]?\d+)D)?"
    r"(?P<time>T(?:(?P<hours>[+-]?\d+)H)?(?:(?P<minutes>[+-]?\d+)M)?(?:(?P<seconds>[+-]?\d+)(?:[.,](?P<fraction>\d{0,9}))?S)?)?"
)
_LONGEST_DURATION_TEXT: Final = 100


def parse_auto_offset_reset(text: str) -> AutoOffsetReset:
    """`share.auto.offset.reset`: latest, earliest or by_duration:<ISO 8601, not negative>. ValueError for all else."""
    if text in ("latest", "earliest"):
        return AutoOffsetReset(text)
    if not text.startswith(_BY_DURATION):
        raise ValueError(text)
    return AutoOffsetReset("by_duration", _duration_ms(text.removeprefix(_BY_DURATION)))


def _duration_ms(text: str) -> int:
    match = re.fullmatch(_DURATION, text, re.IGNORECASE | re.ASCII) if len(text) <= _LONGEST_DURATION_TEXT else None
    if match is None or match["time"] in ("T", "t") or (match["days"] is None and match["time"] is None):
        raise ValueError(text)
    seconds = 86_400 * int(match["days"] or 0) + 3_600 * int(match["hours"] or 0)
    seconds += 60 * int(match["minutes"] or 0) + int(match["seconds"] or 0)
    millis = int((match["fraction"] or "").ljust(9, "0")) // 1_000_000
    negative_seconds = (match["seconds"] or "").startswith("-")
    total = seconds * 1000 + (-millis if negative_seconds else millis)
    total = -total if match["sign"] == "-" else total
    if not 0 <= total <= LONG_MAX:
        raise ValueError(text)
    return total


class _AutoOffsetResetText:
    allowed: Final = "must be latest, earliest, or by_duration: and an ISO 8601 duration that is not negative"

    def accepts(self, value: ConfigValue) -> bool:
        try:
            parse_auto_offset_reset(str(value))
        except ValueError:
            return False
        return True


class _DeadLetterQueue:
    allowed: Final = "DLQ topic name must not start with '__'"

    def accepts(self, value: ConfigValue) -> bool:
        return not str(value).startswith("__")


_POSITIVE: Final = Range(1)
_OFFLOAD: Final = "Accepted for compatibility. Groups are assigned in their coordinator's thread."
_KEEP: Final = "shareq.dlq.keep"

_BACKOFF: Final = "shareq.redelivery.backoff.ms"
_LONGEST_BACKOFF: Final = "shareq.redelivery.backoff.max.ms"
_WEEK_MS: Final = 604_800_000

_ORDER: Final = "shareq.order"

# Not of Apache Kafka: listed for a group that has them, or by name.
_OWN_KEYS: Final = (
    ConfigKey(
        _ORDER,
        Type.STRING,
        "none",
        OneOf("none", "key"),
        "With `key` no record is delivered while an earlier one of its key and partition is not finished.",
        internal=True,
    ),
    ConfigKey(
        _BACKOFF,
        Type.LONG,
        0,
        Range(0, _WEEK_MS),
        "How long a record waits after its first failed delivery before it is delivered again; 0: not at all.",
        internal=True,
    ),
    ConfigKey(
        "shareq.redelivery.backoff.jitter",
        Type.DOUBLE,
        0.0,
        Range(0, 1),
        "The greatest part of the wait that is added to it or taken from it, so that records spread.",
        internal=True,
    ),
    ConfigKey(
        _LONGEST_BACKOFF,
        Type.LONG,
        300_000,
        Range(1, _WEEK_MS),
        "The longest wait, whatever the number of failed deliveries, and after a restart whatever the clock says.",
        internal=True,
    ),
    ConfigKey(
        "shareq.redelivery.backoff.multiplier",
        Type.DOUBLE,
        2.0,
        Range(1, 100),
        "How much longer a record waits after each further failed delivery.",
        internal=True,
    ),
)

GROUP_KEYS: Final = ConfigDef(
    (
        ConfigKey("consumer.assignment.interval.ms", Type.INT, 1_000, Range(0), "Least time between two assignments."),
        ConfigKey("consumer.assignor.offload.enable", Type.BOOLEAN, True, None, _OFFLOAD, internal=True),
        ConfigKey("consumer.heartbeat.interval.ms", Type.INT, 5_000, _POSITIVE, "How often members send heartbeats."),
        ConfigKey("consumer.session.timeout.ms", Type.INT, 45_000, _POSITIVE, "A member silent for so long leaves."),
        ConfigKey(DLQ_COPY_RECORD, Type.BOOLEAN, False, None, "Whether dead letters carry the record's key and value."),
        ConfigKey(
            DLQ_TOPIC_NAME,
            Type.STRING,
            "",
            _DeadLetterQueue(),
            "The group's dead-letter queue, a topic; empty: it has none.",
        ),
        ConfigKey("share.assignment.interval.ms", Type.INT, 1_000, Range(0), "Least time between two assignments."),
        ConfigKey("share.assignor.offload.enable", Type.BOOLEAN, True, None, _OFFLOAD, internal=True),
        ConfigKey(
            AUTO_OFFSET_RESET,
            Type.STRING,
            "latest",
            _AutoOffsetResetText(),
            "Where a share partition starts that nothing was read of: latest, earliest, or by_duration:<ISO 8601>.",
        ),
        ConfigKey(DELIVERY_COUNT_LIMIT, Type.INT, 5, Range(2), "Deliveries before a record is archived."),
        ConfigKey(HEARTBEAT_INTERVAL_MS, Type.INT, 5_000, _POSITIVE, "How often members send heartbeats."),
        ConfigKey(
            ISOLATION_LEVEL,
            Type.STRING,
            "read_uncommitted",
            OneOf("read_uncommitted", "read_committed"),
            "Whether records of open and aborted transactions are delivered.",
        ),
        ConfigKey(PARTITION_MAX_RECORD_LOCKS, Type.INT, 2_000, Range(100), "Offsets that may be in flight."),
        ConfigKey(RECORD_LOCK_DURATION_MS, Type.INT, 30_000, Range(1_000), "How long a record stays acquired."),
        ConfigKey("share.renew.acknowledge.enable", Type.BOOLEAN, True, None, "Whether consumers may renew locks."),
        ConfigKey(SESSION_TIMEOUT_MS, Type.INT, 45_000, _POSITIVE, "A member silent for so long leaves."),
        # Ours: shown for groups that have it.
        ConfigKey(
            _KEEP,
            Type.BOOLEAN,
            False,
            None,
            "Whether a dead record stays in flight until its dead letter is written, with the record's headers and "
            "timestamp.",
            internal=True,
        ),
        *_OWN_KEYS,
    )
)

# Names of early drafts of the KIP -> today's.
_RENAMED: Final = {
    "group.share.auto.offset.reset": AUTO_OFFSET_RESET,
    "group.share.isolation.level": ISOLATION_LEVEL,
}


def broker_synonym(name: str, config: BrokerConfig) -> str | None:
    """The broker property that is a group property's default; None if there is none."""
    synonym = f"group.{name}"
    return synonym if synonym in config.values else None


def check_group_configs(config: BrokerConfig, overrides: Mapping[str, str]) -> None:
    """ConfigError unless a group may have these properties, all of its own ones after a change.

    What it follows the broker in is not its fault: only its own values are held to the bounds, and a session timeout to
    a heartbeat interval where one of the two is its own.
    """
    values = _defaults(config)
    for name, text in overrides.items():
        values[name] = _key(name).parse(text)
    for name in overrides:
        bounds = _bounds(name, config)
        if bounds is not None and not bounds[0] <= (value := int_value(values, name)) <= bounds[1]:
            raise ConfigError(name, value, f"must be in the range {bounds[0]} to {bounds[1]} inclusive")
    for kind in ("share", "consumer"):
        names = (f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms")
        session, heartbeat = (int_value(values, name) for name in names)
        if session <= heartbeat and not overrides.keys().isdisjoint(names):
            raise ConfigError(names[0], session, f"must be greater than {names[1]} ({heartbeat})")
    backoff, longest = int_value(values, _BACKOFF), int_value(values, _LONGEST_BACKOFF)
    if backoff > longest:
        raise ConfigError(_BACKOFF, backoff, f"must be at most {_LONGEST_BACKOFF} ({longest})")


def group_values(group_id: str, config: BrokerConfig, overrides: Mapping[str, str]) -> dict[str, ConfigValue]:
    """What is in effect for a group: its own values within today's bounds, over the broker's."""
    values = stored_values(group_id, config, overrides)
    for name in values.keys() & overrides.keys():
        values[name] = _clamped(group_id, name, values[name], config)
    return values


def stored_values(group_id: str, config: BrokerConfig, overrides: Mapping[str, str]) -> dict[str, ConfigValue]:
    """The same, but its own values as they were set, which is what administrators are shown."""
    values = _defaults(config)
    read_stored(values, overrides, _key, f"group {group_id}")
    return values


def _clamped(group_id: str, name: str, value: ConfigValue, config: BrokerConfig) -> ConfigValue:
    bounds = _bounds(name, config)
    if bounds is None or not isinstance(value, int):
        return value
    clamped = min(max(value, bounds[0]), bounds[1])
    if clamped != value:
        logger.warning("group %s: %s=%d is outside the broker's bounds, using %d", group_id, name, value, clamped)
    return clamped


def share_group_settings(values: Mapping[str, ConfigValue], *, dead_letters: bool = True) -> ShareGroupSettings:
    """Effective values (`group_values`) as the coordinators and share partitions take them.

    `dead_letters`: whether share groups have dead letters at all now (feature share.version 2).
    """
    return ShareGroupSettings(
        session_timeout_ms=int_value(values, SESSION_TIMEOUT_MS),
        heartbeat_interval_ms=int_value(values, HEARTBEAT_INTERVAL_MS),
        record_lock_duration_ms=int_value(values, RECORD_LOCK_DURATION_MS),
        delivery_count_limit=int_value(values, DELIVERY_COUNT_LIMIT),
        partition_max_record_locks=int_value(values, PARTITION_MAX_RECORD_LOCKS),
        assignment_interval_ms=int_value(values, "share.assignment.interval.ms"),
        auto_offset_reset=parse_auto_offset_reset(str(values[AUTO_OFFSET_RESET])),
        isolation_level=IsolationLevel[str(values[ISOLATION_LEVEL]).upper()],
        renew_acknowledge_enable=values["share.renew.acknowledge.enable"] is True,
        dead_letters=dead_letters and values[DLQ_TOPIC_NAME] != "",
        dead_letter_queue=str(values[DLQ_TOPIC_NAME]),
        copy_dead_records=values[DLQ_COPY_RECORD] is True,
        keep_dead_records=values[_KEEP] is True,
        redelivery=RedeliveryBackoff(
            initial_ms=int_value(values, _BACKOFF),
            max_ms=int_value(values, _LONGEST_BACKOFF),
            multiplier=float_value(values, "shareq.redelivery.backoff.multiplier"),
            jitter=float_value(values, "shareq.redelivery.backoff.jitter"),
        ),
        order_by_key=values[_ORDER] == "key",
    )


def consumer_group_settings(values: Mapping[str, ConfigValue]) -> ConsumerGroupSettings:
    """Effective values (`group_values`) of a consumer group."""
    return ConsumerGroupSettings(
        session_timeout_ms=int_value(values, "consumer.session.timeout.ms"),
        heartbeat_interval_ms=int_value(values, "consumer.heartbeat.interval.ms"),
        assignment_interval_ms=int_value(values, "consumer.assignment.interval.ms"),
    )


def _defaults(config: BrokerConfig) -> dict[str, ConfigValue]:
    values = GROUP_KEYS.defaults()
    for name in values:
        synonym = broker_synonym(name, config)
        if synonym is not None:
            values[name] = config.values[synonym]
    return values


def _key(name: str) -> ConfigKey:
    key = GROUP_KEYS.keys.get(name)
    if key is None:
        renamed = _RENAMED.get(name)
        raise UnknownConfigError("group", name, f"; it is now called {renamed}" if renamed else "")
    return key


def _bounds(name: str, config: BrokerConfig) -> tuple[int, int] | None:
    kind, _, rest = name.partition(".")
    low, high = config.values.get(f"group.{kind}.min.{rest}"), config.values.get(f"group.{kind}.max.{rest}")
    return (low, high) if isinstance(low, int) and isinstance(high, int) else None
