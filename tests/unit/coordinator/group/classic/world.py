"""Members of one classic group that send raw requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from shareq.coordinator.group.classic.group import ClassicGroup
from shareq.coordinator.group.classic.rpc.join import Joining
from shareq.coordinator.group.classic.turn import ClassicGroupSettings
from shareq.coordinator.group.counters import GroupCounters
from shareq.coordinator.group.groups import Client
from shareq.coordinator.group.serde import GROUP_SERDE
from shareq.coordinator.group.shard import GroupCoordinatorSettings, GroupCoordinatorShard
from shareq.coordinator.shard import at_once
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.group_metadata import GroupMetadataValue
from shareq.protocol.generated.heartbeat import HeartbeatRequest
from shareq.protocol.generated.join_group import JoinGroupResponse
from shareq.protocol.generated.leave_group import LeaveGroupRequest, MemberIdentity
from shareq.protocol.generated.sync_group import SyncGroupResponse
from shareq.protocol.primitives import Message
from tests.support.kafka.group_requests import join_request, sync_request
from tests.unit.coordinator.support import Log, Settings, Time, Topics

GROUP = "g"
CLIENT = Client("client", "/127.0.0.1")
SESSION_MS = 10_000
REBALANCE_MS = 60_000
DELAY_MS = 3_000

M = TypeVar("M", bound=Message)


@dataclass
class Asked(Generic[M]):
    world: ClassicWorld
    token: int

    @property
    def waits(self) -> bool:
        return self.token not in self.world.log.answers

    @property
    def response(self) -> M:
        response: M = self.world.log.answers[self.token]  # type: ignore[assignment]
        return response

    @property
    def error(self) -> ErrorCode:
        return ErrorCode(self.response.error_code)  # type: ignore[attr-defined]


class ClassicWorld:
    """A shard with the group under test, its log and clock. New members get the ids client-1, client-2, ..."""

    def __init__(self, settings: ClassicGroupSettings | None = None) -> None:
        self.time = Time()
        self.counters = GroupCounters()
        self.settings = GroupCoordinatorSettings(classic=settings or ClassicGroupSettings())
        self.log = Log(
            lambda: GroupCoordinatorShard(
                Topics(), Settings(), self.time.wall_ms, self.settings, counters=self.counters
            ),
            GROUP_SERDE,
            self.time,
        )
        self.tokens = 0
        self.ids = 0

    @property
    def group(self) -> ClassicGroup:
        group = self.log.shard.classic.group(GROUP)
        assert group is not None
        return group

    @property
    def written(self) -> GroupMetadataValue:
        (record,) = self.log.last
        assert isinstance(record.value, GroupMetadataValue)
        return record.value

    def join(
        self,
        member_id: str = "",
        *,
        instance: str | None = None,
        protocols: Mapping[str, bytes] | None = None,
        kind: str = "consumer",
        version: int = 9,
        session_ms: int = SESSION_MS,
        rebalance_ms: int = REBALANCE_MS,
        group_id: str = GROUP,
        client: Client = CLIENT,
    ) -> Asked[JoinGroupResponse]:
        self.tokens += 1
        self.ids += 1
        times = {"session_ms": session_ms, "rebalance_ms": rebalance_ms}
        request = join_request(group_id, member_id, protocols, instance=instance, kind=kind, **times)
        joining = Joining(request, version, client, self.tokens, str(self.ids))
        self.log.run(at_once(self.log.shard.classic_protocol.join(joining, self.time.now_ms)))
        return Asked(self, self.tokens)

    def first_join(self, **options: object) -> tuple[str, Asked[JoinGroupResponse]]:
        """Send both JoinGroups of a dynamic member; return its id and the second request."""
        first = self.join(**options)  # type: ignore[arg-type]
        assert first.error is ErrorCode.MEMBER_ID_REQUIRED
        member_id = first.response.member_id
        return member_id, self.join(member_id, **options)  # type: ignore[arg-type]

    def sync(
        self,
        member_id: str,
        generation: int | None = None,
        assignments: Mapping[str, bytes] | None = None,
        *,
        instance: str | None = None,
        kind: str | None = "consumer",
        protocol: str | None = "range",
        group_id: str = GROUP,
    ) -> Asked[SyncGroupResponse]:
        self.tokens += 1
        at = self.group.generation if generation is None else generation
        request = sync_request(group_id, at, member_id, assignments, instance=instance, kind=kind, protocol=protocol)
        self.log.run(self.log.shard.classic_protocol.sync(request, self.tokens, self.time.now_ms))
        return Asked(self, self.tokens)

    def beat(
        self, member_id: str, generation: int | None = None, *, instance: str | None = None, group_id: str = GROUP
    ) -> ErrorCode:
        known = self.log.shard.classic.group(group_id)
        reported = (known.generation if known else 0) if generation is None else generation
        request = HeartbeatRequest(group_id, reported, member_id, instance)
        response = self.log.run(self.log.shard.classic_protocol.heartbeat(request, self.time.now_ms))
        return ErrorCode(response.error_code)

    def leave(self, *members: str | MemberIdentity, group_id: str = GROUP) -> list[ErrorCode]:
        identities = [MemberIdentity(each) if isinstance(each, str) else each for each in members]
        request = LeaveGroupRequest(group_id, members=identities)
        response = self.log.run(self.log.shard.classic_protocol.leave(request, self.time.now_ms))
        return [ErrorCode(member.error_code) for member in response.members]

    def stable(self, count: int = 1, *, statics: Sequence[str] = (), **options: object) -> list[str]:
        """Create a group of `count` members, each assigned its own number; return their ids, the leader's first.

        `statics`: instance ids of the first ones.
        """
        asked: list[tuple[str, Asked[JoinGroupResponse]]] = []
        for number in range(count):
            if number < len(statics):
                join = self.join(instance=statics[number], **options)  # type: ignore[arg-type]
                asked.append(("", join))
            else:
                asked.append(self.first_join(**options))
        while any(join.waits for _, join in asked):
            self.log.advance(DELAY_MS)
        ids = [join.response.member_id for _, join in asked]
        leader = asked[0][1].response.leader
        ids.sort(key=lambda member_id: member_id != leader)
        assignments = {member_id: b"%d" % number for number, member_id in enumerate(ids)}
        syncs = [self.sync(member_id, protocol=None) for member_id in ids[1:]]
        syncs.append(self.sync(leader, None, assignments, protocol=None))
        assert all(sync.error is ErrorCode.NONE for sync in syncs)
        return ids

    def keep_alive(self, ms: int, *member_ids: str) -> None:
        end = self.time.now_ms + ms
        while self.time.now_ms < end:
            self.log.advance(min(1_000, end - self.time.now_ms))
            for member_id in member_ids:
                self.beat(member_id)
