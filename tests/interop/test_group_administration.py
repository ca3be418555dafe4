"""The answers to administrators of share groups, on raw connections, as Apache Kafka gives them.

Run with `--broker=apache` to check the expectations themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from devtools.clients.requests import batch, create_topic, produce
from devtools.clients.wire import WireClient
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
    AlterShareGroupOffsetsResponse,
)
from shareq.protocol.generated.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from shareq.protocol.generated.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
    DeleteShareGroupOffsetsResponse,
)
from shareq.protocol.generated.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
    DescribeShareGroupOffsetsResponse,
)
from shareq.protocol.generated.list_config_resources import ListConfigResourcesRequest, ListConfigResourcesResponse
from shareq.protocol.generated.list_groups import ListGroupsRequest, ListGroupsResponse
from shareq.protocol.generated.share_group_describe import (
    DescribedGroup,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
)
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.support.share_wire import Member, append, begin_at

NONE = ErrorCode.NONE
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@dataclass(slots=True)
class Admin:
    """A connection; a topic of two partitions with 10 records each, where the group begins at 3 and 10; an empty
    topic.
    """

    client: WireClient
    group: str
    topic: str
    other: str
    topic_id: bytes = b""

    def listed(self, version: int, states: list[str] | None = None, types: list[str] | None = None) -> list[str]:
        answer = self.client.call(ListGroupsRequest(states or [], types or []), version, ListGroupsResponse)
        assert answer.error_code == NONE
        found = [group for group in answer.groups if group.group_id == self.group]
        assert all(group.protocol_type == "share" for group in found)
        return [text for group in found for text in (group.group_state, group.group_type)]

    def alter(self, *offsets: tuple[str, int, int], group: str | None = None) -> int | list[int]:
        """Return the error of the request, or of each partition. `offsets`: topic, partition, offset."""
        topics = [
            AlterShareGroupOffsetsRequestTopic(name, [AlterShareGroupOffsetsRequestPartition(partition, offset)])
            for name, partition, offset in offsets
        ]
        request = AlterShareGroupOffsetsRequest(self.group if group is None else group, topics)
        answer = self.client.call(request, 0, AlterShareGroupOffsetsResponse)
        rows = {(t.topic_name, one.partition_index): one.error_code for t in answer.responses for one in t.partitions}
        return answer.error_code or [rows[name, partition] for name, partition, _ in offsets]

    def described(self, topics: dict[str, list[int]] | None = None, version: int = 1) -> dict[str, tuple[int, int]]:
        """Return start offset and lag by "topic-partition"; no row may have an error."""
        named = None
        if topics is not None:
            named = [DescribeShareGroupOffsetsRequestTopic(name, partitions) for name, partitions in topics.items()]
        request = DescribeShareGroupOffsetsRequest([DescribeShareGroupOffsetsRequestGroup(self.group, named)])
        (group,) = self.client.call(request, version, DescribeShareGroupOffsetsResponse).groups
        assert (group.error_code, group.error_message) == (NONE, None)
        rows = [(topic.topic_name, one) for topic in group.topics for one in topic.partitions]
        assert {(one.error_code, one.error_message) for _, one in rows} <= {(NONE, None)}
        return {f"{name}-{one.partition_index}": (one.start_offset, one.lag) for name, one in rows}

    def delete_offsets(self, *names: str, group: str | None = None) -> int | dict[str, int]:
        topics = [DeleteShareGroupOffsetsRequestTopic(name) for name in names]
        request = DeleteShareGroupOffsetsRequest(self.group if group is None else group, topics)
        answer = self.client.call(request, 0, DeleteShareGroupOffsetsResponse)
        return answer.error_code or {row.topic_name: row.error_code for row in answer.responses}

    def delete(self, *groups: str, version: int = 2) -> dict[str, int]:
        answer = self.client.call(DeleteGroupsRequest(list(groups)), version, DeleteGroupsResponse)
        return {result.group_id: result.error_code for result in answer.results}


@pytest.fixture
def admin(broker: BrokerUnderTest, unique: Callable[[str], str]) -> Iterator[Admin]:
    with ExitStack() as stack:
        client = stack.enter_context(WireClient(("127.0.0.1", broker.port)))
        admin = Admin(client, unique("group"), unique("topic"), unique("other"))
        admin.topic_id = create_topic(client, admin.topic, 2)
        create_topic(client, admin.other)
        append(client, admin.topic, 10)
        append(client, admin.topic, 10, partition=1)
        append(client, admin.other, 1)
        begin_at(client, admin.group, admin.topic, [3, 10])
        yield admin


def test_listing(admin: Admin) -> None:
    for version in range(6):
        assert admin.listed(version) == ["Empty" if version > 3 else "", "share" if version > 4 else ""]
    assert admin.listed(4, ["EMPTY"]) == ["Empty", ""]
    assert admin.listed(4, [" empty "]) == ["Empty", ""]
    assert admin.listed(4, ["Stable", "nonsense"]) == []
    assert admin.listed(5, [""]) == admin.listed(5, [], [" share "]) == admin.listed(5, [], [""]) == []
    assert admin.listed(5, ["empty"], ["Share"]) == ["Empty", "share"]
    assert admin.listed(5, [], ["classic", "nonsense"]) == []


def test_describing_groups(admin: Admin) -> None:
    """Each group is described separately, with rights only if requested; without ACLs, all rights."""

    def described(*groups: str, operations: bool = False) -> list[DescribedGroup]:
        request = ShareGroupDescribeRequest(list(groups), operations)
        return admin.client.call(request, 1, ShareGroupDescribeResponse).groups

    (group,) = described(admin.group)
    assert (group.error_code, group.error_message, group.group_state) == (NONE, None, "Empty")
    assert (group.group_epoch, group.assignment_epoch, group.assignor_name, group.members) == (1, 1, "simple", [])
    assert group.authorized_operations == -(2**31)
    (group,) = described(admin.group, operations=True)
    assert group.authorized_operations == sum(1 << operation for operation in (3, 6, 8, 10, 11))
    found = {group.group_id: group for group in described("no-such-group", admin.group, "", operations=True)}
    assert found["no-such-group"].error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert found["no-such-group"].error_message == "Group no-such-group not found."
    assert found[""].error_code == ErrorCode.INVALID_GROUP_ID
    assert found[admin.group].error_code == NONE
    member = Member(admin.client, admin.group, "member", admin.topic_id)
    member.join([admin.topic])
    (group,) = described(admin.group)
    assert (group.group_state, group.group_epoch, group.assignment_epoch) == ("Stable", *[member.member_epoch] * 2)
    (one,) = group.members
    assert (one.member_id, one.rack_id, one.client_id, one.client_host) == ("member", None, "wire-test", "/127.0.0.1")
    assert (one.member_epoch, one.subscribed_topic_names) == (member.member_epoch, [admin.topic])
    (assigned,) = one.assignment.topic_partitions
    assert (assigned.topic_id, assigned.topic_name, sorted(assigned.partitions)) == (
        admin.topic_id,
        admin.topic,
        [0, 1],
    )


def test_describing(admin: Admin) -> None:
    rows = {f"{admin.topic}-0": (3, 7), f"{admin.topic}-1": (10, 0)}
    assert admin.described() == rows
    assert admin.described(version=0) == {at: (start, -1) for at, (start, _) in rows.items()}
    assert admin.described({}) == {}
    asked = {admin.topic: [1], admin.other: [0], "no-such-topic": [0]}
    twice = DescribeShareGroupOffsetsRequestTopic(admin.topic, [1, 1])
    request = DescribeShareGroupOffsetsRequest([DescribeShareGroupOffsetsRequestGroup(admin.group, [twice, twice])])
    (group,) = admin.client.call(request, 1, DescribeShareGroupOffsetsResponse).groups
    assert [one.partition_index for topic in group.topics for one in topic.partitions] == [1]
    nothing = {f"{admin.other}-0": (-1, -1), "no-such-topic-0": (-1, -1)}
    assert admin.described(asked) == {f"{admin.topic}-1": (10, 0), **nothing}


def test_altering(admin: Admin) -> None:
    assert admin.alter((admin.topic, 0, 5), (admin.topic, 2, 0), ("no-such-topic", 0, 0)) == [NONE, UNKNOWN, UNKNOWN]
    assert admin.described()[f"{admin.topic}-0"] == (5, 5)
    assert admin.alter((admin.topic, 0, 1000), (admin.topic, 1, -1)) == [NONE, NONE]
    assert admin.described() == {f"{admin.topic}-0": (1000, -990), f"{admin.topic}-1": (-1, -1)}
    assert admin.alter() == []
    assert admin.alter((admin.topic, 0, 1), group="") == ErrorCode.INVALID_GROUP_ID


def test_deleting_offsets(admin: Admin) -> None:
    deleted = admin.delete_offsets(admin.topic, admin.other, "no-such-topic")
    assert deleted == {admin.topic: NONE, admin.other: UNKNOWN, "no-such-topic": UNKNOWN}
    assert admin.described() == {}
    assert admin.delete_offsets(admin.topic) == {admin.topic: UNKNOWN}
    assert admin.delete_offsets(admin.topic, group="no-such-group") == ErrorCode.GROUP_ID_NOT_FOUND
    assert admin.delete_offsets(admin.topic, group="") == ErrorCode.INVALID_GROUP_ID
    assert admin.listed(5) == ["Empty", "share"]


def test_a_group_with_members_is_not_changed(admin: Admin) -> None:
    member = Member(admin.client, admin.group, "member", admin.topic_id)
    member.join([admin.topic])
    assert admin.listed(5) == ["Stable", "share"]
    refused = ErrorCode.NON_EMPTY_GROUP
    assert admin.alter((admin.topic, 0, 5)) == refused
    assert admin.alter() == refused
    assert admin.delete_offsets(admin.topic) == refused
    assert admin.delete(admin.group, "no-such-group") == {
        admin.group: refused,
        "no-such-group": ErrorCode.GROUP_ID_NOT_FOUND,
    }
    assert admin.described()[f"{admin.topic}-0"] == (3, 7)


@pytest.mark.parametrize("version", range(3))
def test_deleting_groups(admin: Admin, version: int) -> None:
    assert admin.delete(admin.group, "no-such-group", "", version=version) == {
        admin.group: NONE,
        "no-such-group": ErrorCode.GROUP_ID_NOT_FOUND,
        "": ErrorCode.GROUP_ID_NOT_FOUND,
    }
    assert admin.listed(5) == []
    assert admin.described() == {}
    assert admin.described({admin.topic: [0]}) == {f"{admin.topic}-0": (-1, -1)}


def test_resources_that_can_be_configured(admin: Admin) -> None:
    def listed(types: list[int], version: int = 1) -> tuple[int, set[tuple[int, str]]]:
        answer = admin.client.call(ListConfigResourcesRequest(types), version, ListConfigResourcesResponse)
        return answer.error_code, {(one.resource_type, one.resource_name) for one in answer.config_resources}

    assert listed([], 0) == (NONE, set())
    error, everything = listed([])
    assert error == NONE
    assert {(2, admin.topic), (2, admin.other), (4, "1"), (8, "1")} <= everything
    assert listed([4, 4]) == (NONE, {(4, "1")})
    assert listed([16]) == (NONE, set())
    assert (32, admin.group) not in everything
    assert listed([2, 3]) == (ErrorCode.UNSUPPORTED_VERSION, set())


@pytest.mark.parametrize("acks", [1, -1])
def test_more_in_sync_replicas_than_there_can_be_are_not_waited_for(
    admin: Admin, unique: Callable[[str], str], acks: int
) -> None:
    """min.insync.replicas is capped at the topic's replication factor (KIP-966)."""
    topic = unique("replicas")
    create_topic(admin.client, topic, 1, {"min.insync.replicas": "2"})
    append(admin.client, topic, 1)
    answer = produce(admin.client, topic, batch(b"value"), acks=acks)
    assert (answer.error_code, answer.base_offset) == (NONE, 1)
