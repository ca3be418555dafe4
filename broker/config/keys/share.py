"""Share-group and share-coordinator properties of the broker (KIP-932), as Apache Kafka 4.3.1 names and bounds them.

Names that differ in the KIP's table are aliases. `group.share.enable` and `group.share.max.groups` are only in the
KIP. The defaults of properties that share groups can override are declared with those properties
(`shareq.coordinator.ports`).
"""

from __future__ import annotations

from typing import Final

from shareq.protocol.config_def import NonEmptyList, OneOf, UpdateMode, boolean, integer, short, text, words
from shareq.protocol.names import DLQ_AUTO_CREATE_TOPICS, DLQ_TOPIC_NAME_PREFIX

_DYNAMIC: Final = UpdateMode.CLUSTER_WIDE

DEAD_LETTERS: Final = "org.apache.kafka.server.share.dlq.DefaultShareGroupDLQManager"
NO_DEAD_LETTERS: Final = "org.apache.kafka.server.share.dlq.NoOpShareGroupDLQManager"


class ShareGroupProperties:
    """Properties of share groups in general."""

    group_share_enable = boolean(
        "group.share.enable",
        None,
        "Share groups on (feature share.version 1 or more) or off (0); the stored feature level decides if not given.",
    )
    group_share_max_groups = integer(
        "group.share.max.groups",
        None,
        "The most share groups; without it there is no limit. A new group over it is refused.",
        at_least=1,
        at_most=100,
    )
    group_share_max_size = integer(
        "group.share.max.size", 200, "The most members of a share group.", at_least=1, at_most=1000
    )
    group_share_assignors = words(
        "group.share.assignors",
        ("simple",),
        "The assignor of all share groups: `simple`, by this name or by SimpleAssignor's class name.",
        valid=NonEmptyList(),
    )
    group_share_assignor_offload_enable = boolean(
        "group.share.assignor.offload.enable",
        True,
        "Accepted for compatibility. Share groups are assigned in their coordinator's thread.",
        internal=True,
    )
    group_share_initialize_retry_interval_ms = integer(
        "group.share.initialize.retry.interval.ms",
        30_000,
        "Time after which an unanswered request to initialise share-partition state is sent again; at least "
        "`offsets.commit.timeout.ms`.",
        at_least=1,
        internal=True,
    )
    shareq_share_disconnect_grace_ms = integer(
        "shareq.share.disconnect.grace.ms",
        3_000,
        "How long a member of a share group whose connection was lost keeps its partitions after its next heartbeat is "
        "due. -1: until its session times out, as in Apache Kafka.",
        at_least=-1,
    )
    group_share_max_share_sessions = integer(
        "group.share.max.share.sessions", 2_000, "The most share sessions; at least group.share.max.size.", at_least=1
    )
    group_share_persister_class_name = text(
        "group.share.persister.class.name",
        "org.apache.kafka.server.share.persister.DefaultStatePersister",
        "Accepted for compatibility; state is always kept by the share coordinator.",
        internal=True,
    )
    share_fetch_purgatory_purge_interval_requests = integer(
        "share.fetch.purgatory.purge.interval.requests",
        1_000,
        "Accepted for compatibility; waiting share fetches need no purging.",
    )


class ShareCoordinatorProperties:
    """Properties of the share coordinator and its topic."""

    share_coordinator_state_topic_num_partitions = integer(
        "share.coordinator.state.topic.num.partitions",
        50,
        "Partitions of `__share_group_state`; must not change once it exists.",
        at_least=1,
        aliases=("group.share.state.topic.num.partitions",),
    )
    # Kafka's defaults are 3 replicas, 2 of them in sync; with one broker the topic could never be created.
    share_coordinator_state_topic_replication_factor = short(
        "share.coordinator.state.topic.replication.factor",
        1,
        "Replicas of `__share_group_state`. With more than 1 it cannot be created. Of a node: of the topics that it "
        "makes in its cluster, 3 if not given.",
        at_least=1,
        aliases=("group.share.state.topic.replication.factor",),
    )
    share_coordinator_state_topic_min_isr = short(
        "share.coordinator.state.topic.min.isr",
        1,
        "min.insync.replicas of `__share_group_state`. There is one broker: more than 1 counts as 1. Of a node: of the "
        "topics that it makes in its cluster, 2 if not given.",
        at_least=1,
        aliases=("group.share.state.topic.min.isr",),
    )
    share_coordinator_state_topic_segment_bytes = integer(
        "share.coordinator.state.topic.segment.bytes",
        104_857_600,
        "Segment size of `__share_group_state`.",
        at_least=1,
        aliases=("group.share.state.topic.segment.bytes",),
    )
    share_coordinator_state_topic_compression_codec = integer(
        "share.coordinator.state.topic.compression.codec",
        0,
        "Codec of the share coordinator's batches: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd.",
        at_least=0,
        at_most=4,
    )
    share_coordinator_threads = integer(
        "share.coordinator.threads", 1, "Accepted for compatibility; there is one thread.", at_least=1
    )
    share_coordinator_snapshot_update_records_per_snapshot = integer(
        "share.coordinator.snapshot.update.records.per.snapshot",
        500,
        "Share-state updates written between two snapshots; more for a state of over 20,000 ranges of offsets.",
        at_least=0,
        at_most=500,
    )
    share_coordinator_write_timeout_ms = integer(
        "share.coordinator.write.timeout.ms",
        5_000,
        "Accepted for compatibility; a state write waits for this broker's disk alone, for as long as it takes.",
        at_least=1,
    )
    share_coordinator_load_buffer_size = integer(
        "share.coordinator.load.buffer.size", 5_242_880, "Most bytes read at a time while loading state.", at_least=1
    )
    share_coordinator_append_linger_ms = integer(
        "share.coordinator.append.linger.ms",
        -1,
        "Accepted for compatibility; writes of one event-loop tick are appended together.",
        at_least=-1,
    )
    share_coordinator_state_topic_prune_interval_ms = integer(
        "share.coordinator.state.topic.prune.interval.ms",
        300_000,
        "Accepted for compatibility; the topic is compacted, and how often follows the properties of the log cleaner. "
        "Of a node: how often it looks what of `__shareq_state` can be deleted.",
        at_least=1,
        internal=True,
    )
    share_coordinator_cold_partition_snapshot_interval_ms = integer(
        "share.coordinator.cold.partition.snapshot.interval.ms",
        300_000,
        "How often idle share partitions get a fresh snapshot.",
        at_least=1,
        internal=True,
    )
    share_coordinator_cached_buffer_max_bytes = integer(
        "share.coordinator.cached.buffer.max.bytes",
        1_048_588,
        "Accepted for compatibility; no write buffer is kept between two appends.",
        at_least=524_288,
        mode=_DYNAMIC,
    )


class DeadLetterProperties:
    """Dead-letter queues: KIP-1191, as Apache Kafka 4.4.0 names them."""

    errors_deadletterqueue_auto_create_topics_enable = boolean(
        DLQ_AUTO_CREATE_TOPICS,
        False,
        "Whether the broker creates the dead-letter queue that a share group names.",
        mode=_DYNAMIC,
    )
    errors_deadletterqueue_topic_name_prefix = text(
        DLQ_TOPIC_NAME_PREFIX, "dlq.", "The prefix of the names of dead-letter queues; empty: none.", mode=_DYNAMIC
    )
    group_share_dlq_manager_class_name = text(
        "group.share.dlq.manager.class.name",
        DEAD_LETTERS,
        "Which of Apache Kafka's classes writes dead letters: DefaultShareGroupDLQManager. With "
        "NoOpShareGroupDLQManager, or empty, none are written, and dead records are archived.",
        valid=OneOf("", DEAD_LETTERS, NO_DEAD_LETTERS),
        internal=True,
    )
