"""A topic's properties: Apache Kafka 4.4.0's names and bounds, and the broker properties they fall back to.

Properties that a topic's logs use are declared with the logs' settings (`shareq.broker.log.settings`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.config.keys.log import GZIP_LEVELS, LZ4_LEVELS, ZSTD_LEVELS
from shareq.broker.log.settings import LogSettings
from shareq.protocol.config_def import (
    LONG_MAX,
    ConfigDef,
    ConfigError,
    ConfigKey,
    ConfigValue,
    OneOf,
    UnknownConfigError,
    boolean,
    int_value,
    integer,
    long,
    read_stored,
    words,
)
from shareq.protocol.names import DLQ_GROUP_ENABLE, SHARE_GROUP_STATE
from shareq.protocol.settings import keys_of, settings_from

_WEEK_MS: Final = 604_800_000
_DAY_MS: Final = 86_400_000
_HOUR_MS: Final = 3_600_000
_REMOTE: Final = "There is no remote storage: only the default is accepted."
_NOT_REMOTE: Final = "There is no remote storage: accepted, without effect."
_THROTTLED: Final = "There is no replication: accepted, without effect."

TOPIC_KEYS: Final = ConfigDef(
    (
        *keys_of(LogSettings),
        words(
            "cleanup.policy",
            ("delete",),
            "What happens to old segments.",
            valid=OneOf("compact", "delete"),
            broker_names=("log.cleanup.policy",),
        ),
        integer(
            "compression.gzip.level",
            -1,
            "Level for `gzip`.",
            valid=GZIP_LEVELS,
            broker_names=("compression.gzip.level",),
        ),
        integer(
            "compression.lz4.level", 9, "Level for `lz4`.", valid=LZ4_LEVELS, broker_names=("compression.lz4.level",)
        ),
        integer(
            "compression.zstd.level",
            3,
            "Level for `zstd`.",
            valid=ZSTD_LEVELS,
            broker_names=("compression.zstd.level",),
        ),
        boolean(DLQ_GROUP_ENABLE, False, "Whether groups may use the topic as their dead-letter queue (KIP-1191)."),
        long(
            "file.delete.delay.ms",
            60_000,
            "Delay before a file is removed.",
            at_least=0,
            broker_names=("log.segment.delete.delay.ms",),
        ),
        long(
            "flush.ms",
            LONG_MAX,
            "Longest time between two syncs.",
            at_least=0,
            broker_names=("log.flush.interval.ms", "log.flush.scheduler.interval.ms"),
        ),
        words("follower.replication.throttled.replicas", (), _THROTTLED),
        words("leader.replication.throttled.replicas", (), _THROTTLED),
        long("local.retention.bytes", -2, _REMOTE, at_least=-2),
        long("local.retention.ms", -2, _REMOTE, at_least=-2),
        integer(
            "min.insync.replicas",
            1,
            "Replicas that acks=all waits for, at most as many as there are.",
            at_least=1,
            broker_names=("min.insync.replicas",),
        ),
        boolean(
            "preallocate", False, "Whether segment files take their size at once.", broker_names=("log.preallocate",)
        ),
        long("remote.copy.lag.bytes", -1, _NOT_REMOTE, at_least=-1, broker_names=("log.remote.copy.lag.bytes",)),
        long("remote.copy.lag.ms", 0, _NOT_REMOTE, at_least=-1, broker_names=("log.remote.copy.lag.ms",)),
        boolean("remote.log.copy.disable", False, _REMOTE),
        boolean("remote.log.delete.on.disable", False, _REMOTE),
        boolean("remote.storage.enable", False, _REMOTE),
        long(
            "segment.jitter.ms",
            0,
            "Random spread of rolling.",
            at_least=0,
            broker_names=("log.roll.jitter.ms", "log.roll.jitter.hours"),
        ),
        boolean(
            "unclean.leader.election.enable",
            False,
            "Kept for tools; there is one replica.",
            broker_names=("unclean.leader.election.enable",),
        ),
        integer("internal.segment.bytes", None, "Segment size without a lower bound.", at_least=1, internal=True),
    )
)

SYNONYMS: Final[Mapping[str, tuple[str, ...]]] = {key.name: key.broker_names for key in TOPIC_KEYS if key.broker_names}
"""For each topic property, the broker properties that are its defaults, in order of precedence."""

# Where the fallback is not simply the first synonym's value.
_COMPUTED: Final[Mapping[str, Callable[[BrokerConfig], ConfigValue]]] = {
    "flush.ms": lambda config: config.flush_ms,
    "retention.ms": lambda config: config.retention_ms,
    "segment.jitter.ms": lambda config: config.roll_jitter_ms,
    "segment.ms": lambda config: config.roll_ms,
}

_MUST_BE_DEFAULT: Final = ("remote.storage.enable", "remote.log.copy.disable", "remote.log.delete.on.disable")


def topic_defaults(config: BrokerConfig) -> dict[str, ConfigValue]:
    """Return the values of a topic that sets no properties, on a broker with this configuration."""
    return dict(_defaults(config))


@lru_cache(maxsize=2)  # a configuration is immutable, and one request may have thousands of topics
def _defaults(config: BrokerConfig) -> Mapping[str, ConfigValue]:
    values = TOPIC_KEYS.defaults()
    for name, synonyms in SYNONYMS.items():
        computed = _COMPUTED.get(name)
        values[name] = config.values[synonyms[0]] if computed is None else computed(config)
    return values


def topic_values(topic: str, config: BrokerConfig, overrides: Mapping[str, str]) -> dict[str, ConfigValue]:
    """Return the values in effect for a topic with these stored properties. Unreadable ones are logged and left out."""
    values = topic_defaults(config)
    read_stored(values, overrides, _key, f"topic {topic}")
    return values


def check_topic_configs(topic: str, config: BrokerConfig, overrides: Mapping[str, str]) -> None:
    """Raise ConfigError unless the topic may have `overrides`, the properties that it sets itself after a change."""
    values = topic_defaults(config)
    for name, given in overrides.items():
        values[name] = _key(name).parse(given)
    least, most = int_value(values, "min.compaction.lag.ms"), int_value(values, "max.compaction.lag.ms")
    if least > most:
        raise ConfigError("min.compaction.lag.ms", least, f"must be at most max.compaction.lag.ms ({most})")
    for name in _MUST_BE_DEFAULT:
        if values[name] is True:
            raise ConfigError(name, "true", "must be false: there is no remote storage")
    if topic == SHARE_GROUP_STATE and values["cleanup.policy"] != ("compact",):
        # Its records are deltas: only the policy with which this broker compacts it keeps the state of share groups.
        raise ConfigError("cleanup.policy", overrides.get("cleanup.policy", "null"), f"must be compact for {topic}")


def log_settings(values: Mapping[str, ConfigValue], config: BrokerConfig) -> LogSettings:
    """Return the settings of `topic_values` in the form that a partition's log uses."""
    policy, own_segment_bytes = values["cleanup.policy"], values["internal.segment.bytes"]
    assert isinstance(policy, tuple)
    settings = settings_from(
        LogSettings,
        values,
        delete="delete" in policy,
        compact="compact" in policy,
        producer_id_expiration_ms=config.producer_id_expiration_ms,
    )
    return settings._replace(segment_bytes=own_segment_bytes) if isinstance(own_segment_bytes, int) else settings


def _key(name: str) -> ConfigKey[Any]:
    if name not in TOPIC_KEYS:
        raise UnknownConfigError("topic", name)
    return TOPIC_KEYS[name]
