"""The group coordinator of this broker. It routes groups of every kind to their partitions of `__consumer_offsets`,
and passes news of topics to them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar

from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.coordinator_runtime.batches import CoordinatorLogSettings
from shareq.broker.coordinator_runtime.partition import CoordinatorPartition
from shareq.broker.coordinator_runtime.partitions import CoordinatorPartitions
from shareq.broker.coordinator_runtime.ports import CoordinatorHost
from shareq.broker.foundation.pending import Pending
from shareq.coordinator.group.classic.turn import ClassicGroupSettings
from shareq.coordinator.group.consumer_groups import ConsumerGroupLimits
from shareq.coordinator.group.counters import GroupCounters
from shareq.coordinator.group.migration.policy import MigrationPolicy
from shareq.coordinator.group.offsets.group_offsets import OffsetSettings
from shareq.coordinator.group.serde import GROUP_SERDE
from shareq.coordinator.group.shard import GroupCoordinatorSettings, GroupCoordinatorShard
from shareq.coordinator.group.share.groups import ShareGroupLimits
from shareq.coordinator.ports import GroupSettingsSource, TopicImage
from shareq.coordinator.shard import CoordinatorResult, Steps
from shareq.protocol.errors import ErrorCode
from shareq.protocol.names import CONSUMER_OFFSETS, SHARE_GROUP_STATE
from shareq.protocol.primitives import ZERO_UUID
from shareq.protocol.records.compression import Compression

T = TypeVar("T")

_OTHER_BYTES: Final = 256 * 1024  # bytes of a request that are not persisted: ids, reasons, owned partitions


def group_log_settings(config: BrokerConfig) -> CoordinatorLogSettings:
    """Return `offsets.topic.compression.codec` as the settings for the topic's batches."""
    return CoordinatorLogSettings(Compression(config.offsets_topic_compression_codec))


def group_coordinator_settings(config: BrokerConfig) -> GroupCoordinatorSettings:
    """Return `group.*` in the form that the shard uses. An initialization may take as long as an offset commit."""
    return GroupCoordinatorSettings(
        ShareGroupLimits(
            max_size=config.group_share_max_size,
            max_groups=config.group_share_max_groups,
            initialize_retry_interval_ms=max(
                config.group_share_initialize_retry_interval_ms, config.offsets_commit_timeout_ms
            ),
            disconnect_grace_ms=config.shareq_share_disconnect_grace_ms,
        ),
        ClassicGroupSettings(
            min_session_timeout_ms=config.group_min_session_timeout_ms,
            max_session_timeout_ms=config.group_max_session_timeout_ms,
            initial_rebalance_delay_ms=config.group_initial_rebalance_delay_ms,
            max_size=config.group_max_size,
        ),
        OffsetSettings(
            longest_metadata=config.offset_metadata_max_bytes,
            retention_ms=config.offsets_retention_minutes * 60_000,
            check_interval_ms=config.offsets_retention_check_interval_ms,
        ),
        ConsumerGroupLimits(
            max_size=config.group_consumer_max_size,
            assignors=config.group_consumer_assignors,
            regex_refresh_interval_ms=config.group_consumer_regex_refresh_interval_ms,
            migration_policy=MigrationPolicy(config.group_consumer_migration_policy.lower()),
        ),
    )


class GroupCoordinatorService:
    """The coordinators of all groups. A request is answered when its effect is durable.

    `counters` count the events of classic and consumer groups, and of offsets. `may_make_share_group` (limit, group
    id) returns True if `group.share.max.groups` allows a new group; `GroupNames` counts the groups by owner.
    """

    def __init__(
        self,
        host: CoordinatorHost,
        configs: GroupSettingsSource,
        settings: GroupCoordinatorSettings,
        log_settings: CoordinatorLogSettings,
    ) -> None:
        self._metadata = host.metadata
        self._believes_absence = host.believes_absence
        self.settings: Final = settings
        self.counters = GroupCounters()
        self.may_make_share_group: Callable[[int, str], bool] = self._has_place
        self.partitions: CoordinatorPartitions[GroupCoordinatorShard] = CoordinatorPartitions(
            host,
            CONSUMER_OFFSETS,
            lambda: GroupCoordinatorShard(
                metadata=host.metadata,
                group_settings=configs,
                wall_ms=host.env.clock.wall_ms,
                settings=settings,
                may_make_share_group=self.may_make_share_group,
                counters=self.counters,
                room=self.partitions.room,
                believes_absence=host.believes_absence,
            ),
            GROUP_SERDE,
            log_settings,
        )

    def has_no_room_for(self, request_bytes: int, *, times: int = 1) -> bool:
        """Return True if `times` times the request's bytes are too many for a record of the log."""
        if not self.partitions.count:
            return False  # the first request makes the topic
        return request_bytes > times * self.partitions.room.most_bytes() + _OTHER_BYTES

    def schedule(
        self,
        group_id: str,
        operation: Callable[[GroupCoordinatorShard], CoordinatorResult[T] | Steps[CoordinatorResult[T]]],
        failed: Callable[[ErrorCode], T],
    ) -> Pending[T]:
        """Run an operation on the group's shard; its response comes when it is durable. The internal topic must
        exist.
        """
        partition = self.partition(group_id)
        return partition.schedule(lambda: operation(partition.shard), failed)

    # -- start, and news of topics

    def recover(self) -> None:
        """Load the log when the broker starts, and finish deletions that a crash cut off."""
        self.partitions.load()
        self._finish_deletions()

    def topics_changed(self, topics: Sequence[TopicImage]) -> None:
        """Let the groups that subscribe to the topics look again at the next heartbeat."""
        names = frozenset(topic.name for topic in topics)
        for partition in self.partitions:
            partition.shard.topics_changed(names)

    def topics_deleted(self, topics: Sequence[TopicImage]) -> None:
        """Forget the topics' share partitions and offsets in all groups.

        If `__share_group_state` was deleted, forget all share partitions; if `__consumer_offsets` was, all groups.
        """
        names = {topic.topic_id: topic.name for topic in topics}
        if CONSUMER_OFFSETS in names.values():
            self.partitions.resign()
        if SHARE_GROUP_STATE in names.values():
            self._forget_states()
        self._forget(names)

    def _finish_deletions(self) -> None:
        """Forget topics that metadata does not know (a crash cut off their deletion), if the ground says that such
        topics no longer exist.
        """
        if not self._believes_absence:
            return
        if self._metadata.topic(SHARE_GROUP_STATE) is None:
            self._forget_states()
        known = self._metadata.topic_by_id
        topics = [topic for partition in self.partitions for topic in partition.shard.topics().items()]
        gone = {topic_id: name for topic_id, name in topics if known(topic_id) is None}
        if gone:
            self._forget(gone)
        names = {name for partition in self.partitions for name in partition.shard.offsets.topics_without_id()}
        for name in sorted(names):
            if self._metadata.topic(name) is None:
                self._forget({ZERO_UUID: name})

    def _forget_states(self) -> None:
        for partition in self.partitions:
            partition.notify(lambda shard: shard.share.states_lost())

    def _forget(self, topics: Mapping[bytes, str]) -> None:
        for partition in self.partitions:
            partition.notify(lambda shard: shard.topics_deleted(topics))

    # -- routing

    def partition(self, group_id: str) -> CoordinatorPartition[GroupCoordinatorShard]:
        """Return the runtime of the group's shard. The internal topic must exist."""
        return self.partitions.get(self.partitions.place_of(group_id))

    def _has_place(self, limit: int, _group_id: str) -> bool:
        return sum(partition.shard.share.count() for partition in self.partitions) < limit
