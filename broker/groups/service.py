"""Groups of every kind, as the handlers use them."""

from __future__ import annotations

from collections.abc import Sequence

from shareq.broker.coordinator_runtime.batches import CoordinatorLogSettings
from shareq.broker.coordinator_runtime.ports import CoordinatorHost
from shareq.broker.foundation.service import Service
from shareq.broker.groups.administration import GroupAdministration
from shareq.broker.groups.classic import ClassicGroupService
from shareq.broker.groups.consumer import ConsumerGroupService
from shareq.broker.groups.coordinator import GroupCoordinatorService
from shareq.broker.groups.names import GroupNames, MostPerOwner
from shareq.broker.groups.offsets import GroupOffsetsService
from shareq.broker.groups.ports import EndedLog, ShareLeaders, ShareStates
from shareq.broker.groups.share import ShareGroupService
from shareq.broker.topics.lookup import PartitionLookup
from shareq.broker.topics.ports import CoordinatorTopics
from shareq.coordinator.group.shard import GroupCoordinatorSettings
from shareq.coordinator.ports import GroupSettingsSource, TopicImage
from shareq.protocol.names import CONSUMER_OFFSETS


class GroupService(Service):
    """The group coordinator (`coordinator`), and its operations by kind of group, for offsets, and for
    administrators. `names` counts groups and members by owner.
    """

    def __init__(
        self,
        host: CoordinatorHost,
        configs: GroupSettingsSource,
        settings: GroupCoordinatorSettings,
        log_settings: CoordinatorLogSettings,
        internal_topics: CoordinatorTopics,
        lookup: PartitionLookup[EndedLog],
        states: ShareStates,
        leaders: ShareLeaders,
        most_per_owner: MostPerOwner,
    ) -> None:
        clock, metadata = host.env.clock, host.metadata
        self.coordinator = coordinator = GroupCoordinatorService(host, configs, settings, log_settings)
        self.names = GroupNames(coordinator, most_per_owner, clock)
        self.share = ShareGroupService(coordinator, internal_topics, states, leaders, host.env)
        self.classic = ClassicGroupService(coordinator, internal_topics, host.env)
        self.consumer = ConsumerGroupService(coordinator, internal_topics, host.env)
        self.offsets = GroupOffsetsService(coordinator, internal_topics, metadata, host.env)
        self.administration = GroupAdministration(
            groups=coordinator,
            internal_topics=internal_topics,
            metadata=metadata,
            lookup=lookup,
            states=states,
            leaders=leaders,
            env=host.env,
        )

    def recover(self) -> None:
        """Load the groups, and finish deletions of topics that a crash cut off."""
        self.coordinator.recover()

    def topics_changed(self, topics: Sequence[TopicImage]) -> None:
        """Let the groups that subscribe to the topics look again at their next heartbeat."""
        self.coordinator.topics_changed(topics)

    def topics_deleted(self, topics: Sequence[TopicImage]) -> None:
        """Forget the topics in all groups."""
        self.coordinator.topics_deleted(topics)

    def leader_moved(self, topic: str, partition: int) -> None:
        """Give up a partition of the groups' topic; the next use loads its log again."""
        if topic == CONSUMER_OFFSETS:
            self.coordinator.partitions.resign(partition)

    def stop_waiting(self) -> None:
        """Fail every parked request with NOT_COORDINATOR, so that its client asks another broker."""
        self.coordinator.partitions.refuse_parked()
        self.share.stop()

    def close(self) -> None:
        """Stop all timers."""
        self.coordinator.partitions.close()
