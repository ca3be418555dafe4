"""Share-group and share-coordinator properties of the broker (KIP-932), as Apache Kafka 4.3.1 names and bounds them.

The names in the KIP's own table, where they differ, are aliases. `group.share.enable` and `group.share.max.groups` are
the KIP's alone. The record-lock bound is wider than Kafka's 10,000: a window is a handful of ranges here, whatever its
width.
"""

from __future__ import annotations

from typing import Final

from shareq.protocol.config_def import ConfigKey, NonEmptyList, OneOf, Range, UpdateMode
from shareq.protocol.config_def import ConfigType as Type
from shareq.protocol.names import DLQ_AUTO_CREATE_TOPICS, DLQ_TOPIC_NAME_PREFIX

_DYNAMIC: Final = UpdateMode.CLUSTER_WIDE
_POSITIVE: Final = Range(1)
_NON_NEGATIVE: Final = Range(0)
_MAX_RECORD_LOCKS: Final = 1_000_000

DEAD_LETTERS: Final = "org.apache.kafka.server.share.dlq.DefaultShareGroupDLQManager"
NO_DEAD_LETTERS: Final = "org.apache.kafka.server.share.dlq.NoOpShareGroupDLQManager"

LEAST: Final = "The least value that a share group may set for itself."
GREATEST: Final = "The greatest value that a share group may set for itself."

_GROUP_KEYS: Final = (
    ConfigKey(
        "group.share.enable",
        Type.BOOLEAN,
        None,
        None,
        "Share groups on (feature share.version 1 or more) or off (0); the stored feature level decides if not given.",
    ),
    ConfigKey(
        "group.share.max.groups",
        Type.INT,
        None,
        Range(1, 100),
        "The most share groups; without it there is no limit. A new group over it is refused.",
    ),
    ConfigKey("group.share.max.size", Type.INT, 200, Range(1, 1000), "The most members of a share group."),
    ConfigKey(
        "group.share.session.timeout.ms",
        Type.INT,
        45_000,
        _POSITIVE,
        "A member silent for so long leaves its share group.",
    ),
    ConfigKey("group.share.min.session.timeout.ms", Type.INT, 45_000, _POSITIVE, LEAST),
    ConfigKey("group.share.max.session.timeout.ms", Type.INT, 60_000, _POSITIVE, GREATEST),
    ConfigKey(
        "group.share.heartbeat.interval.ms",
        Type.INT,
        5_000,
        _POSITIVE,
        "How often members are asked to send heartbeats; less than the session timeout.",
    ),
    ConfigKey("group.share.min.heartbeat.interval.ms", Type.INT, 5_000, _POSITIVE, LEAST),
    ConfigKey("group.share.max.heartbeat.interval.ms", Type.INT, 15_000, _POSITIVE, GREATEST),
    ConfigKey(
        "group.share.assignors",
        Type.LIST,
        ("simple",),
        NonEmptyList(),
        "The assignor of all share groups: `simple`, by this name or by SimpleAssignor's class name.",
    ),
    ConfigKey(
        "group.share.assignor.offload.enable",
        Type.BOOLEAN,
        True,
        None,
        "Accepted for compatibility. Share groups are assigned in their coordinator's thread.",
        internal=True,
    ),
    ConfigKey(
        "group.share.assignment.interval.ms",
        Type.INT,
        1_000,
        _NON_NEGATIVE,
        "The least time between two assignments of a share group.",
        mode=_DYNAMIC,
    ),
    ConfigKey("group.share.min.assignment.interval.ms", Type.INT, 0, _NON_NEGATIVE, LEAST),
    ConfigKey("group.share.max.assignment.interval.ms", Type.INT, 15_000, _NON_NEGATIVE, GREATEST),
    ConfigKey(
        "group.share.initialize.retry.interval.ms",
        Type.INT,
        30_000,
        _POSITIVE,
        "When initialising share-partition state is tried again.",
        internal=True,
    ),
    ConfigKey(
        "shareq.share.disconnect.grace.ms",
        Type.INT,
        3_000,
        Range(-1, None),
        "How long a member of a share group whose connection was lost keeps its partitions after its next heartbeat is "
        "due. -1: until its session times out, as in Apache Kafka.",
    ),
    ConfigKey(
        "group.share.delivery.count.limit",
        Type.INT,
        5,
        Range(2, 10),
        "How often a record is delivered before it is archived.",
    ),
    ConfigKey("group.share.min.delivery.count.limit", Type.INT, 2, Range(2, 5), LEAST),
    ConfigKey("group.share.max.delivery.count.limit", Type.INT, 10, Range(5, 25), GREATEST),
    ConfigKey(
        "group.share.record.lock.duration.ms",
        Type.INT,
        30_000,
        Range(1_000, 3_600_000),
        "How long an acquired record belongs to its consumer.",
    ),
    ConfigKey("group.share.min.record.lock.duration.ms", Type.INT, 15_000, Range(1_000, 30_000), LEAST),
    ConfigKey(
        "group.share.max.record.lock.duration.ms",
        Type.INT,
        60_000,
        Range(30_000, 3_600_000),
        GREATEST,
        aliases=("group.share.record.lock.duration.max.ms",),
    ),
    ConfigKey(
        "group.share.partition.max.record.locks",
        Type.INT,
        2_000,
        Range(100, _MAX_RECORD_LOCKS),
        "How many offsets of a share partition may be in flight.",
        aliases=("group.share.record.lock.partition.limit",),
    ),
    ConfigKey("group.share.min.partition.max.record.locks", Type.INT, 100, Range(100, 2_000), LEAST),
    ConfigKey("group.share.max.partition.max.record.locks", Type.INT, 4_000, Range(2_000, _MAX_RECORD_LOCKS), GREATEST),
    ConfigKey(
        "group.share.max.share.sessions",
        Type.INT,
        2_000,
        _POSITIVE,
        "The most share sessions; at least group.share.max.size.",
    ),
    ConfigKey(
        "group.share.persister.class.name",
        Type.STRING,
        "org.apache.kafka.server.share.persister.DefaultStatePersister",
        None,
        "Accepted for compatibility; state is always kept by the share coordinator.",
        internal=True,
    ),
    ConfigKey(
        "share.fetch.purgatory.purge.interval.requests",
        Type.INT,
        1_000,
        None,
        "Accepted for compatibility; waiting share fetches need no purging.",
    ),
)

_COORDINATOR_KEYS: Final = (
    ConfigKey(
        "share.coordinator.state.topic.num.partitions",
        Type.INT,
        50,
        _POSITIVE,
        "Partitions of `__share_group_state`; must not change once it exists.",
        aliases=("group.share.state.topic.num.partitions",),
    ),
    # Kafka's defaults are 3 replicas, 2 of them in sync; with one broker the topic could never be created.
    ConfigKey(
        "share.coordinator.state.topic.replication.factor",
        Type.SHORT,
        1,
        _POSITIVE,
        "Replicas of `__share_group_state`. With more than 1 it cannot be created.",
        aliases=("group.share.state.topic.replication.factor",),
    ),
    ConfigKey(
        "share.coordinator.state.topic.min.isr",
        Type.SHORT,
        1,
        _POSITIVE,
        "min.insync.replicas of `__share_group_state`. There is one broker: more than 1 counts as 1.",
        aliases=("group.share.state.topic.min.isr",),
    ),
    ConfigKey(
        "share.coordinator.state.topic.segment.bytes",
        Type.INT,
        104_857_600,
        _POSITIVE,
        "Segment size of `__share_group_state`.",
        aliases=("group.share.state.topic.segment.bytes",),
    ),
    ConfigKey(
        "share.coordinator.state.topic.compression.codec",
        Type.INT,
        0,
        Range(0, 4),
        "Codec of the share coordinator's batches: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd.",
    ),
    ConfigKey("share.coordinator.threads", Type.INT, 1, _POSITIVE, "Accepted for compatibility; there is one thread."),
    ConfigKey(
        "share.coordinator.snapshot.update.records.per.snapshot",
        Type.INT,
        500,
        Range(0, 500),
        "Share-state updates written between two snapshots; more for a state of over 20,000 ranges of offsets.",
    ),
    ConfigKey(
        "share.coordinator.write.timeout.ms",
        Type.INT,
        5_000,
        _POSITIVE,
        "Accepted for compatibility; a state write waits for this broker's disk alone, for as long as it takes.",
    ),
    ConfigKey(
        "share.coordinator.load.buffer.size",
        Type.INT,
        5_242_880,
        _POSITIVE,
        "Bytes read at a time while loading state.",
    ),
    ConfigKey(
        "share.coordinator.append.linger.ms",
        Type.INT,
        -1,
        Range(-1),
        "Accepted for compatibility; writes of one event-loop tick are appended together.",
    ),
    ConfigKey(
        "share.coordinator.state.topic.prune.interval.ms",
        Type.INT,
        300_000,
        _POSITIVE,
        "Accepted for compatibility; the topic is compacted, and how often follows the properties of the log cleaner.",
        internal=True,
    ),
    ConfigKey(
        "share.coordinator.cold.partition.snapshot.interval.ms",
        Type.INT,
        300_000,
        _POSITIVE,
        "How often idle share partitions get a fresh snapshot.",
        internal=True,
    ),
    ConfigKey(
        "share.coordinator.cached.buffer.max.bytes",
        Type.INT,
        1_048_588,
        Range(524_288),
        "Accepted for compatibility; no write buffer is kept between two appends.",
        mode=_DYNAMIC,
    ),
)

# KIP-1191, as Apache Kafka 4.4.0 names them.
_DEAD_LETTER_KEYS: Final = (
    ConfigKey(
        DLQ_AUTO_CREATE_TOPICS,
        Type.BOOLEAN,
        False,
        None,
        "Whether the broker creates the dead-letter queue that a share group names.",
        mode=_DYNAMIC,
    ),
    ConfigKey(
        DLQ_TOPIC_NAME_PREFIX,
        Type.STRING,
        "dlq.",
        None,
        "How the names of dead-letter queues begin; empty: in any way.",
        mode=_DYNAMIC,
    ),
    ConfigKey(
        "group.share.dlq.manager.class.name",
        Type.STRING,
        DEAD_LETTERS,
        OneOf("", DEAD_LETTERS, NO_DEAD_LETTERS),
        "Which of Apache Kafka's classes writes dead letters: DefaultShareGroupDLQManager. With "
        "NoOpShareGroupDLQManager, or empty, none are written, and dead records are archived.",
        internal=True,
    ),
)

SHARE_KEYS: Final = (*_GROUP_KEYS, *_COORDINATOR_KEYS, *_DEAD_LETTER_KEYS)
