"""A client that joins endlessly, one that fills `group.share.max.groups`, and others beside them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Final

import pytest

from devtools.clients.requests import create_topic
from devtools.clients.wire import WireClient
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse
from shareq.protocol.generated.consumer_protocol_subscription import ConsumerProtocolSubscription
from shareq.protocol.generated.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from shareq.protocol.generated.join_group import JoinGroupResponse
from shareq.protocol.generated.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from shareq.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from shareq.testing import Broker
from tests.support.kafka.group_requests import consumer_heartbeat, join_request

FULL: Final = ErrorCode.GROUP_MAX_SIZE_REACHED
NONE: Final = ErrorCode.NONE
MOST: Final = 3

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere 127.0.0.2 is no address")


def join(client: WireClient, group: str, _member: str) -> int:
    error = client.call(join_request(group), 5, JoinGroupResponse).error_code
    return NONE if error == ErrorCode.MEMBER_ID_REQUIRED else error


def join_static(client: WireClient, group: str, member: str) -> int:
    return client.call(join_request(group, instance=member), 5, JoinGroupResponse).error_code


def consume(client: WireClient, group: str, member: str) -> int:
    return client.call(consumer_heartbeat(group, member, topics=["t"]), 1, ConsumerGroupHeartbeatResponse).error_code


def share(client: WireClient, group: str, member: str, epoch: int = 0) -> int:
    request = ShareGroupHeartbeatRequest(
        group_id=group, member_id=member, member_epoch=epoch, subscribed_topic_names=["t"]
    )
    return client.call(request, 1, ShareGroupHeartbeatResponse).error_code


Join = Callable[[WireClient, str, str], int]
BY: Final[dict[str, Join]] = {"classic": join, "consumer": consume, "share": share}


@pytest.mark.parametrize("by", BY)
def test_the_greedy_one_gets_no_more_members_and_others_do(by: str) -> None:
    one_joins = BY[by]
    config = {"shareq.max.members.per.principal": str(MOST)}
    with (
        Broker(config=config, mode="thread") as broker,
        WireClient(broker.address) as greedy,
        WireClient(broker.address) as greedy_too,
        WireClient(broker.address, source="127.0.0.2") as honest,
    ):
        create_topic(honest, "t")
        assert [one_joins(greedy, by, f"m{i}") for i in range(MOST)] == [NONE] * MOST
        refused = {kind: join_it(greedy_too, kind, "another") for kind, join_it in BY.items()}
        assert refused == dict.fromkeys(BY, FULL)
        if by != "classic":
            assert one_joins(greedy, by, "m0") == NONE  # it is a member already
        assert one_joins(honest, by, "mine") == NONE
        assert one_joins(honest, "elsewhere", "mine") == NONE


def test_ids_that_a_client_makes_up_are_members_of_consumer_groups_too() -> None:
    """KIP-848: a JoinGroup to a consumer group is accepted with any member id."""
    with (
        Broker(config={"shareq.max.members.per.principal": str(MOST)}, mode="thread") as broker,
        WireClient(broker.address) as greedy,
        WireClient(broker.address, source="127.0.0.2") as honest,
    ):
        create_topic(honest, "t")
        assert consume(honest, "g", "m") == NONE
        subscription = bytearray((0, 0))  # its version
        ConsumerProtocolSubscription(topics=["t"]).encode_into(subscription, 0)

        def join_as(client: WireClient, member_id: str) -> int:
            request = join_request("g", member_id, {"range": bytes(subscription)})
            return client.call(request, 5, JoinGroupResponse).error_code

        assert [join_as(greedy, f"made-up-{i}") for i in range(MOST + 1)] == [NONE] * MOST + [FULL]
        assert join_as(greedy, "made-up-0") == NONE
        assert join_as(honest, "mine") == NONE
        assert join(honest, "classic", "") == NONE
        unknown = honest.call(join_request("classic", "made-up"), 5, JoinGroupResponse)  # which takes none
        assert unknown.error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_members_that_leave_make_room_and_static_ones_come_back() -> None:
    config = {"shareq.max.members.per.principal": "1", "group.initial.rebalance.delay.ms": "0"}
    with Broker(config=config, mode="thread") as broker, WireClient(broker.address) as client:
        create_topic(client, "t")
        first = client.call(join_request("g", instance="i"), 5, JoinGroupResponse)
        assert first.error_code == NONE
        assert share(client, "s", "m") == FULL
        again = client.call(join_request("g", instance="i"), 5, JoinGroupResponse)  # a restart of that member
        assert again.error_code == NONE
        assert again.member_id != first.member_id
        assert join_static(client, "g", "another") == FULL
        leave = LeaveGroupRequest(group_id="g", members=[MemberIdentity(group_instance_id="i")])
        assert client.call(leave, 3, LeaveGroupResponse).members[0].error_code == NONE
        # The owner's names were looked through less than a second ago.
        while (error := share(client, "s", "m")) == FULL:
            pass
        assert error == NONE


def test_an_owner_that_fills_all_places_for_share_groups_leaves_others_their_part() -> None:
    with (
        Broker(config={"group.share.max.groups": "4"}, mode="thread") as broker,
        WireClient(broker.address) as greedy,
        WireClient(broker.address, source="127.0.0.2") as honest,
        WireClient(broker.address, source="127.0.0.3") as another,
    ):
        create_topic(honest, "t")
        assert [share(greedy, f"g{i}", "m") for i in range(5)] == [NONE] * 4 + [FULL]
        assert [share(honest, f"h{i}", "m") for i in range(3)] == [NONE, NONE, FULL]
        assert [share(another, f"a{i}", "m") for i in range(2)] == [NONE, FULL]
        assert share(greedy, "g", "m") == FULL
        assert share(greedy, "g0", "n") == NONE  # which exists
        for group in ("h0", "h1"):
            assert share(honest, group, "m", epoch=-1) == NONE
        gone = honest.call(DeleteGroupsRequest(["h0", "h1"]), 2, DeleteGroupsResponse).results
        assert [each.error_code for each in gone] == [NONE, NONE]
        assert share(greedy, "g", "m") == FULL
        assert share(honest, "h", "m") == NONE
