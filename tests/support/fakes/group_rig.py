"""The group coordinator on fakes, with the services around it: topics `t` (2 partitions) and `u` (1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from shareq.broker.coordinator_runtime.batches import CoordinatorLogSettings
from shareq.broker.foundation.pending import Pending
from shareq.broker.groups.coordinator import group_coordinator_settings
from shareq.broker.groups.names import MostPerOwner
from shareq.broker.groups.service import GroupService
from shareq.coordinator.group.groups import Client
from shareq.coordinator.group.shard import GroupCoordinatorShard
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from shareq.protocol.generated.offset_fetch import OffsetFetchRequestGroup, OffsetFetchResponseGroup
from shareq.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from tests.support.coroutines import begun
from tests.support.fakes.host import FakeHost
from tests.support.fakes.settings import GroupSettings
from tests.support.fakes.share_states import MemoryShareStates, NotedShareLeaders

OFFSETS: Final = "__consumer_offsets"
STATES: Final = "__share_group_state"
CLIENT: Final = Client("client", "/127.0.0.1")


class OpenConnection:
    id = 1
    closed = False

    def on_close(self, callback: Callable[[], None]) -> Callable[[], None]:
        return lambda: None


CONNECTION: Final = OpenConnection()


class GroupRig:
    """A `GroupService`. Internal topics are created when first needed, unless `topics` names them."""

    def __init__(self, *topics: str) -> None:
        self.ports = FakeHost(t=2, u=1, **dict.fromkeys(topics, 2))
        self.settings = GroupSettings()
        self.states = MemoryShareStates()
        self.leaders = NotedShareLeaders()
        self.service = self.make()

    def make(self) -> GroupService:
        return GroupService(
            self.ports.host,
            self.settings,
            group_coordinator_settings(self.ports.config),
            CoordinatorLogSettings(),
            self.ports.internal_topics,
            self.ports.logs.lookup(),
            self.states,
            self.leaders,
            MostPerOwner(
                self.ports.config.shareq_max_groups_per_principal, self.ports.config.shareq_max_members_per_principal
            ),
        )

    # -- offsets

    def commit_begun(self, request: OffsetCommitRequest, version: int) -> Pending[OffsetCommitResponse]:
        return begun(self.ports.env, self.service.offsets.commit(request, version))

    def fetch_begun(
        self, group: OffsetFetchRequestGroup, version: int, *, require_stable: bool = False
    ) -> Pending[OffsetFetchResponseGroup]:
        return begun(self.ports.env, self.service.offsets.fetch(group, version, require_stable=require_stable))

    def id_of(self, topic: str) -> bytes:
        image = self.ports.topics.topic(topic)
        assert image is not None
        return image.topic_id

    def key(self, partition: int = 0, topic: str = "t", group: str = "g") -> SharePartitionKey:
        return SharePartitionKey(group, self.id_of(topic), partition)

    def shard(self, group: str = "g") -> GroupCoordinatorShard:
        return self.service.coordinator.partition(group).shard

    # -- share groups

    def beat(self, request: ShareGroupHeartbeatRequest) -> Pending[ShareGroupHeartbeatResponse]:
        return begun(self.ports.env, self.service.share.heartbeat(request, CLIENT, CONNECTION))

    def join(self, member: str = "m", *topics: str, group: str = "g") -> ShareGroupHeartbeatResponse:
        request = heartbeat(member, 0, *(topics or ("t",)), group=group)
        answer = self.ports.answer(self.beat(request))
        assert answer.error_code == ErrorCode.NONE, answer
        return answer

    def leave(self, member: str = "m", group: str = "g") -> None:
        answer = self.ports.answer(self.beat(heartbeat(member, -1, group=group)))
        assert answer.error_code == ErrorCode.NONE


def heartbeat(member: str, epoch: int, *topics: str, group: str = "g") -> ShareGroupHeartbeatRequest:
    return ShareGroupHeartbeatRequest(
        group_id=group, member_id=member, member_epoch=epoch, subscribed_topic_names=list(topics) or None
    )


def assigned(answer: ShareGroupHeartbeatResponse) -> dict[bytes, list[int]] | None:
    """Return the partitions by topic id, or None if the answer has no assignment."""
    if answer.assignment is None:
        return None
    return {each.topic_id: sorted(each.partitions) for each in answer.assignment.topic_partitions}
