"""Committed offsets: requests passed to the group coordinator's shards, and their answers.

Topic ids and names are resolved here; the shards store offsets by name.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence, Set
from typing import Final

from shareq.broker.foundation.environment import Environment
from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.foundation.turn_budget import PIECE, in_pieces
from shareq.broker.groups.coordinator import GroupCoordinatorService
from shareq.broker.topics.ports import CoordinatorTopics
from shareq.coordinator.group.offsets import fetch
from shareq.coordinator.group.offsets.commit import PreparedCommit
from shareq.coordinator.group.offsets.deletion import DeletedOffsets, PreparedDeletion
from shareq.coordinator.group.serde import GROUP_SERDE
from shareq.coordinator.group.shard import GroupCoordinatorShard
from shareq.coordinator.ports import MetadataImage, TopicImage
from shareq.coordinator.shard import CoordinatorResult
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from shareq.protocol.generated.offset_fetch import (
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponseGroup,
    OffsetFetchResponseTopics,
)
from shareq.protocol.names import CONSUMER_OFFSETS
from shareq.protocol.primitives import ZERO_UUID

COMMIT_TOPIC_IDS_FROM = 10
FETCH_TOPIC_IDS_FROM = 10
FETCH_GROUP_ERROR_FROM = 2
"""The first version of OffsetFetch with a field for an error of the whole group (KIP-88)."""

PART: Final = 500
"""The number of partitions passed to a group at a time; a topic counts as one more."""

_UNBOUNDED: Final = 1 << 62
"""No limit on the bytes of a short commit's records: it fits into memory, and the group's log refuses what is too
large.
"""

_UNKNOWN: Final = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
_UNKNOWN_ID: Final = ErrorCode.UNKNOWN_TOPIC_ID
_HIDDEN: Final = ErrorCode.TOPIC_AUTHORIZATION_FAILED

MaySee = Callable[[str], bool]
"""A function that returns True if a client may know of the topic of this name."""

Ask = Callable[[Callable[[], Pending[ErrorCode]]], Awaitable[ErrorCode]]
"""A function that lets the group decide on a commit by calling its argument, or returns an error if the client may not
create the group.
"""


def _everything(_name: str) -> bool:
    return True


def _at_once(decide: Callable[[], Pending[ErrorCode]]) -> Pending[ErrorCode]:
    return decide()


class CommitRows:
    """Rows of an OffsetCommit's answer: one entry for each topic, in the order in which topics first occur."""

    __slots__ = ("_known", "topics")

    def __init__(self) -> None:
        self.topics: list[OffsetCommitResponseTopic] = []
        self._known: dict[tuple[str, bytes], OffsetCommitResponseTopic] = {}

    def add(self, topic: OffsetCommitResponseTopic) -> None:
        """Add rows of a topic. Takes ownership of them."""
        known = self._known.setdefault((topic.name, topic.topic_id), topic)
        if known is topic:
            self.topics.append(topic)
        else:
            known.partitions += topic.partitions

    def refuse(
        self,
        name: str,
        topic_id: bytes,
        partitions: Sequence[OffsetCommitRequestPartition] | Sequence[OffsetCommitResponsePartition],
        error: ErrorCode,
    ) -> None:
        """Add partitions of a topic that have this error."""
        rows = [OffsetCommitResponsePartition(each.partition_index, error) for each in partitions]
        self.add(OffsetCommitResponseTopic(name, topic_id, rows))


class AskedOffsets:
    """The requested offsets of a group: the `parts` still to be read, and the refusals, which come last.

    `without_ids`: topics in the parts whose ids are not known yet.
    """

    __slots__ = ("group_id", "parts", "without_ids")

    def __init__(
        self, group_id: str, parts: list[Pending[OffsetFetchResponseGroup]], *, without_ids: bool = False
    ) -> None:
        self.group_id = group_id
        self.parts = parts
        self.without_ids = without_ids


class GroupOffsetsService:
    """Operations of consumers and administrators on committed offsets. Answers come once their outcome is durable."""

    def __init__(
        self,
        groups: GroupCoordinatorService,
        internal_topics: CoordinatorTopics,
        metadata: MetadataImage,
        env: Environment,
    ) -> None:
        self._groups = groups
        self._internal_topics = internal_topics
        self._metadata = metadata
        self._clock = env.clock
        self._breathe = env.budget.breathe

    # -- commit

    async def commit(
        self, request: OffsetCommitRequest, version: int, *, may_read: MaySee = _everything, ask: Ask = _at_once
    ) -> OffsetCommitResponse:
        """Answer an OffsetCommit when its effect is durable: the offsets of all accepted partitions are stored, or
        none.

        A topic or partition that does not exist is refused (UNKNOWN_TOPIC_ID from version 10 on,
        UNKNOWN_TOPIC_OR_PARTITION before), and so is a topic that the client may not read; the group decides on the
        rest. The internal topic is created if it is missing. A topic has one entry in the answer, as in Apache
        Kafka.
        """
        hidden, rows = CommitRows(), CommitRows()
        existing: list[list[OffsetCommitRequestTopic]] = [[]]
        weight = 0
        for topic in request.topics:
            image = self._topic(topic.topic_id if version >= COMMIT_TOPIC_IDS_FROM else topic.name)
            may = self._may_see(image, topic.name, version >= COMMIT_TOPIC_IDS_FROM, may_read)
            for some in in_pieces(topic.partitions):
                if may:
                    self._sort(topic, some, image, version, existing[-1], rows)
                else:
                    hidden.refuse(topic.name, topic.topic_id, some, _HIDDEN)
                weight += 1 + len(some)
                if weight >= PIECE:
                    existing.append([])
                    weight = 0
                await self._breathe(1 + len(some))
        parts = [part for part in existing if part]
        if parts:
            await self._commit(request, version, parts, rows, ask)
        return OffsetCommitResponse(topics=[*hidden.topics, *rows.topics])

    async def refused_commit(self, request: OffsetCommitRequest, error: ErrorCode) -> OffsetCommitResponse:
        """Return the answer with the same error for every partition."""
        rows = CommitRows()
        for topic in request.topics:
            for some in in_pieces(topic.partitions):
                rows.refuse(topic.name, topic.topic_id, some, error)
                await self._breathe(1 + len(some))
        return OffsetCommitResponse(topics=rows.topics)

    async def prepare(self, *, short: bool) -> PreparedCommit | None:
        """Return an empty commit to fill; None if the internal topic is missing and cannot be created.

        Pause until the topic may be created. A `short` commit has one part; the group's log refuses it if that is
        too large.
        """
        if short and self._groups.partitions.count:
            return self._new_commit(_UNBOUNDED)
        if await self._internal_topics.made(CONSUMER_OFFSETS):
            return None
        return self._new_commit(self._groups.partitions.room.most_bytes())

    def _new_commit(self, most_bytes: int) -> PreparedCommit:
        return PreparedCommit(GROUP_SERDE, self._groups.settings.offsets.longest_metadata, most_bytes)

    def _sort(
        self,
        topic: OffsetCommitRequestTopic,
        partitions: Sequence[OffsetCommitRequestPartition],
        image: TopicImage | None,
        version: int,
        existing: list[OffsetCommitRequestTopic],
        rows: CommitRows,
    ) -> None:
        """Add the existing ones of the partitions to `existing`, with the name and id of their topic, and rows for
        the others.
        """
        name, topic_id = (topic.name, topic.topic_id) if image is None else (image.name, image.topic_id)
        count = 0 if image is None else image.partitions
        there = [each for each in partitions if 0 <= each.partition_index < count]
        if there:
            existing.append(OffsetCommitRequestTopic(name, topic_id, there))
        if image is None or len(there) < len(partitions):
            error = _UNKNOWN_ID if version >= COMMIT_TOPIC_IDS_FROM and image is None else _UNKNOWN
            rows.refuse(name, topic_id, [each for each in partitions if not 0 <= each.partition_index < count], error)

    async def _commit(
        self,
        request: OffsetCommitRequest,
        version: int,
        parts: Sequence[list[OffsetCommitRequestTopic]],
        rows: CommitRows,
        ask: Ask,
    ) -> None:
        """Let the group decide on the existing partitions, and add its rows."""
        prepared = await self.prepare(short=len(parts) == 1)
        if prepared is None:
            for part in parts:
                for topic in part:
                    rows.refuse(topic.name, topic.topic_id, topic.partitions, ErrorCode.COORDINATOR_NOT_AVAILABLE)
                await self._breathe(PIECE)
            return
        for part in parts:
            prepared.add(_with_topics(request, part), self._clock.wall_ms())
            await self._breathe(PIECE if len(parts) > 1 else len(part))
        gone: set[bytes] = set()

        def decide(shard: GroupCoordinatorShard) -> CoordinatorResult[ErrorCode]:
            # The request may have waited for its turn, and topics may have been deleted meanwhile.
            gone.update(prepared.leave_out_gone(self._metadata.topic_by_id))
            return shard.offsets.commit(request, version, self._clock.now_ms(), prepared)

        error = await ask(lambda: self._groups.schedule(request.group_id, decide, lambda error: error))
        await self._add_rows(rows, prepared.topics, error, gone, version)

    async def _add_rows(
        self,
        rows: CommitRows,
        decided: Sequence[OffsetCommitResponseTopic],
        error: ErrorCode,
        gone: Set[bytes],
        version: int,
    ) -> None:
        """Add the rows of the group's decision: its `error`, or the error for deleted topics (`gone`)."""
        for answered in decided:
            problem = error
            if answered.topic_id in gone and not error:
                problem = _UNKNOWN_ID if version >= COMMIT_TOPIC_IDS_FROM else _UNKNOWN
            if problem:
                rows.refuse(answered.name, answered.topic_id, answered.partitions, problem)
            else:
                rows.add(answered)
            await self._breathe(1 + len(answered.partitions))

    # -- fetch

    async def fetch(
        self, group: OffsetFetchRequestGroup, version: int, *, require_stable: bool
    ) -> OffsetFetchResponseGroup:
        """Return the answer for one group of an OffsetFetch; see `ask`."""
        return await self.answer(await self.ask(group, version, require_stable=require_stable), version)

    async def ask(
        self,
        group: OffsetFetchRequestGroup,
        version: int,
        *,
        require_stable: bool,
        may_describe: MaySee = _everything,
        sees: MaySee = _everything,
    ) -> AskedOffsets:
        """Begin to read the offsets of a group: of the named partitions or, for null topics, of all that it has
        committed.

        From version 10 on topics are found by their ids (UNKNOWN_TOPIC_ID); before that, a name means the present
        topic of that name. Topics given by name are refused unless the client `may_describe` them; if all are
        requested, topics that it may not see are left out.
        """
        by_id = version >= FETCH_TOPIC_IDS_FROM
        topics: list[OffsetFetchRequestTopics] = []
        unknown: list[OffsetFetchRequestTopics] = []
        hidden: list[OffsetFetchRequestTopics] = []
        if group.topics is None:
            for name in self._committed_topics(group.group_id):
                if sees(name):
                    topics.append(OffsetFetchRequestTopics(name, ZERO_UUID, self._committed(group.group_id, name)))
                    await self._breathe(1 + len(topics[-1].partition_indexes))
        else:
            for topic in group.topics:
                image = self._topic(topic.topic_id if by_id else topic.name)
                if not self._may_see(image, topic.name, by_id, may_describe):
                    hidden.append(topic)
                elif image is not None:
                    topics.append(OffsetFetchRequestTopics(image.name, image.topic_id, topic.partition_indexes))
                elif by_id:
                    unknown.append(topic)
                else:
                    topics.append(OffsetFetchRequestTopics(topic.name, ZERO_UUID, topic.partition_indexes))
                await self._breathe()
        asked = AskedOffsets(group.group_id, [], without_ids=by_id and group.topics is None)
        whole = OffsetFetchRequestGroup(group.group_id, group.member_id, group.member_epoch, topics)
        for part in fetch.parts_of(whole, PART):
            asked.parts.append(self._fetch(part, version, require_stable=require_stable))
            await self._breathe(PART if len(asked.parts) > 1 else 1)
        await self._refuse(asked, unknown, _UNKNOWN_ID)
        await self._refuse(asked, hidden, _HIDDEN)
        return asked

    async def refuse(self, group: OffsetFetchRequestGroup, version: int, error: ErrorCode) -> AskedOffsets:
        """Return the answer for a group that the client may not describe: the error, in version 1 in every row."""
        if version >= FETCH_GROUP_ERROR_FROM:
            return AskedOffsets(group.group_id, [completed(fetch.refused(group, error))])
        asked = AskedOffsets(group.group_id, [])
        await self._refuse(asked, group.topics or (), error)
        return asked

    async def _refuse(self, asked: AskedOffsets, topics: Sequence[OffsetFetchRequestTopics], error: ErrorCode) -> None:
        for part in fetch.parts_of(OffsetFetchRequestGroup(topics=list(topics)), PART) if topics else ():
            asked.parts.append(completed(fetch.refused_by_partition(part, error)))
            await self._breathe(sum(1 + len(topic.partition_indexes) for topic in part.topics or ()))

    async def answer(self, asked: AskedOffsets, version: int) -> OffsetFetchResponseGroup:
        """Return the answer for a group, when all its parts have arrived."""
        joined = fetch.Joined()
        for part in asked.parts:
            found = await part
            rows = sum(len(topic.partitions) for topic in found.topics) if len(asked.parts) > 1 else 1
            joined.add(found)
            await self._breathe(rows)
        answer = joined.group
        answer.group_id = asked.group_id
        if asked.without_ids:
            answer.topics = await self._with_ids(answer.topics)
        return answer

    def _fetch(
        self, group: OffsetFetchRequestGroup, version: int, *, require_stable: bool
    ) -> Pending[OffsetFetchResponseGroup]:
        if not self._groups.partitions.count:
            return completed(fetch.nothing(group))
        refused = fetch.refused if version >= FETCH_GROUP_ERROR_FROM else fetch.refused_by_partition
        return self._groups.schedule(
            group.group_id,
            lambda shard: shard.offsets.fetch(group, require_stable=require_stable),
            lambda error: refused(group, error),
        )

    def _committed_topics(self, group_id: str) -> list[str]:
        if not self._groups.partitions.count:
            return []
        return sorted(self._groups.partition(group_id).shard.offsets.store.of(group_id))

    def _committed(self, group_id: str, topic: str) -> list[int]:
        return sorted(self._groups.partition(group_id).shard.offsets.store.of(group_id).get(topic, ()))

    async def _with_ids(self, topics: Sequence[OffsetFetchResponseTopics]) -> list[OffsetFetchResponseTopics]:
        """Return the topics with ids instead of names; topics that no longer exist are left out."""
        found: list[OffsetFetchResponseTopics] = []
        for topic in topics:
            image = self._topic(topic.name)
            if image is not None:
                found.append(OffsetFetchResponseTopics(topic.name, image.topic_id, topic.partitions))
            await self._breathe()
        return found

    def group_ids(self, prefix: str) -> list[str]:
        """Return the groups with committed offsets whose ids begin with the prefix."""
        return [
            group_id
            for partition in self._groups.partitions
            for group_id in partition.shard.offsets.store.group_ids()
            if group_id.startswith(prefix)
        ]

    # -- delete

    def begin_delete(self, group_id: str) -> PreparedDeletion | ErrorCode:
        """Begin an OffsetDelete of the group. Errors: INVALID_GROUP_ID, GROUP_ID_NOT_FOUND."""
        if not group_id:
            return ErrorCode.INVALID_GROUP_ID
        if not self._groups.partitions.count:
            return ErrorCode.GROUP_ID_NOT_FOUND
        partition = self._groups.partition(group_id)

        def knows(topic: str, number: int) -> bool:
            return partition.shard.offsets.store.knows(group_id, topic, number)

        return PreparedDeletion(group_id, knows, GROUP_SERDE)

    def delete(self, prepared: PreparedDeletion) -> Pending[DeletedOffsets]:
        """Delete everything that was prepared, or nothing. Errors: see `GroupOffsets.delete`."""
        return self._groups.schedule(prepared.group_id, lambda shard: shard.offsets.delete(prepared), DeletedOffsets)

    def partitions_of(self, topic: str) -> int:
        """Return the topic's number of partitions; 0 if it does not exist."""
        image = self._metadata.topic(topic)
        return 0 if image is None else image.partitions

    def _topic(self, name_or_id: str | bytes) -> TopicImage | None:
        metadata = self._metadata
        return metadata.topic_by_id(name_or_id) if isinstance(name_or_id, bytes) else metadata.topic(name_or_id)

    @staticmethod
    def _may_see(image: TopicImage | None, name: str, by_id: bool, may_see: MaySee) -> bool:
        """Return True if the client may know of a topic. An unknown id may always be looked up."""
        if image is not None:
            return may_see(image.name)
        return by_id or may_see(name)


def _with_topics(request: OffsetCommitRequest, topics: list[OffsetCommitRequestTopic]) -> OffsetCommitRequest:
    return OffsetCommitRequest(
        request.group_id,
        request.generation_id_or_member_epoch,
        request.member_id,
        request.group_instance_id,
        request.retention_time_ms,
        topics,
    )
