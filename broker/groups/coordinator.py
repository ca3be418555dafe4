"""The group coordinator of this broker: routes groups to their partitions of `__consumer_offsets`, and carries a
share-group heartbeat through its two phases (`shareq.coordinator.group.share.heartbeat`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, TypeVar

from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.coordinator_runtime.batches import CoordinatorLogSettings
from shareq.broker.coordinator_runtime.partition import CoordinatorPartition
from shareq.broker.coordinator_runtime.partitions import CoordinatorPartitions
from shareq.broker.foundation.pending import Pending, completed, gather
from shareq.broker.metadata.topic_names import CONSUMER_OFFSETS, SHARE_GROUP_STATE
from shareq.broker.share.persister import Persister
from shareq.broker.topics.internal import ensure
from shareq.coordinator.group.classic.turn import ClassicGroupSettings
from shareq.coordinator.group.consumer_groups import ConsumerGroupLimits
from shareq.coordinator.group.counters import GroupCounters
from shareq.coordinator.group.groups import Client
from shareq.coordinator.group.migration.policy import MigrationPolicy
from shareq.coordinator.group.offsets.group_offsets import OffsetSettings
from shareq.coordinator.group.serde import GROUP_SERDE
from shareq.coordinator.group.shard import GroupCoordinatorSettings, GroupCoordinatorShard
from shareq.coordinator.group.share.describe import not_described
from shareq.coordinator.group.share.heartbeat import HeartbeatPlan, refusal
from shareq.coordinator.group.share_groups import ShareGroupLimits
from shareq.coordinator.ports import TopicImage
from shareq.coordinator.routing import group_partition_for
from shareq.coordinator.shard import CoordinatorResult
from shareq.protocol.errors import ApiError, ErrorCode
from shareq.protocol.generated.share_group_describe import DescribedGroup
from shareq.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from shareq.protocol.generated.share_group_metadata import ShareGroupMetadataKey
from shareq.protocol.primitives import ZERO_UUID
from shareq.protocol.records.compression import Compression

if TYPE_CHECKING:
    from shareq.broker.broker import Broker

T = TypeVar("T")

_OTHER_BYTES: Final = 256 * 1024  # of a request beside what is written down: ids, reasons, partitions that are owned


def group_coordinator_settings(config: BrokerConfig) -> GroupCoordinatorSettings:
    """`group.*` as the shard takes it. An initialisation is given as long as an offset commit is."""
    return GroupCoordinatorSettings(
        ShareGroupLimits(
            max_size=config.group_share_max_size,
            max_groups=config.group_share_max_groups,
            initialize_retry_interval_ms=max(
                config.group_share_initialize_retry_interval_ms, config.offsets_commit_timeout_ms
            ),
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
    """Everything asked of groups. Answers come when what they tell is durable.

    `rebalances` counts the epochs of share groups that heartbeats have raised, but for those with which members left;
    `counters` what happens to groups of the other kinds, and to offsets.
    """

    def __init__(self, broker: Broker, persister: Persister, settings: GroupCoordinatorSettings) -> None:
        self._broker = broker
        self._persister = persister
        self.rebalances = 0
        self.counters = GroupCounters()
        self._initializing: dict[str, int] = {}  # group id -> heartbeats between their two phases
        self._waiting: dict[str, list[Callable[[], None]]] = {}  # heartbeats that wait for those
        self.partitions: CoordinatorPartitions[GroupCoordinatorShard] = CoordinatorPartitions(
            broker,
            CONSUMER_OFFSETS,
            lambda: GroupCoordinatorShard(
                broker.metadata,
                broker.configs,
                broker.env.clock.wall_ms,
                settings,
                self._count_share_groups,
                self.counters,
                self.partitions.room,
            ),
            GROUP_SERDE,
            CoordinatorLogSettings(Compression(broker.config.offsets_topic_compression_codec)),
        )

    def share_group_heartbeat(
        self, request: ShareGroupHeartbeatRequest, client: Client
    ) -> Pending[ShareGroupHeartbeatResponse]:
        """ShareGroupHeartbeat: both phases. The internal topics are created here when they are not there yet."""
        for topic in (CONSUMER_OFFSETS, SHARE_GROUP_STATE):
            error = ensure(self._broker.metadata, self._broker.config, topic)
            if error.code is not ErrorCode.NONE:
                return completed(refusal(ErrorCode.COORDINATOR_NOT_AVAILABLE, error.message or ""))
        partition = self.partition(request.group_id)
        answer: Pending[ShareGroupHeartbeatResponse] = Pending()
        plan = partition.schedule(
            lambda: partition.shard.share.begin_heartbeat(request, client, self._now()),
            lambda error: HeartbeatPlan(request.group_id, request.member_id, _failed(error)),
        )
        plan.on_complete(lambda plan: self._carry_on(partition, plan, answer))
        return answer

    def describe_share_group(self, group_id: str) -> Pending[DescribedGroup]:
        """One entry of ShareGroupDescribe."""
        if not self.partitions.count:
            message = f"Group {group_id} not found."
            return completed(not_described(group_id, ErrorCode.GROUP_ID_NOT_FOUND, message))
        return self.schedule(
            group_id,
            lambda shard: shard.share.describe(group_id),
            lambda error: not_described(group_id, error, "The coordinator's log could not be written."),
        )

    def has_no_room_for(self, request_bytes: int, *, times: int = 1) -> bool:
        """Whether a request is larger than what it says may be in a record of the log, `times` over."""
        if not self.partitions.count:
            return False  # the first request makes the topic
        return request_bytes > times * self.partitions.room.most_bytes() + _OTHER_BYTES

    def schedule(
        self,
        group_id: str,
        operation: Callable[[GroupCoordinatorShard], CoordinatorResult[T]],
        failed: Callable[[ErrorCode], T],
    ) -> Pending[T]:
        """Run an operation on the group's shard; its response comes when it is durable. The topic has to exist."""
        partition = self.partition(group_id)
        return partition.schedule(lambda: operation(partition.shard), failed)

    # -- news of topics

    def topic_created(self, topic: TopicImage) -> None:
        """Groups that subscribe to it look again at the next heartbeat."""
        for partition in self.partitions:
            partition.shard.topics_changed((topic.name,))

    def topic_deleted(self, topic: TopicImage) -> None:
        """Forget the topic's share partitions and offsets in all groups; with the states' topic all share partitions,
        with the groups' own topic all groups.
        """
        if topic.name == CONSUMER_OFFSETS:
            self.partitions.resign()
        elif topic.name == SHARE_GROUP_STATE:
            self._forget_states()
        self._forget({topic.topic_id: topic.name})

    def finish_deletions(self) -> None:
        """Forget topics that metadata does not know: a crash came between their deletion and ours."""
        if self._broker.metadata.topic(SHARE_GROUP_STATE) is None:
            self._forget_states()
        known = self._broker.metadata.topic_by_id
        topics = [topic for partition in self.partitions for topic in partition.shard.topics().items()]
        gone = {topic_id: name for topic_id, name in topics if known(topic_id) is None}
        if gone:
            self._forget(gone)
        names = {name for partition in self.partitions for name in partition.shard.offsets.topics_without_id()}
        for name in sorted(names):
            if self._broker.metadata.topic(name) is None:
                self._forget({ZERO_UUID: name})

    def _forget_states(self) -> None:
        for partition in self.partitions:
            shard = partition.shard
            partition.schedule(shard.share.states_lost, lambda _error: None)

    def _forget(self, topics: Mapping[bytes, str]) -> None:
        for partition in self.partitions:
            shard = partition.shard
            partition.schedule(lambda shard=shard: shard.topics_deleted(topics), lambda _error: None)  # type: ignore[misc]

    # -- the two phases

    def _carry_on(
        self,
        partition: CoordinatorPartition[GroupCoordinatorShard],
        plan: HeartbeatPlan,
        answer: Pending[ShareGroupHeartbeatResponse],
    ) -> None:
        self.rebalances += plan.bumped
        if plan.response is not None:
            answer.complete(plan.response)
        elif plan.initialize:
            self._initialize(partition, plan, answer)
        elif self._initializing.get(plan.group_id):
            waiting = self._waiting.setdefault(plan.group_id, [])
            waiting.append(lambda: self._finish(partition, plan, None, answer))
        else:  # those it would wait for have finished meanwhile
            self._finish(partition, plan, None, answer)

    def _initialize(
        self,
        partition: CoordinatorPartition[GroupCoordinatorShard],
        plan: HeartbeatPlan,
        answer: Pending[ShareGroupHeartbeatResponse],
    ) -> None:
        self._initializing[plan.group_id] = self._initializing.get(plan.group_id, 0) + 1
        replaced = self._broker.share_partitions.state_replaced
        outcomes = gather(
            [
                self._persister.initialize_once(each.key, each.state_epoch, replaced, again=each.again)
                for each in plan.initialize
            ]
        )

        def initialized(results: list[ApiError]) -> None:
            self._finish(partition, plan, not any(results), answer)
            left = self._initializing[plan.group_id] = self._initializing[plan.group_id] - 1
            if not left:
                del self._initializing[plan.group_id]
                for finish in self._waiting.pop(plan.group_id, ()):
                    finish()

        outcomes.on_complete(initialized)

    def _finish(
        self,
        partition: CoordinatorPartition[GroupCoordinatorShard],
        plan: HeartbeatPlan,
        initialized: bool | None,
        answer: Pending[ShareGroupHeartbeatResponse],
    ) -> None:
        def operation() -> CoordinatorResult[ShareGroupHeartbeatResponse]:
            result = partition.shard.share.finish_heartbeat(plan, initialized, self._now())
            self.rebalances += any(isinstance(record.key, ShareGroupMetadataKey) for record in result.records)
            return result

        partition.schedule(operation, _failed).on_complete(answer.complete)

    # -- routing

    def partition(self, group_id: str) -> CoordinatorPartition[GroupCoordinatorShard]:
        """The runtime of the group's shard. The topic has to exist."""
        return self.partitions.get(group_partition_for(group_id, self.partitions.count))

    def _count_share_groups(self) -> int:
        return sum(partition.shard.share.count() for partition in self.partitions)

    def _now(self) -> int:
        return self._broker.env.clock.now_ms()


def _failed(error: ErrorCode) -> ShareGroupHeartbeatResponse:
    return refusal(error, "The coordinator's log could not be written.")
