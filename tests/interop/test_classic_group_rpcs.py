"""JoinGroup, SyncGroup, Heartbeat, LeaveGroup and DescribeGroups, request by request, as Apache Kafka answers them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import cast

import pytest

from devtools.clients.admin import create_topic
from devtools.clients.wire import WireClient
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from shareq.protocol.generated.describe_groups import DescribedGroup, DescribeGroupsRequest, DescribeGroupsResponse
from shareq.protocol.generated.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from shareq.protocol.generated.heartbeat import HeartbeatRequest, HeartbeatResponse
from shareq.protocol.generated.join_group import JoinGroupResponse
from shareq.protocol.generated.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from shareq.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from shareq.protocol.generated.sync_group import SyncGroupResponse
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.support.kafka.group_requests import join_request, sync_request

BROKER_SETTINGS = {"group.initial.rebalance.delay.ms": "0"}
pytestmark = pytest.mark.interop
Unique = Callable[[str], str]


class Member:
    def __init__(self, broker: BrokerUnderTest, group: str, instance: str | None = None) -> None:
        self.wire = WireClient(("127.0.0.1", broker.port), client_id="app")
        self.group, self.instance = group, instance
        self.member_id, self.generation = "", -1

    def send_join(
        self, version: int = 9, *, protocols: Mapping[str, bytes] | None = None, kind: str = "consumer"
    ) -> None:
        offered = {"range": b"meta"} if protocols is None else protocols
        rebalance_ms = 20_000 if version else -1
        request = join_request(
            self.group, self.member_id, offered, instance=self.instance, kind=kind, rebalance_ms=rebalance_ms
        )
        self.wire.send(request, version)

    def joined(self) -> JoinGroupResponse:
        response = cast(JoinGroupResponse, self.wire.receive())
        if response.error_code in (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED):
            self.member_id, self.generation = response.member_id, response.generation_id
        return response

    def join(self, version: int = 9, **options: object) -> JoinGroupResponse:
        self.send_join(version, **options)  # type: ignore[arg-type]
        response = self.joined()
        if response.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self.send_join(version, **options)  # type: ignore[arg-type]
            response = self.joined()
        return response

    def sync(
        self,
        assignments: Mapping[str, bytes] | None = None,
        version: int = 5,
        *,
        generation: int | None = None,
        kind: str | None = "consumer",
        protocol: str | None = "range",
    ) -> SyncGroupResponse:
        at = self.generation if generation is None else generation
        request = sync_request(
            self.group, at, self.member_id, assignments, instance=self.instance, kind=kind, protocol=protocol
        )
        return self.wire.call(request, version, SyncGroupResponse)

    def beat(self, generation: int | None = None, version: int = 4) -> ErrorCode:
        reported = self.generation if generation is None else generation
        request = HeartbeatRequest(self.group, reported, self.member_id, self.instance)
        return ErrorCode(self.wire.call(request, version, HeartbeatResponse).error_code)

    def leave(self, version: int = 5, *members: MemberIdentity) -> LeaveGroupResponse:
        identities = list(members) or [MemberIdentity(self.member_id, self.instance)]
        one, several = (self.member_id, []) if version < 3 else ("", identities)
        request = LeaveGroupRequest(self.group, one, several)
        return self.wire.call(request, version, LeaveGroupResponse)

    def describe(self, version: int = 6, group: str | None = None) -> DescribedGroup:
        request = DescribeGroupsRequest([self.group if group is None else group])
        return self.wire.call(request, version, DescribeGroupsResponse).groups[0]

    def stable(self) -> str:
        """Become the only member; return the member id."""
        assert self.join().error_code == ErrorCode.NONE
        assert self.sync({self.member_id: b"all"}).assignment == b"all"
        return self.member_id


@pytest.fixture
def member(broker: BrokerUnderTest, unique: Unique) -> Iterator[Callable[..., Member]]:
    group = unique("group")
    made: list[Member] = []

    def make(instance: str | None = None) -> Member:
        made.append(Member(broker, group, instance))
        return made[-1]

    probe = make()
    for _ in range(200):
        found = probe.wire.call(FindCoordinatorRequest(coordinator_keys=[group]), 4, FindCoordinatorResponse)
        if found.coordinators[0].error_code == ErrorCode.NONE and probe.beat() is ErrorCode.UNKNOWN_MEMBER_ID:
            break
    yield make
    for each in made:
        each.wire.close()


Members = Callable[..., Member]


@pytest.mark.parametrize("version", range(10))
def test_a_generation_in_every_version(member: Members, version: int) -> None:
    one = member()
    response = one.join(version)
    assert (response.error_code, response.generation_id, response.leader) == (ErrorCode.NONE, 1, one.member_id)
    assert one.member_id.startswith("app-")
    assert response.protocol_name == "range"
    assert response.protocol_type == ("consumer" if version >= 7 else None)
    assert [(m.member_id, m.metadata) for m in response.members] == [(one.member_id, b"meta")]
    assert one.sync({one.member_id: b"all"}, min(version, 5)).assignment == b"all"
    assert one.beat(version=min(version, 4)) is ErrorCode.NONE
    left = one.leave(min(version, 5))
    assert (left.error_code, [m.error_code for m in left.members]) == (ErrorCode.NONE, [0] if version >= 3 else [])
    assert one.describe().group_state == "Empty"


@pytest.mark.parametrize("version", [6, 9])
def test_refused_joins(member: Members, version: int) -> None:
    one, other = member(), member()
    one.stable()
    other.member_id = "stranger"
    other.send_join(version)
    unknown = other.joined()
    name = None if version >= 7 else ""
    assert (unknown.error_code, unknown.member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, "stranger")
    assert (unknown.protocol_name, unknown.protocol_type, unknown.generation_id) == (name, None, -1)
    other.member_id = ""
    offers: list[tuple[str, dict[str, bytes]]] = [
        ("connect", {"range": b""}),
        ("consumer", {"sticky": b""}),
        ("consumer", {}),
        ("", {"range": b""}),
    ]
    for kind, protocols in offers:
        other.send_join(version, kind=kind, protocols=protocols)
        refused = other.joined()
        assert (refused.error_code, refused.member_id) == (ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "")
        assert (refused.protocol_name, refused.leader) == (name, "")
    other.group = ""
    other.send_join(version)
    assert other.joined().error_code == ErrorCode.INVALID_GROUP_ID


def test_requests_that_are_not_right(member: Members) -> None:
    one = member()
    one.stable()
    assert one.beat(0) is ErrorCode.ILLEGAL_GENERATION
    assert one.sync(generation=9).error_code == ErrorCode.ILLEGAL_GENERATION
    assert one.sync(kind="connect").error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert one.sync(protocol="sticky").error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert one.sync(protocol=None).error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    known, one.member_id = one.member_id, "stranger"
    assert one.beat() is ErrorCode.UNKNOWN_MEMBER_ID
    assert one.sync().error_code == ErrorCode.UNKNOWN_MEMBER_ID
    for version in (0, 2):
        assert one.leave(version).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert one.leave().members[0].error_code == ErrorCode.UNKNOWN_MEMBER_ID
    one.member_id, one.group = known, ""
    assert one.beat() is ErrorCode.INVALID_GROUP_ID
    assert one.sync().error_code == ErrorCode.INVALID_GROUP_ID
    assert one.leave().error_code == ErrorCode.INVALID_GROUP_ID
    one.group = "nobody-has-this"
    assert one.beat() is ErrorCode.UNKNOWN_MEMBER_ID
    assert one.sync().error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert one.leave().members[0].error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_rebalance(member: Members) -> None:
    one, two = member(), member()
    one.stable()
    two.send_join()
    assert two.joined().error_code == ErrorCode.MEMBER_ID_REQUIRED
    two.send_join()
    while one.beat() is ErrorCode.NONE:
        pass
    assert one.beat() is ErrorCode.REBALANCE_IN_PROGRESS
    assert one.sync().error_code == ErrorCode.REBALANCE_IN_PROGRESS
    described = one.describe()
    assert (described.group_state, described.protocol_type, described.protocol_data) == (
        "PreparingRebalance",
        "consumer",
        "",
    )
    assert sorted(m.member_assignment for m in described.members) == [b"", b"all"]
    one.send_join()
    leader, other = one.joined(), two.joined()
    assert (leader.leader, other.leader, leader.generation_id) == (one.member_id, one.member_id, 2)
    assert {m.member_id for m in leader.members} == {one.member_id, two.member_id}
    assert other.members == []
    assert one.describe().group_state == "CompletingRebalance"
    assert one.beat() is ErrorCode.NONE
    again = one.join()
    assert (again.generation_id, len(again.members)) == (2, 2)


@pytest.mark.parametrize("version", [8, 9])
def test_static_members(member: Members, version: int) -> None:
    one = member("i")
    old = one.stable()
    again = member("i")
    back = again.join(version)
    assert (back.error_code, back.generation_id, back.skip_assignment) == (ErrorCode.NONE, 1, version >= 9)
    assert back.leader == (back.member_id if version >= 9 else old)
    reported = [(each.member_id, each.group_instance_id) for each in back.members]
    assert reported == ([(back.member_id, "i")] if version >= 9 else [])
    assert again.sync().assignment == b"all"
    assert one.beat() is ErrorCode.FENCED_INSTANCE_ID
    assert one.sync().error_code == ErrorCode.FENCED_INSTANCE_ID
    assert one.leave().members[0].error_code == ErrorCode.FENCED_INSTANCE_ID
    one.send_join(version)
    fenced = one.joined()
    assert (fenced.error_code, fenced.member_id, fenced.protocol_name) == (ErrorCode.FENCED_INSTANCE_ID, old, None)
    removed = again.leave(5, MemberIdentity("", "x"), MemberIdentity("", "i"), MemberIdentity("", None))
    assert [(m.member_id, m.group_instance_id, m.error_code) for m in removed.members] == [
        ("", "x", ErrorCode.UNKNOWN_MEMBER_ID),
        ("", "i", ErrorCode.NONE),
        ("", None, ErrorCode.UNKNOWN_MEMBER_ID),
    ]


@pytest.mark.parametrize("version", range(7))
def test_describing(member: Members, version: int) -> None:
    one = member("i")
    one.stable()
    group = one.describe(version)
    assert (group.error_code, group.group_state, group.protocol_type, group.protocol_data) == (
        ErrorCode.NONE,
        "Stable",
        "consumer",
        "range",
    )
    (described,) = group.members
    assert (described.client_id, described.client_host) == ("app", "/127.0.0.1")
    assert (described.member_metadata, described.member_assignment) == (b"meta", b"all")
    assert described.group_instance_id == ("i" if version >= 4 else None)
    for name in ("nobody-has-this", ""):
        dead = one.describe(version, name)
        error = ErrorCode.GROUP_ID_NOT_FOUND if version >= 6 else ErrorCode.NONE
        assert (dead.group_state, dead.error_code) == ("Dead", error)
        assert dead.error_message == (f"Group {name} not found." if error else None)


def test_deleting(member: Members) -> None:
    one = member()
    one.stable()

    def delete() -> int:
        return one.wire.call(DeleteGroupsRequest([one.group]), 2, DeleteGroupsResponse).results[0].error_code

    assert delete() == ErrorCode.NON_EMPTY_GROUP
    one.leave()
    assert delete() == ErrorCode.NONE
    assert delete() == ErrorCode.GROUP_ID_NOT_FOUND
    assert one.describe(5).group_state == "Dead"


def test_share_groups_are_of_another_kind(broker: BrokerUnderTest, member: Members, unique: Unique) -> None:
    topic = unique("topic")
    create_topic(broker.bootstrap, topic)
    one = member()

    def share(group: str) -> int:
        request = ShareGroupHeartbeatRequest(group, "m" * 22, 0, None, [topic])
        return one.wire.call(request, 1, ShareGroupHeartbeatResponse).error_code

    one.stable()
    assert share(one.group) == ErrorCode.GROUP_ID_NOT_FOUND
    one.leave()
    assert share(one.group) == ErrorCode.GROUP_ID_NOT_FOUND
    two = member()
    two.group = unique("shared")
    assert share(two.group) == ErrorCode.NONE
    two.send_join()
    refused = two.joined()
    assert (refused.error_code, refused.member_id) == (ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "")
    two.member_id, two.generation = "m" * 22, 1
    two.send_join()
    refused = two.joined()
    assert (refused.error_code, refused.member_id) == (ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "")
    assert two.beat() is ErrorCode.UNKNOWN_MEMBER_ID
    assert two.sync().error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert two.leave().members[0].error_code == ErrorCode.UNKNOWN_MEMBER_ID
    described = two.describe()
    assert (described.error_code, described.error_message) == (
        ErrorCode.GROUP_ID_NOT_FOUND,
        f"Group {two.group} is not a classic group.",
    )
