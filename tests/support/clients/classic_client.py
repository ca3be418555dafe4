"""A member of a classic group, request by request, in any version."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from devtools.in_memory.mock_transport import BrokerWorld
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.describe_groups import DescribedGroup, DescribeGroupsRequest, DescribeGroupsResponse
from shareq.protocol.generated.heartbeat import HeartbeatRequest, HeartbeatResponse
from shareq.protocol.generated.join_group import JoinGroupResponse
from shareq.protocol.generated.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from shareq.protocol.generated.sync_group import SyncGroupResponse
from tests.support.kafka.group_requests import join_request, sync_request

INITIAL_DELAY_MS = 3_000


class ClassicClient:
    """A member with a connection of its own.

    `member_id`, `generation` and `leader` are those of the last JoinGroup response. Each RPC is sent in its highest
    version unless another is given: `join` 9, `sync` 5, `heartbeat` 4, `leave` 5.
    """

    def __init__(
        self,
        world: BrokerWorld,
        group: str = "g",
        *,
        instance: str | None = None,
        client_id: str | None = "mock",
        join: int = 9,
        sync: int = 5,
        heartbeat: int = 4,
        leave: int = 5,
    ) -> None:
        self.world = world
        self.group = group
        self.instance = instance
        self.versions = {"join": join, "sync": sync, "heartbeat": heartbeat, "leave": leave}
        self.connection = world.connect(client_id=client_id)
        self.member_id = ""
        self.generation = -1
        self.leader = ""
        self.protocol: str | None = None

    def reconnect(self) -> None:
        self.connection = self.world.connect(client_id=self.connection.requests.client_id)

    # -- JoinGroup

    def send_join(
        self,
        *,
        kind: str = "consumer",
        protocols: Mapping[str, bytes] | None = None,
        session_ms: int = 10_000,
        rebalance_ms: int = 60_000,
    ) -> None:
        version = self.versions["join"]
        times = {"session_ms": session_ms, "rebalance_ms": rebalance_ms if version else -1}
        request = join_request(self.group, self.member_id, protocols, instance=self.instance, kind=kind, **times)
        self.connection.send(request, version)

    def joined(self) -> JoinGroupResponse:
        response = self.connection.receive(JoinGroupResponse)
        if response.error_code in (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED):
            self.member_id, self.generation = response.member_id, response.generation_id
            self.leader, self.protocol = response.leader, response.protocol_name
        return response

    def begin(self, **options: object) -> None:
        self.send_join(**options)  # type: ignore[arg-type]
        if self.versions["join"] >= 4 and not self.member_id and self.instance is None:
            assert self.joined().error_code == ErrorCode.MEMBER_ID_REQUIRED
            self.send_join(**options)  # type: ignore[arg-type]

    # -- the rest

    def send_sync(self, assignments: Mapping[str, bytes] | None = None) -> None:
        version = self.versions["sync"]
        of = {"kind": "consumer", "protocol": self.protocol} if version >= 5 else {"kind": None, "protocol": None}
        request = sync_request(self.group, self.generation, self.member_id, assignments, instance=self.instance, **of)
        self.connection.send(request, version)

    def synced(self) -> SyncGroupResponse:
        return self.connection.receive(SyncGroupResponse)

    def sync(self, assignments: Mapping[str, bytes] | None = None) -> SyncGroupResponse:
        self.send_sync(assignments)
        return self.synced()

    def heartbeat(self) -> ErrorCode:
        request = HeartbeatRequest(self.group, self.generation, self.member_id, self.instance)
        response = self.connection.call(request, self.versions["heartbeat"], HeartbeatResponse)
        return ErrorCode(response.error_code)

    def leave(self) -> LeaveGroupResponse:
        version = self.versions["leave"]
        if version < 3:
            request = LeaveGroupRequest(self.group, self.member_id)
        else:
            request = LeaveGroupRequest(self.group, members=[MemberIdentity(self.member_id, self.instance)])
        return self.connection.call(request, version, LeaveGroupResponse)

    @property
    def waits(self) -> bool:
        self.world.clock.run_until_idle()
        return not self.connection.frames


def form(members: Sequence[ClassicClient], **options: object) -> None:
    """Form a generation of these members, the first members of their group; assign each its member id."""
    for member in members:
        member.begin(**options)
    world = members[0].world
    world.clock.advance(2 * INITIAL_DELAY_MS)
    for member in members:
        assert member.joined().error_code == ErrorCode.NONE
    settle(members)


def settle(members: Sequence[ClassicClient]) -> None:
    """Send the SyncGroups of a generation; each member is assigned its member id."""
    assignments = {member.member_id: member.member_id.encode() for member in members}
    for member in members:
        member.send_sync(assignments if member.member_id == member.leader else None)
    for member in members:
        response = member.synced()
        assert (response.error_code, response.assignment) == (ErrorCode.NONE, member.member_id.encode())


def describe(world: BrokerWorld, group: str = "g", version: int = 6) -> DescribedGroup:
    answer = world.connect().call(DescribeGroupsRequest([group]), version, DescribeGroupsResponse)
    return answer.groups[0]
