"""Classic groups over frames: every version, restarts, other kinds of group, and an unwritable log."""

from __future__ import annotations

import pytest

from devtools.in_memory.mock_transport import BrokerWorld
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from shareq.protocol.generated.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from shareq.protocol.generated.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from shareq.protocol.generated.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from shareq.protocol.generated.list_groups import ListGroupsRequest, ListGroupsResponse
from shareq.protocol.generated.sync_group import SyncGroupRequest, SyncGroupResponse
from tests.support.clients.classic_client import INITIAL_DELAY_MS, ClassicClient, describe, form, settle
from tests.support.clients.share_client import ShareClient


def delete(world: BrokerWorld, group: str = "g") -> ErrorCode:
    answer = world.connect().call(DeleteGroupsRequest([group]), 2, DeleteGroupsResponse)
    return ErrorCode(answer.results[0].error_code)


def listed(world: BrokerWorld, *states: str) -> list[tuple[str, str, str, str]]:
    answer = world.connect().call(ListGroupsRequest(list(states), ["classic"]), 5, ListGroupsResponse)
    return [(each.group_id, each.protocol_type, each.group_state, each.group_type) for each in answer.groups]


@pytest.mark.parametrize("join", range(10))
@pytest.mark.parametrize(
    ("sync", "heartbeat", "leave"), [(0, 0, 0), (1, 1, 1), (2, 2, 2), (3, 3, 3), (4, 4, 4), (5, 4, 5)]
)
def test_a_life_in_every_version(join: int, sync: int, heartbeat: int, leave: int, world: BrokerWorld) -> None:
    one, two = (
        ClassicClient(world, join=join, sync=sync, heartbeat=heartbeat, leave=leave, client_id=name) for name in "ab"
    )
    form([one, two])
    assert one.leader == two.leader == one.member_id
    assert one.member_id.startswith("a-")
    assert len(one.member_id) == len("a-") + 36
    assert (one.heartbeat(), two.heartbeat()) == (ErrorCode.NONE, ErrorCode.NONE)
    assert one.leave().error_code == ErrorCode.NONE
    assert two.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    two.begin()
    assert two.joined().leader == two.member_id
    settle([two])
    assert two.generation == 2
    assert two.leave().error_code == ErrorCode.NONE
    assert describe(world).group_state == "Empty"


@pytest.mark.parametrize("version", range(10))
def test_a_refused_join_can_be_written_in_every_version(version: int, world: BrokerWorld) -> None:
    """Before version 7 the protocol name must not be null."""
    client = ClassicClient(world, join=version)
    client.member_id = "stranger"
    form([ClassicClient(world)])
    client.send_join()
    response = client.joined()
    assert (response.error_code, response.member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, "stranger")
    assert response.protocol_name == (None if version >= 7 else "")


@pytest.mark.parametrize("join", [3, 5, 9])  # 4 and later hand the id out first, 5 and later know instance ids
@pytest.mark.parametrize("letter", ["x", "é", "\U0001f4a9"])
def test_a_member_whose_name_is_as_long_as_a_string_can_be(join: int, letter: str, world: BrokerWorld) -> None:
    longest = letter * (32_767 // len(letter.encode()))
    member = ClassicClient(world, join=join, client_id=longest, instance=longest if join >= 5 else None)
    form([member])
    assert member.heartbeat() is ErrorCode.NONE
    assert member.member_id.startswith(letter * 8_000 + "-")


@pytest.mark.parametrize(("join", "sync"), [(5, 3), (8, 4), (9, 5)])
def test_a_static_member_starts_again(join: int, sync: int, world: BrokerWorld) -> None:
    one, two = (ClassicClient(world, instance=name, join=join, sync=sync) for name in "ij")
    form([one, two])
    again = ClassicClient(world, instance="j", join=join, sync=sync)
    again.begin()
    assert (again.joined().error_code, again.generation) == (ErrorCode.NONE, 1)
    assert again.sync().assignment == two.member_id.encode()
    assert two.heartbeat() is ErrorCode.FENCED_INSTANCE_ID
    assert one.heartbeat() is ErrorCode.NONE


def test_from_version_5_a_sync_names_the_protocol(world: BrokerWorld) -> None:
    member = ClassicClient(world)
    form([member])
    for kind, name in ((None, "range"), ("consumer", None)):
        request = SyncGroupRequest("g", 1, member.member_id, None, kind, name)
        answer = member.connection.call(request, 5, SyncGroupResponse)
        assert answer.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_an_administrator_removes_members(world: BrokerWorld) -> None:
    members = [ClassicClient(world, instance=name) for name in "ijk"]
    form(members)
    request = LeaveGroupRequest(
        "g", members=[MemberIdentity("", "i"), MemberIdentity("", "x"), MemberIdentity("", "k")]
    )
    answer = world.connect().call(request, 5, LeaveGroupResponse)
    assert answer.error_code == ErrorCode.NONE
    assert [(m.group_instance_id, m.error_code) for m in answer.members] == [
        ("i", ErrorCode.NONE),
        ("x", ErrorCode.UNKNOWN_MEMBER_ID),
        ("k", ErrorCode.NONE),
    ]
    assert members[0].heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID


# -- administration


@pytest.mark.parametrize("version", range(7))
def test_a_stable_group_is_described_in_every_version(version: int, world: BrokerWorld) -> None:
    member = ClassicClient(world, instance="i", client_id="app")
    form([member], protocols={"range": b"topics"})
    group = describe(world, version=version)
    assert (group.error_code, group.group_state) == (ErrorCode.NONE, "Stable")
    assert (group.protocol_type, group.protocol_data) == ("consumer", "range")
    (described,) = group.members
    assert (described.member_id, described.client_id, described.client_host) == (member.member_id, "app", "/127.0.0.1")
    assert (described.member_metadata, described.member_assignment) == (b"topics", member.member_id.encode())
    assert described.group_instance_id == ("i" if version >= 4 else None)


@pytest.mark.parametrize("version", range(7))
@pytest.mark.parametrize("group_id", ["h", ""])
def test_a_group_that_is_not_there_is_dead(version: int, group_id: str) -> None:
    for world in (BrokerWorld(), BrokerWorld()):
        group = describe(world, group_id, version)
        assert (group.group_state, group.group_id) == ("Dead", group_id)
        error = ErrorCode.GROUP_ID_NOT_FOUND if version >= 6 else ErrorCode.NONE
        assert (group.error_code, group.error_message) == (error, f"Group {group_id} not found." if error else None)
        form([ClassicClient(world)])


def test_authorized_operations_when_asked_for(world: BrokerWorld) -> None:
    form([ClassicClient(world)])
    answer = world.connect().call(DescribeGroupsRequest(["g", "h"], True), 6, DescribeGroupsResponse)
    assert [group.authorized_operations for group in answer.groups] == [0b110101001000, -(2**31)]


def test_only_an_empty_group_is_deleted(world: BrokerWorld) -> None:
    member = ClassicClient(world)
    form([member])
    assert delete(world) is ErrorCode.NON_EMPTY_GROUP
    member.leave()
    assert delete(world) is ErrorCode.NONE
    assert delete(world) is ErrorCode.GROUP_ID_NOT_FOUND
    assert listed(world) == []
    world.restart()
    assert listed(world) == []


# -- other kinds of group


def test_a_classic_member_cannot_join_a_share_group(world: BrokerWorld) -> None:
    """KIP-932: a group id has one kind; other protocols are refused."""
    world.create_topic("t")
    share = ShareClient(world)
    share.join("t")
    for version in range(10):
        client = ClassicClient(world, join=version)
        client.send_join()
        response = client.joined()
        assert (response.error_code, response.member_id) == (ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "")
    client.member_id, client.generation, client.protocol = "m", 2, "range"
    assert client.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    assert client.sync().error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert client.leave().members[0].error_code == ErrorCode.UNKNOWN_MEMBER_ID
    group = describe(world)
    assert (group.error_code, group.error_message) == (
        ErrorCode.GROUP_ID_NOT_FOUND,
        "Group g is not a classic group.",
    )
    share.leave()
    client.member_id = ""
    client.send_join()
    assert client.joined().error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "also while it is empty"


def test_a_share_member_cannot_join_a_classic_group(world: BrokerWorld) -> None:
    world.create_topic("t")
    member = ClassicClient(world)
    form([member])
    share = ShareClient(world)
    assert share.heartbeat("t", epoch=0).error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert share.describe().error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert member.heartbeat() is ErrorCode.NONE
    member.leave()
    assert share.heartbeat("t", epoch=0).error_code == ErrorCode.GROUP_ID_NOT_FOUND, "also while it is empty"
    assert delete(world) is ErrorCode.NONE
    assert share.heartbeat("t", epoch=0).error_code == ErrorCode.NONE


# -- restarts


def test_who_waits_when_the_broker_stops_is_answered(world: BrokerWorld) -> None:
    one, two = ClassicClient(world), ClassicClient(world)
    form([one, two])
    one.begin()
    assert one.waits
    world.broker.stop_waiting()
    assert one.joined().error_code == ErrorCode.NOT_COORDINATOR


def test_a_connection_that_goes_away_while_it_waits(world: BrokerWorld) -> None:
    one, two = ClassicClient(world), ClassicClient(world)
    one.begin()
    two.begin()
    one.connection.disconnect()
    world.clock.advance(2 * INITIAL_DELAY_MS)
    assert two.joined().error_code == ErrorCode.NONE
    two.send_sync()
    world.clock.advance(10_000)  # it led, and its session is over
    assert two.synced().error_code == ErrorCode.REBALANCE_IN_PROGRESS
    two.begin()
    assert two.joined().leader == two.member_id


# -- configuration


def test_the_brokers_properties_count() -> None:
    world = BrokerWorld(
        {
            "group.min.session.timeout.ms": "100",
            "group.max.session.timeout.ms": "200",
            "group.initial.rebalance.delay.ms": "0",
            "group.max.size": "1",
        }
    )
    one, two = ClassicClient(world), ClassicClient(world)
    for session_ms in (99, 201):
        one.send_join(session_ms=session_ms)
        assert one.joined().error_code == ErrorCode.INVALID_SESSION_TIMEOUT
    one.begin(session_ms=100)
    world.clock.advance(0)
    assert one.joined().error_code == ErrorCode.NONE
    two.send_join(session_ms=200)
    assert two.joined().error_code == ErrorCode.GROUP_MAX_SIZE_REACHED


def test_the_topic_that_cannot_be_made() -> None:
    world = BrokerWorld({"offsets.topic.replication.factor": "3"})
    member = ClassicClient(world)
    member.send_join()
    assert member.joined().error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    member.member_id, member.generation, member.protocol = "m", 1, "range"
    assert member.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    assert member.sync().error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert member.leave().members[0].error_code == ErrorCode.UNKNOWN_MEMBER_ID
    member.group = ""
    assert member.heartbeat() is ErrorCode.INVALID_GROUP_ID
    assert member.sync().error_code == ErrorCode.INVALID_GROUP_ID
    assert member.leave().error_code == ErrorCode.INVALID_GROUP_ID


def test_a_client_without_a_name(world: BrokerWorld) -> None:
    request = JoinGroupRequest("g", 10_000, 60_000, "", None, "consumer", [JoinGroupRequestProtocol("range", b"")])
    answer = world.connect(client_id=None).call(request, 9, JoinGroupResponse)
    assert answer.error_code == ErrorCode.MEMBER_ID_REQUIRED
