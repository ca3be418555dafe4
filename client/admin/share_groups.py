"""Share groups (KIP-932): members, start offsets, lag, changes of offsets, and paused groups."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from shareq.client.admin.calls import Calls, Outcome, Partition, answered, batched, only, refused
from shareq.client.admin.configs import Change, Configs
from shareq.client.core.list_offsets import by_topic
from shareq.client.errors import ClientError
from shareq.protocol.generated.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
    AlterShareGroupOffsetsResponse,
)
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
from shareq.protocol.generated.share_group_describe import (
    DescribedGroup,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
)
from shareq.protocol.names import NOT_PAUSED, PAUSED
from shareq.protocol.primitives import ZERO_UUID, Message


class ShareMember(NamedTuple):
    """A member of a share group. `assignment`: partitions by topic."""

    member_id: str
    client_id: str
    host: str
    rack: str | None
    epoch: int
    subscriptions: tuple[str, ...]
    assignment: Mapping[str, tuple[int, ...]]


class ShareGroup(NamedTuple):
    """A share group as its coordinator describes it."""

    group_id: str
    state: str
    epoch: int
    assignment_epoch: int
    assignor: str
    members: tuple[ShareMember, ...]


class SharePosition(NamedTuple):
    """The position of a share group in a partition.

    `start`: the first unfinished offset; None if the group has not begun there, or has acquired records and finished
    none. `lag`: unfinished records; None if the broker does not report it: Apache Kafka without a start, shareq only
    before the group has begun.
    """

    start: int | None
    leader_epoch: int
    lag: int | None
    topic_id: bytes = ZERO_UUID


Positions = dict[Partition, Outcome[SharePosition]]


class ShareGroups:
    """The share groups of a cluster. `Groups` lists and deletes them."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def describe(self, group_ids: Iterable[str]) -> Iterator[tuple[str, Outcome[ShareGroup]]]:
        """Yield groups with their members.

        GROUP_ID_NOT_FOUND: there is no group of the name, or it is of another kind.
        """
        for some in batched(group_ids):
            described = answered(ShareGroupDescribeResponse, _described)
            yield from self._calls.each_group(some, ShareGroupDescribeRequest, described).items()

    def offsets(
        self, group_ids: Iterable[str], topics: Mapping[str, Collection[int]] | None = None
    ) -> Iterator[tuple[str, Outcome[Positions]]]:
        """Yield the groups' positions in partitions of `topics`, or in all that they have begun.

        The stored positions trail the members' acknowledgements by one write. A group that does not exist has begun
        nowhere.
        """
        ask, take = _question(topics), answered(DescribeShareGroupOffsetsResponse, _positions)
        for some in batched(group_ids, 50):
            yield from self._calls.each_group(some, ask, take).items()

    def all_offsets(
        self, group_id: str, topics: Mapping[str, Collection[int]] | None = None
    ) -> dict[Partition, SharePosition]:
        """Return the `offsets` of one group; an error of one partition is retried, or raised, for the whole group."""

        def take(answer: DescribeShareGroupOffsetsResponse) -> dict[Partition, SharePosition]:
            with_errors = only(_positions(answer), group_id)
            return {each: only(with_errors, each) for each in with_errors}

        request = _question(topics)([group_id])
        return self._calls.group(group_id, request, DescribeShareGroupOffsetsResponse, take)

    def alter_offsets(self, group_id: str, offsets: Mapping[Partition, int]) -> dict[Partition, Outcome[int]]:
        """Let an empty group begin at these offsets. The value is the offset. NON_EMPTY_GROUP while it has members."""
        return self._calls.group(group_id, *alteration(group_id, offsets))

    def delete_offsets(self, group_id: str, topics: Sequence[str]) -> dict[str, Outcome[bool]]:
        """Let an empty group forget topics: it begins them again as a new group would."""

        def take(answer: DeleteShareGroupOffsetsResponse) -> Outcome[dict[str, Outcome[bool]]]:
            return refused(answer.error_code, f"share group {group_id}", answer.error_message) or {
                row.topic_name: refused(row.error_code, f"topic {row.topic_name}", row.error_message) or True
                for row in answer.responses
            }

        request = DeleteShareGroupOffsetsRequest(
            group_id, [DeleteShareGroupOffsetsRequestTopic(name) for name in topics]
        )
        return self._calls.group(group_id, request, DeleteShareGroupOffsetsResponse, take)

    def pause(self, group_ids: Iterable[str], *, dry_run: bool = False) -> dict[str, Outcome[bool]]:
        """Stop handing out records to groups until they are resumed, whether they exist yet or not.

        Consumers may still acknowledge and renew their records. INVALID_CONFIG by Apache Kafka, which has no such
        property. `dry_run`: the broker checks everything and changes nothing.
        """
        return self._alter(group_ids, Change(set={PAUSED: "true"}), dry_run)

    def resume(self, group_ids: Iterable[str], *, dry_run: bool = False) -> dict[str, Outcome[bool]]:
        """Let groups get records again. A group that is not paused stays unchanged."""
        return self._alter(group_ids, Change(delete=[PAUSED]), dry_run)

    def _alter(self, group_ids: Iterable[str], change: Change, dry_run: bool) -> dict[str, Outcome[bool]]:
        changes = {("group", each): change for each in group_ids}
        altered = Configs(self._calls).alter(changes, dry_run=dry_run)
        return {name: outcome for (_, name), outcome in altered.items()}

    def paused(self, group_ids: Iterable[str]) -> dict[str, bool | None]:
        """Return by group True if it is paused; None if the cluster does not report that, or not to this user."""
        found: dict[str, bool | None] = {}
        for (_, name), outcome in Configs(self._calls).describe([("group", each) for each in group_ids], [PAUSED]):
            values = [] if isinstance(outcome, ClientError) else [each.value != NOT_PAUSED for each in outcome]
            found[name] = values[0] if values else None
        return found


def _described(answer: ShareGroupDescribeResponse) -> dict[str, Outcome[ShareGroup]]:
    return {
        row.group_id: refused(row.error_code, f"share group {row.group_id}", row.error_message) or _group(row)
        for row in answer.groups
    }


def _group(row: DescribedGroup) -> ShareGroup:
    members = [
        ShareMember(
            member_id=member.member_id,
            client_id=member.client_id,
            host=member.client_host.removeprefix("/"),
            rack=member.rack_id,
            epoch=member.member_epoch,
            subscriptions=tuple(member.subscribed_topic_names),
            assignment={
                topic.topic_name: tuple(topic.partitions)
                for topic in (member.assignment.topic_partitions if member.assignment else ())
            },
        )
        for member in row.members
    ]
    return ShareGroup(
        row.group_id, row.group_state, row.group_epoch, row.assignment_epoch, row.assignor_name, tuple(members)
    )


def alteration(
    group_id: str, offsets: Mapping[Partition, int]
) -> tuple[
    AlterShareGroupOffsetsRequest,
    type[AlterShareGroupOffsetsResponse],
    Callable[[AlterShareGroupOffsetsResponse], Outcome[dict[Partition, Outcome[int]]]],
]:
    """Return the request of `alter_offsets`, the class of its answers, and the function that reads an answer."""
    topics = [
        AlterShareGroupOffsetsRequestTopic(
            name, [AlterShareGroupOffsetsRequestPartition(number, offsets[name, number]) for number in numbers]
        )
        for name, numbers in by_topic(offsets).items()
    ]

    def take(answer: AlterShareGroupOffsetsResponse) -> Outcome[dict[Partition, Outcome[int]]]:
        return refused(answer.error_code, f"share group {group_id}", answer.error_message) or {
            (topic.topic_name, row.partition_index): refused(
                row.error_code, f"partition {topic.topic_name}-{row.partition_index}", row.error_message
            )
            or offsets[topic.topic_name, row.partition_index]
            for topic in answer.responses
            for row in topic.partitions
        }

    return AlterShareGroupOffsetsRequest(group_id, topics), AlterShareGroupOffsetsResponse, take


def _question(topics: Mapping[str, Collection[int]] | None) -> Callable[[list[str]], Message]:
    rows = None
    if topics is not None:
        rows = [DescribeShareGroupOffsetsRequestTopic(name, list(numbers)) for name, numbers in topics.items()]
    return lambda ids: DescribeShareGroupOffsetsRequest(
        [DescribeShareGroupOffsetsRequestGroup(each, rows) for each in ids]
    )


def _positions(answer: DescribeShareGroupOffsetsResponse) -> dict[str, Outcome[Positions]]:
    found: dict[str, Outcome[Positions]] = {}
    for group in answer.groups:
        error = refused(group.error_code, f"share group {group.group_id}", group.error_message)
        found[group.group_id] = error or {
            (topic.topic_name, row.partition_index): refused(
                row.error_code,
                f"partition {topic.topic_name}-{row.partition_index} of share group {group.group_id}",
                row.error_message,
            )
            or SharePosition(
                None if row.start_offset < 0 else row.start_offset,
                row.leader_epoch,
                None if row.lag < 0 else row.lag,
                topic.topic_id,
            )
            for topic in group.topics
            for row in topic.partitions
        }
    return found
