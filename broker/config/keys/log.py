"""The broker's properties that are defaults of topics (Apache Kafka 4.3.1), and those of its log cleaner."""

from __future__ import annotations

from typing import Final

from shareq.broker.log.settings import COMPRESSION_TYPES, LARGEST_RECORD_BYTES, TIMESTAMP_TYPES
from shareq.protocol.config_def import LONG_MAX as LONG_TOP
from shareq.protocol.config_def import LevelOrDefault, OneOf, UpdateMode, boolean, double, integer, long, text, words

_DYNAMIC: Final = UpdateMode.CLUSTER_WIDE
_HOUR_MS: Final = 3_600_000
_DAY_MS: Final = 24 * _HOUR_MS
_DOUBLE_TOP: Final = 1.7976931348623157e308  # Java's Double.MAX_VALUE
GZIP_LEVELS: Final = LevelOrDefault(1, 9, -1)
LZ4_LEVELS: Final = LevelOrDefault(1, 17, 9)
ZSTD_LEVELS: Final = LevelOrDefault(-131_072, 22, 3)
_REMOTE: Final = "There is no remote storage: accepted, without effect."


class TopicProperties:
    """Defaults of topics: for their creation, and for properties that they do not set themselves."""

    num_partitions = integer(
        "num.partitions", 1, "Partitions of a topic created without a number of its own.", at_least=1
    )
    default_replication_factor = integer(
        "default.replication.factor", 1, "Replicas of a topic created without a number.", at_least=1
    )
    auto_create_topics_enable = boolean("auto.create.topics.enable", True, "Whether asking for a topic may create it.")
    delete_topic_enable = boolean("delete.topic.enable", True, "Whether topics may be deleted.")
    min_insync_replicas = integer(
        "min.insync.replicas",
        1,
        "Replicas that acks=all waits for, at most as many as there are.",
        at_least=1,
        mode=_DYNAMIC,
    )
    unclean_leader_election_enable = boolean(
        "unclean.leader.election.enable", False, "Kept for tools; there is one replica.", mode=_DYNAMIC
    )
    message_max_bytes = integer("message.max.bytes", 1_048_588, "The largest record batch.", at_least=0, mode=_DYNAMIC)
    max_decompressed_message_bytes = integer(
        "max.decompressed.message.bytes",
        LARGEST_RECORD_BYTES,
        "The largest record of a compressed batch, when it is opened.",
        at_least=1,
        at_most=LARGEST_RECORD_BYTES,
        mode=_DYNAMIC,
    )
    compression_type = text(
        "compression.type",
        "producer",
        "How batches are stored; `producer` leaves them as they come.",
        valid=OneOf(*COMPRESSION_TYPES),
        mode=_DYNAMIC,
    )
    compression_gzip_level = integer(
        "compression.gzip.level", -1, "Level for `gzip`.", valid=GZIP_LEVELS, mode=_DYNAMIC
    )
    compression_lz4_level = integer("compression.lz4.level", 9, "Level for `lz4`.", valid=LZ4_LEVELS, mode=_DYNAMIC)
    compression_zstd_level = integer("compression.zstd.level", 3, "Level for `zstd`.", valid=ZSTD_LEVELS, mode=_DYNAMIC)


class LogProperties:
    """Properties of logs: segments, retention, syncing, compaction."""

    log_segment_bytes = integer(
        "log.segment.bytes", 1_073_741_824, "Size at which a segment rolls.", at_least=1_048_576, mode=_DYNAMIC
    )
    log_roll_ms = long("log.roll.ms", None, "Age at which a segment rolls.", at_least=1, mode=_DYNAMIC)
    log_roll_hours = integer(
        "log.roll.hours", 168, "Age at which a segment rolls, if `log.roll.ms` is not given.", at_least=1
    )
    log_roll_jitter_ms = long("log.roll.jitter.ms", None, "Random spread of rolling.", at_least=0, mode=_DYNAMIC)
    log_roll_jitter_hours = integer(
        "log.roll.jitter.hours", 0, "Random spread, if the property in ms is not given.", at_least=0
    )
    log_retention_ms = long("log.retention.ms", None, "How long records are kept; -1: for ever.", mode=_DYNAMIC)
    log_retention_minutes = integer("log.retention.minutes", None, "How long records are kept, if not given in ms.")
    log_retention_hours = integer("log.retention.hours", 168, "How long records are kept, if given in no other unit.")
    log_retention_bytes = long("log.retention.bytes", -1, "Size a partition may reach; -1: no limit.", mode=_DYNAMIC)
    log_retention_check_interval_ms = long(
        "log.retention.check.interval.ms", 300_000, "How often retention is applied.", at_least=1
    )
    log_cleanup_policy = words(
        "log.cleanup.policy",
        ("delete",),
        "What happens to old segments: `delete` by age and size, `compact` by key, or both.",
        valid=OneOf("compact", "delete"),
        mode=_DYNAMIC,
    )
    log_index_size_max_bytes = integer(
        "log.index.size.max.bytes", 10_485_760, "The largest index file.", at_least=4, mode=_DYNAMIC
    )
    log_index_interval_bytes = integer(
        "log.index.interval.bytes", 4096, "Bytes between index entries.", at_least=0, mode=_DYNAMIC
    )
    log_flush_interval_messages = long(
        "log.flush.interval.messages",
        LONG_TOP,
        "1 makes every answered write survive power loss; any other value leaves syncing to the system.",
        at_least=1,
        mode=_DYNAMIC,
    )
    log_flush_interval_ms = long(
        "log.flush.interval.ms", None, "Longest time before records are synced.", mode=_DYNAMIC
    )
    log_flush_scheduler_interval_ms = long(
        "log.flush.scheduler.interval.ms", LONG_TOP, "The same as `log.flush.interval.ms`, if that is not given."
    )
    log_segment_delete_delay_ms = long(
        "log.segment.delete.delay.ms", 60_000, "Delay of file removal.", at_least=0, mode=_DYNAMIC
    )
    log_preallocate = boolean("log.preallocate", False, "Whether segment files take their size at once.", mode=_DYNAMIC)
    log_message_timestamp_type = text(
        "log.message.timestamp.type",
        "CreateTime",
        "Whether records keep the producer's time or get the broker's.",
        valid=OneOf(*TIMESTAMP_TYPES),
        mode=_DYNAMIC,
    )
    log_message_timestamp_before_max_ms = long(
        "log.message.timestamp.before.max.ms",
        LONG_TOP,
        "How far a producer's time may lie in the past.",
        at_least=0,
        mode=_DYNAMIC,
    )
    log_message_timestamp_after_max_ms = long(
        "log.message.timestamp.after.max.ms",
        _HOUR_MS,
        "How far a producer's time may lie in the future.",
        at_least=0,
        mode=_DYNAMIC,
    )
    log_remote_copy_lag_ms = long("log.remote.copy.lag.ms", 0, _REMOTE, at_least=-1, mode=_DYNAMIC)
    log_remote_copy_lag_bytes = long("log.remote.copy.lag.bytes", -1, _REMOTE, at_least=-1, mode=_DYNAMIC)
    log_cleaner_enable = boolean("log.cleaner.enable", True, "Whether compacted topics are cleaned.")
    log_cleaner_threads = integer(
        "log.cleaner.threads",
        1,
        "Accepted for compatibility; one log is cleaned at a time, in the pauses of the one thread.",
        at_least=0,
        mode=_DYNAMIC,
    )
    log_cleaner_backoff_ms = long(
        "log.cleaner.backoff.ms", 15_000, "Pause when nothing is dirty.", at_least=0, mode=_DYNAMIC
    )
    log_cleaner_io_max_bytes_per_second = double(
        "log.cleaner.io.max.bytes.per.second",
        _DOUBLE_TOP,
        "How much the cleaner reads and writes in a second at most, on average.",
        mode=_DYNAMIC,
    )
    log_cleaner_dedupe_buffer_size = long(
        "log.cleaner.dedupe.buffer.size",
        134_217_728,
        "Memory for the keys of one pass; a log with more takes several. Taken only while it is needed.",
        mode=_DYNAMIC,
    )
    log_cleaner_io_buffer_size = integer(
        "log.cleaner.io.buffer.size",
        524_288,
        "Accepted for compatibility; the cleaner reads and writes in small steps.",
        at_least=0,
        mode=_DYNAMIC,
    )
    log_cleaner_io_buffer_load_factor = double(
        "log.cleaner.io.buffer.load.factor", 0.9, "The share of the memory for keys that is used.", mode=_DYNAMIC
    )
    log_cleaner_min_cleanable_ratio = double(
        "log.cleaner.min.cleanable.ratio", 0.5, "Dirty share worth cleaning.", at_least=0, at_most=1, mode=_DYNAMIC
    )
    log_cleaner_delete_retention_ms = long(
        "log.cleaner.delete.retention.ms", _DAY_MS, "Life of tombstones.", at_least=0, mode=_DYNAMIC
    )
    log_cleaner_min_compaction_lag_ms = long(
        "log.cleaner.min.compaction.lag.ms", 0, "Age before compaction.", at_least=0, mode=_DYNAMIC
    )
    log_cleaner_max_compaction_lag_ms = long(
        "log.cleaner.max.compaction.lag.ms", LONG_TOP, "Age that forces compaction.", at_least=1, mode=_DYNAMIC
    )
