"""The settings of a topic's logs, taken from its configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from shareq.protocol.config_def import LONG_MAX, OneOf, double, integer, long, text
from shareq.protocol.records.compression import MAX_DECOMPRESSED_BYTES, Compression
from shareq.protocol.settings import setting, settings

UNLIMITED: Final = LONG_MAX
LEAST_OPENED_BYTES: Final = 8 * 1024 * 1024  # the slowest codec takes 20 ms for it
MOST_RECORDS: Final = 1 << 18
"""The most records of a compressed batch."""

TIMESTAMP_TYPES: Final = ("CreateTime", "LogAppendTime")
LARGEST_RECORD_BYTES: Final = 2**31 - 9
"""The most bytes that Java can have in one array; no record is larger."""

_COMPRESSIONS: Final[Mapping[str, Compression | None]] = {
    "uncompressed": Compression.NONE,
    "zstd": Compression.ZSTD,
    "lz4": Compression.LZ4,
    "snappy": Compression.SNAPPY,
    "gzip": Compression.GZIP,
    "producer": None,
}
COMPRESSION_TYPES: Final = tuple(_COMPRESSIONS)
_OPENED_RATIO: Final = 8
_HOUR_MS: Final = 60 * 60 * 1000
_DAY_MS: Final = 24 * _HOUR_MS
_WEEK_MS: Final = 7 * _DAY_MS


@settings
class LogSettings(NamedTuple):
    """A topic's effective log configuration: the properties that its logs use, by Apache Kafka 4.4.0's names.

    -1 in `retention_ms` and `retention_bytes` means no limit. `compression_type` None is `producer`: batches stay as
    they were sent. `compact` and `delete` are the two words of `cleanup.policy`. `append_time` is
    `message.timestamp.type`.
    """

    segment_bytes: int = setting(
        integer(
            "segment.bytes",
            1_073_741_824,
            "Size at which a segment rolls.",
            at_least=1_048_576,
            broker_names=("log.segment.bytes",),
        )
    )
    segment_ms: int = setting(
        long(
            "segment.ms",
            _WEEK_MS,
            "Age at which a segment rolls.",
            at_least=1,
            broker_names=("log.roll.ms", "log.roll.hours"),
        )
    )
    segment_index_bytes: int = setting(
        integer(
            "segment.index.bytes",
            10_485_760,
            "The largest index file.",
            at_least=4,
            broker_names=("log.index.size.max.bytes",),
        )
    )
    index_interval_bytes: int = setting(
        integer(
            "index.interval.bytes",
            4096,
            "Bytes between two index entries.",
            at_least=0,
            broker_names=("log.index.interval.bytes",),
        )
    )
    retention_ms: int = setting(
        long(
            "retention.ms",
            _WEEK_MS,
            "How long records are kept; -1: for ever.",
            at_least=-1,
            broker_names=("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
        )
    )
    retention_bytes: int = setting(
        long("retention.bytes", -1, "Size a partition may reach; -1: no limit.", broker_names=("log.retention.bytes",))
    )
    max_message_bytes: int = setting(
        integer(
            "max.message.bytes", 1_048_588, "The largest record batch.", at_least=0, broker_names=("message.max.bytes",)
        )
    )
    max_decompressed_message_bytes: int = setting(
        integer(
            "max.decompressed.message.bytes",
            LARGEST_RECORD_BYTES,
            "The largest record of a compressed batch, when it is opened.",
            at_least=1,
            at_most=LARGEST_RECORD_BYTES,
            broker_names=("max.decompressed.message.bytes",),
        )
    )
    append_time: bool = setting(
        text(
            "message.timestamp.type",
            "CreateTime",
            "Whose time is kept.",
            valid=OneOf(*TIMESTAMP_TYPES),
            broker_names=("log.message.timestamp.type",),
        ),
        "LogAppendTime".__eq__,
    )
    message_timestamp_before_max_ms: int = setting(
        long(
            "message.timestamp.before.max.ms",
            LONG_MAX,
            "How far back time may be.",
            at_least=0,
            broker_names=("log.message.timestamp.before.max.ms",),
        )
    )
    message_timestamp_after_max_ms: int = setting(
        long(
            "message.timestamp.after.max.ms",
            _HOUR_MS,
            "How far ahead time may be.",
            at_least=0,
            broker_names=("log.message.timestamp.after.max.ms",),
        )
    )
    delete: bool = True
    compact: bool = False
    delete_retention_ms: int = setting(
        long(
            "delete.retention.ms",
            _DAY_MS,
            "How long tombstones stay readable.",
            at_least=0,
            broker_names=("log.cleaner.delete.retention.ms",),
        )
    )
    min_cleanable_dirty_ratio: float = setting(
        double(
            "min.cleanable.dirty.ratio",
            0.5,
            "Dirty share worth cleaning.",
            at_least=0,
            at_most=1,
            broker_names=("log.cleaner.min.cleanable.ratio",),
        )
    )
    min_compaction_lag_ms: int = setting(
        long(
            "min.compaction.lag.ms",
            0,
            "Age before a record may be compacted.",
            at_least=0,
            broker_names=("log.cleaner.min.compaction.lag.ms",),
        )
    )
    max_compaction_lag_ms: int = setting(
        long(
            "max.compaction.lag.ms",
            LONG_MAX,
            "Age at which a record forces compaction.",
            at_least=1,
            broker_names=("log.cleaner.max.compaction.lag.ms",),
        )
    )
    flush_messages: int = setting(
        long(
            "flush.messages",
            LONG_MAX,
            "Records between two syncs.",
            at_least=1,
            broker_names=("log.flush.interval.messages",),
        )
    )
    compression_type: Compression | None = setting(
        text(
            "compression.type",
            "producer",
            "How batches are stored.",
            valid=OneOf(*COMPRESSION_TYPES),
            broker_names=("compression.type",),
        ),
        _COMPRESSIONS.__getitem__,
    )
    producer_id_expiration_ms: int = _DAY_MS

    @property
    def most_opened(self) -> int:
        """The most bytes that the records of a compressed batch may have when they are decompressed."""
        return min(max(_OPENED_RATIO * self.max_message_bytes, LEAST_OPENED_BYTES), MAX_DECOMPRESSED_BYTES)

    @property
    def roll_ms(self) -> int:
        """The longest time in ms for which a segment is the active one. Only sealed segments can be compacted."""
        return min(self.segment_ms, self.max_compaction_lag_ms) if self.compact else self.segment_ms
