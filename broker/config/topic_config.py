"""A topic's properties: Apache Kafka 4.4.0's names and bounds, and the broker properties they fall back to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.config.keys.broker import (
    COMPRESSION_TYPES,
    GZIP_LEVELS,
    LARGEST_RECORD_BYTES,
    LZ4_LEVELS,
    TIMESTAMP_TYPES,
    ZSTD_LEVELS,
)
from shareq.broker.log.settings import LogSettings
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
from shareq.protocol.names import DLQ_GROUP_ENABLE, SHARE_GROUP_STATE
from shareq.protocol.records.compression import Compression

_WEEK_MS: Final = 604_800_000
_DAY_MS: Final = 86_400_000
_HOUR_MS: Final = 3_600_000
_POSITIVE: Final = Range(1)
_NON_NEGATIVE: Final = Range(0)
_REMOTE: Final = "Of remote storage, which there is none of: only the default is accepted."
_NOT_REMOTE: Final = "Of remote storage, which there is none of: accepted, without effect."
_THROTTLED: Final = "Of replication, which there is none of: accepted, without effect."

TOPIC_KEYS: Final = ConfigDef(
    (
        ConfigKey(
            "cleanup.policy", Type.LIST, ("delete",), OneOf("compact", "delete"), "What happens to old segments."
        ),
        ConfigKey("compression.gzip.level", Type.INT, -1, GZIP_LEVELS, "Level for `gzip`."),
        ConfigKey("compression.lz4.level", Type.INT, 9, LZ4_LEVELS, "Level for `lz4`."),
        ConfigKey("compression.type", Type.STRING, "producer", OneOf(*COMPRESSION_TYPES), "How batches are stored."),
        ConfigKey("compression.zstd.level", Type.INT, 3, ZSTD_LEVELS, "Level for `zstd`."),
        ConfigKey("delete.retention.ms", Type.LONG, _DAY_MS, _NON_NEGATIVE, "How long tombstones stay readable."),
        ConfigKey(
            DLQ_GROUP_ENABLE,
            Type.BOOLEAN,
            False,
            None,
            "Whether groups may use the topic as their dead-letter queue (KIP-1191).",
        ),
        ConfigKey("file.delete.delay.ms", Type.LONG, 60_000, _NON_NEGATIVE, "Delay before a file is removed."),
        ConfigKey("flush.messages", Type.LONG, LONG_MAX, _POSITIVE, "Records between two syncs."),
        ConfigKey("flush.ms", Type.LONG, LONG_MAX, _NON_NEGATIVE, "Longest time between two syncs."),
        ConfigKey("follower.replication.throttled.replicas", Type.LIST, (), None, _THROTTLED),
        ConfigKey("index.interval.bytes", Type.INT, 4096, _NON_NEGATIVE, "Bytes between two index entries."),
        ConfigKey("leader.replication.throttled.replicas", Type.LIST, (), None, _THROTTLED),
        ConfigKey("local.retention.bytes", Type.LONG, -2, Range(-2), _REMOTE),
        ConfigKey("local.retention.ms", Type.LONG, -2, Range(-2), _REMOTE),
        ConfigKey("max.compaction.lag.ms", Type.LONG, LONG_MAX, _POSITIVE, "Age at which a record forces compaction."),
        ConfigKey(
            "max.decompressed.message.bytes",
            Type.INT,
            LARGEST_RECORD_BYTES,
            Range(1, LARGEST_RECORD_BYTES),
            "The largest record of a compressed batch, when it is opened.",
        ),
        ConfigKey("max.message.bytes", Type.INT, 1_048_588, _NON_NEGATIVE, "The largest record batch."),
        ConfigKey("message.timestamp.after.max.ms", Type.LONG, _HOUR_MS, _NON_NEGATIVE, "How far ahead time may be."),
        ConfigKey("message.timestamp.before.max.ms", Type.LONG, LONG_MAX, _NON_NEGATIVE, "How far back time may be."),
        ConfigKey("message.timestamp.type", Type.STRING, "CreateTime", OneOf(*TIMESTAMP_TYPES), "Whose time is kept."),
        ConfigKey("min.cleanable.dirty.ratio", Type.DOUBLE, 0.5, Range(0, 1), "Dirty share worth cleaning."),
        ConfigKey("min.compaction.lag.ms", Type.LONG, 0, _NON_NEGATIVE, "Age before a record may be compacted."),
        ConfigKey(
            "min.insync.replicas",
            Type.INT,
            1,
            _POSITIVE,
            "Replicas that acks=all waits for, at most as many as there are.",
        ),
        ConfigKey("preallocate", Type.BOOLEAN, False, None, "Whether segment files take their size at once."),
        ConfigKey("remote.copy.lag.bytes", Type.LONG, -1, Range(-1), _NOT_REMOTE),
        ConfigKey("remote.copy.lag.ms", Type.LONG, 0, Range(-1), _NOT_REMOTE),
        ConfigKey("remote.log.copy.disable", Type.BOOLEAN, False, None, _REMOTE),
        ConfigKey("remote.log.delete.on.disable", Type.BOOLEAN, False, None, _REMOTE),
        ConfigKey("remote.storage.enable", Type.BOOLEAN, False, None, _REMOTE),
        ConfigKey("retention.bytes", Type.LONG, -1, None, "Size a partition may reach; -1: no limit."),
        ConfigKey("retention.ms", Type.LONG, _WEEK_MS, Range(-1), "How long records are kept; -1: for ever."),
        ConfigKey("segment.bytes", Type.INT, 1_073_741_824, Range(1_048_576), "Size at which a segment rolls."),
        ConfigKey("segment.index.bytes", Type.INT, 10_485_760, Range(4), "The largest index file."),
        ConfigKey("segment.jitter.ms", Type.LONG, 0, _NON_NEGATIVE, "Random spread of rolling."),
        ConfigKey("segment.ms", Type.LONG, _WEEK_MS, _POSITIVE, "Age at which a segment rolls."),
        ConfigKey("unclean.leader.election.enable", Type.BOOLEAN, False, None, "Kept for tools; there is one replica."),
        ConfigKey(
            "internal.segment.bytes", Type.INT, None, _POSITIVE, "Segment size without a lower bound.", internal=True
        ),
    )
)

# Topic property -> broker properties it falls back to, the strongest first.
SYNONYMS: Final[Mapping[str, tuple[str, ...]]] = {
    "cleanup.policy": ("log.cleanup.policy",),
    "compression.gzip.level": ("compression.gzip.level",),
    "compression.lz4.level": ("compression.lz4.level",),
    "compression.type": ("compression.type",),
    "compression.zstd.level": ("compression.zstd.level",),
    "delete.retention.ms": ("log.cleaner.delete.retention.ms",),
    "file.delete.delay.ms": ("log.segment.delete.delay.ms",),
    "flush.messages": ("log.flush.interval.messages",),
    "flush.ms": ("log.flush.interval.ms", "log.flush.scheduler.interval.ms"),
    "index.interval.bytes": ("log.index.interval.bytes",),
    "max.compaction.lag.ms": ("log.cleaner.max.compaction.lag.ms",),
    "max.decompressed.message.bytes": ("max.decompressed.message.bytes",),
    "max.message.bytes": ("message.max.bytes",),
    "message.timestamp.after.max.ms": ("log.message.timestamp.after.max.ms",),
    "message.timestamp.before.max.ms": ("log.message.timestamp.before.max.ms",),
    "message.timestamp.type": ("log.message.timestamp.type",),
    "min.cleanable.dirty.ratio": ("log.cleaner.min.cleanable.ratio",),
    "min.compaction.lag.ms": ("log.cleaner.min.compaction.lag.ms",),
    "min.insync.replicas": ("min.insync.replicas",),
    "preallocate": ("log.preallocate",),
    "remote.copy.lag.bytes": ("log.remote.copy.lag.bytes",),
    "remote.copy.lag.ms": ("log.remote.copy.lag.ms",),
    "retention.bytes": ("log.retention.bytes",),
    "retention.ms": ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
    "segment.bytes": ("log.segment.bytes",),
    "segment.index.bytes": ("log.index.size.max.bytes",),
    "segment.jitter.ms": ("log.roll.jitter.ms", "log.roll.jitter.hours"),
    "segment.ms": ("log.roll.ms", "log.roll.hours"),
    "unclean.leader.election.enable": ("unclean.leader.election.enable",),
}

# Where the fallback is not simply the first synonym's value.
_COMPUTED: Final[Mapping[str, Callable[[BrokerConfig], ConfigValue]]] = {
    "flush.ms": lambda config: config.flush_ms,
    "retention.ms": lambda config: config.retention_ms,
    "segment.jitter.ms": lambda config: config.roll_jitter_ms,
    "segment.ms": lambda config: config.roll_ms,
}

_COMPRESSIONS: Final[Mapping[str, Compression | None]] = {
    "producer": None,
    "uncompressed": Compression.NONE,
    "gzip": Compression.GZIP,
    "snappy": Compression.SNAPPY,
    "lz4": Compression.LZ4,
    "zstd": Compression.ZSTD,
}

_MUST_BE_DEFAULT: Final = ("remote.storage.enable", "remote.log.copy.disable", "remote.log.delete.on.disable")


def topic_defaults(config: BrokerConfig) -> dict[str, ConfigValue]:
    """The values of a topic without properties of its own on a broker with this configuration."""
    return dict(_defaults(config))


@lru_cache(maxsize=2)  # a configuration does not change: of thousands of topics in one request they are the same
def _defaults(config: BrokerConfig) -> Mapping[str, ConfigValue]:
    values = TOPIC_KEYS.defaults()
    for name, synonyms in SYNONYMS.items():
        computed = _COMPUTED.get(name)
        values[name] = config.values[synonyms[0]] if computed is None else computed(config)
    return values


def topic_values(topic: str, config: BrokerConfig, overrides: Mapping[str, str]) -> dict[str, ConfigValue]:
    """What is in effect for a topic with these stored properties; unreadable ones are left out with a warning."""
    values = topic_defaults(config)
    read_stored(values, overrides, _key, f"topic {topic}")
    return values


def check_topic_configs(topic: str, config: BrokerConfig, overrides: Mapping[str, str]) -> None:
    """ConfigError unless the topic may have these properties, all of its own ones after a change."""
    values = topic_defaults(config)
    for name, text in overrides.items():
        values[name] = _key(name).parse(text)
    least, most = int_value(values, "min.compaction.lag.ms"), int_value(values, "max.compaction.lag.ms")
    if least > most:
        raise ConfigError("min.compaction.lag.ms", least, f"must be at most max.compaction.lag.ms ({most})")
    for name in _MUST_BE_DEFAULT:
        if values[name] is True:
            raise ConfigError(name, "true", "must be false: there is no remote storage")
    if topic == SHARE_GROUP_STATE and values["cleanup.policy"] != ("compact",):
        # Its records are deltas: only the policy that this broker compacts the topic with keeps share-group state.
        raise ConfigError("cleanup.policy", overrides.get("cleanup.policy", "null"), f"must be compact for {topic}")


def log_settings(values: Mapping[str, ConfigValue], config: BrokerConfig) -> LogSettings:
    """Effective values (`topic_values`) as a partition's log takes them."""
    own_segment_bytes = values["internal.segment.bytes"]
    policy = values["cleanup.policy"]
    assert isinstance(policy, tuple)
    return LogSettings(
        segment_bytes=int_value(values, "segment.bytes" if own_segment_bytes is None else "internal.segment.bytes"),
        segment_ms=int_value(values, "segment.ms"),
        segment_index_bytes=int_value(values, "segment.index.bytes"),
        index_interval_bytes=int_value(values, "index.interval.bytes"),
        retention_ms=int_value(values, "retention.ms"),
        retention_bytes=int_value(values, "retention.bytes"),
        max_message_bytes=int_value(values, "max.message.bytes"),
        max_decompressed_message_bytes=int_value(values, "max.decompressed.message.bytes"),
        append_time=values["message.timestamp.type"] == "LogAppendTime",
        message_timestamp_before_max_ms=int_value(values, "message.timestamp.before.max.ms"),
        message_timestamp_after_max_ms=int_value(values, "message.timestamp.after.max.ms"),
        delete="delete" in policy,
        compact="compact" in policy,
        delete_retention_ms=int_value(values, "delete.retention.ms"),
        min_cleanable_dirty_ratio=float_value(values, "min.cleanable.dirty.ratio"),
        min_compaction_lag_ms=int_value(values, "min.compaction.lag.ms"),
        max_compaction_lag_ms=int_value(values, "max.compaction.lag.ms"),
        flush_messages=int_value(values, "flush.messages"),
        compression_type=_COMPRESSIONS[str(values["compression.type"])],
        producer_id_expiration_ms=config.producer_id_expiration_ms,
    )


def _key(name: str) -> ConfigKey:
    if name not in TOPIC_KEYS:
        raise UnknownConfigError("topic", name)
    return TOPIC_KEYS[name]
