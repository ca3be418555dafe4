"""Consumer groups of both protocols, classic and KIP-848: members, committed offsets, and how these are changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from shareq.client.admin.calls import Calls, Outcome, Partition, answered, batched, refused
from shareq.client.core.list_offsets import by_topic
from shareq.client.errors import BrokerError, ClientError, UnsupportedApi
from shareq.protocol.errors import ErrorCode, MalformedMessage
from shareq.protocol.generated import consumer_group_describe, describe_groups
from shareq.protocol.generated.consumer_protocol_assignment import ConsumerProtocolAssignment
from shareq.protocol.generated.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from shareq.protocol.generated.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from shareq.protocol.generated.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
)
from shareq.protocol.primitives import Message

_BY_NAME: Final = 9
"""The last version of OffsetFetch and OffsetCommit that names topics."""
_SEVERAL_GROUPS: Final = 8
_MAY_BE_CLASSIC: Final = (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION)
"""Errors of ConsumerGroupDescribe for what may be a classic group. Apache Kafka 3.7 to 3.9 offers the request, and
answers UNSUPPORTED_VERSION to it where KIP-848 is not turned on.
"""
_NO_METADATA: Final[Mapping[Partition, str]] = {}


class ConsumerMember(NamedTuple):
    """A member of a consumer group. `assignment`: partitions by topic."""

    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    assignment: Mapping[str, tuple[int, ...]]


class ConsumerGroup(NamedTuple):
    """A group as its coordinator describes it. `kind`: consumer or classic; `epoch` is None for a classic group."""

    group_id: str
    kind: str
    state: str
    epoch: int | None
    assignor: str
    members: tuple[ConsumerMember, ...]


class Committed(NamedTuple):
    """A committed offset: the next record to consume."""

    offset: int
    leader_epoch: int
    metadata: str


CommittedOffsets = dict[Partition, Outcome[Committed]]


class ConsumerGroups:
    """The consumer groups of a cluster. `Groups` lists and deletes them."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def describe(self, group_ids: Iterable[str]) -> Iterator[tuple[str, Outcome[ConsumerGroup]]]:
        """Yield groups with their members.

        GROUP_ID_NOT_FOUND: there is no group of the name, or it is of another kind.
        """
        for some in batched(group_ids):
            found: dict[str, Outcome[ConsumerGroup]] = {}
            try:
                described = answered(consumer_group_describe.ConsumerGroupDescribeResponse, _described)
                found = self._calls.each_group(some, consumer_group_describe.ConsumerGroupDescribeRequest, described)
                classic = [each for each, outcome in found.items() if _is_missing(outcome)]
            except UnsupportedApi:  # a cluster before KIP-848 has classic groups alone
                classic = some
            if classic:
                described = answered(describe_groups.DescribeGroupsResponse, _described_classic)
                found |= self._calls.each_group(classic, describe_groups.DescribeGroupsRequest, described)
            yield from found.items()

    def offsets(self, group_ids: Iterable[str]) -> Iterator[tuple[str, Outcome[CommittedOffsets]]]:
        """Yield the committed offsets of groups. A group that does not exist has none."""

        def ask(ids: list[str]) -> Message:
            return OffsetFetchRequest(groups=[OffsetFetchRequestGroup(each, topics=None) for each in ids])

        for some in batched(group_ids, 50):
            committed = answered(OffsetFetchResponse, _committed)
            yield from self._calls.each_group(
                some, ask, committed, min_version=_SEVERAL_GROUPS, max_version=_BY_NAME
            ).items()

    def alter_offsets(
        self, group_id: str, offsets: Mapping[Partition, int], metadata: Mapping[Partition, str] = _NO_METADATA
    ) -> dict[Partition, Outcome[int]]:
        """Commit offsets for an empty group. The value is the offset. UNKNOWN_MEMBER_ID while it has members."""
        topics = [
            OffsetCommitRequestTopic(
                name,
                partitions=[
                    OffsetCommitRequestPartition(
                        number, offsets[name, number], committed_metadata=metadata.get((name, number), "")
                    )
                    for number in numbers
                ],
            )
            for name, numbers in by_topic(offsets).items()
        ]

        def take(answer: OffsetCommitResponse) -> Outcome[dict[Partition, Outcome[int]]]:
            rows: dict[Partition, Outcome[int]] = {
                (topic.name, row.partition_index): refused(
                    row.error_code, f"partition {topic.name}-{row.partition_index} of group {group_id}"
                )
                or offsets[topic.name, row.partition_index]
                for topic in answer.topics
                for row in topic.partitions
            }
            return _moved(rows) or rows

        request = OffsetCommitRequest(group_id, topics=topics)
        return self._calls.group(group_id, request, OffsetCommitResponse, take, max_version=_BY_NAME)

    def delete_offsets(self, group_id: str, partitions: Iterable[Partition]) -> dict[Partition, Outcome[bool]]:
        """Let a group forget partitions to which none of its members subscribes (else GROUP_SUBSCRIBED_TO_TOPIC)."""

        def take(answer: OffsetDeleteResponse) -> Outcome[dict[Partition, Outcome[bool]]]:
            return refused(answer.error_code, f"group {group_id}") or {
                (topic.name, row.partition_index): refused(
                    row.error_code, f"partition {topic.name}-{row.partition_index} of group {group_id}"
                )
                or True
                for topic in answer.topics
                for row in topic.partitions
            }

        topics = [
            OffsetDeleteRequestTopic(name, [OffsetDeleteRequestPartition(number) for number in numbers])
            for name, numbers in by_topic(partitions).items()
        ]
        return self._calls.group(group_id, OffsetDeleteRequest(group_id, topics), OffsetDeleteResponse, take)


_MOVED: Final = frozenset(
    {
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    }
)


def _moved(rows: Mapping[Partition, Outcome[int]]) -> ClientError | None:
    """Return the first error in a commit's rows that concerns the whole group; None if there is none."""
    return next((each for each in rows.values() if isinstance(each, BrokerError) and each.code in _MOVED), None)


def _is_missing(outcome: Outcome[ConsumerGroup]) -> bool:
    return isinstance(outcome, BrokerError) and outcome.code in _MAY_BE_CLASSIC


def _described(answer: consumer_group_describe.ConsumerGroupDescribeResponse) -> dict[str, Outcome[ConsumerGroup]]:
    found: dict[str, Outcome[ConsumerGroup]] = {}
    for row in answer.groups:
        members = [
            ConsumerMember(
                member.member_id,
                member.instance_id,
                member.client_id,
                member.client_host.removeprefix("/"),
                {
                    topic.topic_name: tuple(topic.partitions)
                    for topic in (member.assignment.topic_partitions if member.assignment else ())
                },
            )
            for member in row.members
        ]
        error = refused(row.error_code, f"group {row.group_id}", row.error_message)
        found[row.group_id] = error or ConsumerGroup(
            row.group_id, "consumer", row.group_state, row.group_epoch, row.assignor_name, tuple(members)
        )
    return found


def _described_classic(answer: describe_groups.DescribeGroupsResponse) -> dict[str, Outcome[ConsumerGroup]]:
    found: dict[str, Outcome[ConsumerGroup]] = {}
    for row in answer.groups:
        code = row.error_code or (ErrorCode.GROUP_ID_NOT_FOUND if row.group_state == "Dead" else 0)
        members = [
            ConsumerMember(
                member.member_id,
                member.group_instance_id,
                member.client_id,
                member.client_host.removeprefix("/"),
                _assigned(member.member_assignment),
            )
            for member in row.members
        ]
        found[row.group_id] = refused(code, f"group {row.group_id}", row.error_message) or ConsumerGroup(
            row.group_id, "classic", row.group_state, None, row.protocol_data, tuple(members)
        )
    return found


def _assigned(data: bytes) -> dict[str, tuple[int, ...]]:
    """Return the partitions of a classic member; none if its bytes are of another protocol than consumers'."""
    if not data:
        return {}
    try:
        version = min(int.from_bytes(data[:2]), ConsumerProtocolAssignment.MAX_VERSION)
        assignment, _ = ConsumerProtocolAssignment.decode(data, version, 2)
    except MalformedMessage:
        return {}
    return {row.topic: tuple(row.partitions) for row in assignment.assigned_partitions}


def _committed(answer: OffsetFetchResponse) -> dict[str, Outcome[CommittedOffsets]]:
    found: dict[str, Outcome[CommittedOffsets]] = {}
    for group in answer.groups:
        found[group.group_id] = refused(group.error_code, f"group {group.group_id}") or {
            (topic.name, row.partition_index): refused(
                row.error_code, f"partition {topic.name}-{row.partition_index} of group {group.group_id}"
            )
            or Committed(row.committed_offset, row.committed_leader_epoch, row.metadata or "")
            for topic in group.topics
            for row in topic.partitions
            if row.committed_offset >= 0 or row.error_code
        }
    return found
