"""A group coordinator's shard with topics, a log and a clock, to which tests send heartbeats as a shell does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shareq.coordinator.group.groups import Client
from shareq.coordinator.group.serde import GROUP_SERDE
from shareq.coordinator.group.shard import GroupCoordinatorSettings, GroupCoordinatorShard
from shareq.coordinator.group.share.group import ShareGroup
from shareq.coordinator.group.share.heartbeat import HeartbeatPlan
from shareq.coordinator.group.share.initialization import StateInitialization
from shareq.coordinator.ports import ShareGroupSettings
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from tests.unit.coordinator.support import Log, Settings, Time, Topics

CLIENT = Client("client", "/127.0.0.1")
GROUP = "g"


@dataclass
class Answer:
    """A heartbeat's answer, with topic names in place of ids."""

    error: ErrorCode
    epoch: int
    assignment: dict[str, list[int]] | None
    response: ShareGroupHeartbeatResponse


class GroupWorld:
    """A group coordinator's shard. `initializes` is the outcome of initialisations: True, False, or None if unknown."""

    def __init__(
        self,
        topics: Topics | None = None,
        settings: ShareGroupSettings | None = None,
        coordinator: GroupCoordinatorSettings | None = None,
    ) -> None:
        self.topics = topics or Topics(t=2)
        self.time = Time()
        self.settings = Settings(settings)
        self.coordinator = coordinator or GroupCoordinatorSettings()
        self.initializes: bool | None = True
        self.initialized: list[StateInitialization] = []
        self.kinds: list[str] = []
        """Records of the last heartbeat, both phases."""
        self.log = Log(
            lambda: GroupCoordinatorShard(self.topics, self.settings, self.time.wall_ms, self.coordinator),
            GROUP_SERDE,
            self.time,
        )

    @property
    def shard(self) -> GroupCoordinatorShard:
        return self.log.shard

    @property
    def group(self) -> ShareGroup:
        group = self.shard.share_group(GROUP)
        assert group is not None
        return group

    def begin(
        self,
        member_id: str,
        epoch: int,
        topics: Sequence[str] | None = None,
        *,
        rack: str | None = None,
        group_id: str = GROUP,
        client: Client = CLIENT,
        connection_id: int | None = None,
    ) -> HeartbeatPlan:
        request = ShareGroupHeartbeatRequest(
            group_id=group_id,
            member_id=member_id,
            member_epoch=epoch,
            rack_id=rack,
            subscribed_topic_names=None if topics is None else list(topics),
        )
        plan = self.log.run(self.shard.share.begin_heartbeat(request, client, self.time.now_ms, connection_id))
        self.kinds = self.log.value_types()
        return plan

    def finish(self, plan: HeartbeatPlan, initialized: bool | None = True) -> Answer:
        self.initialized.extend(plan.initialize)
        response = self.log.run(self.shard.share.finish_heartbeat(plan, initialized, self.time.now_ms))
        self.kinds += self.log.value_types()
        return self.answer(response)

    def beat(
        self,
        member_id: str,
        epoch: int,
        topics: Sequence[str] | None = None,
        *,
        rack: str | None = None,
        group_id: str = GROUP,
        client: Client = CLIENT,
        connection_id: int | None = None,
    ) -> Answer:
        plan = self.begin(
            member_id, epoch, topics, rack=rack, group_id=group_id, client=client, connection_id=connection_id
        )
        if plan.response is not None:
            return self.answer(plan.response)
        return self.finish(plan, self.initializes)

    def join(self, member_id: str, *topics: str) -> Answer:
        answer = self.beat(member_id, 0, topics or ("t",))
        assert answer.error is ErrorCode.NONE
        return answer

    def answer(self, response: ShareGroupHeartbeatResponse) -> Answer:
        assignment = None
        if response.assignment is not None:
            assignment = {self.name_of(t.topic_id): t.partitions for t in response.assignment.topic_partitions}
        return Answer(ErrorCode(response.error_code), response.member_epoch, assignment, response)

    def name_of(self, topic_id: bytes) -> str:
        topic = self.topics.topic_by_id(topic_id)
        return topic_id.hex() if topic is None else topic.name
