"""Committed offsets: requests to the group coordinator's shards and back.

What a topic's id or name means is settled here; the shards keep offsets by name.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence

from shareq.broker.foundation.environment import Clock
from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.groups.coordinator import GroupCoordinatorService
from shareq.broker.topics.internal import InternalTopics
from shareq.coordinator.group.offsets import commit, fetch
from shareq.coordinator.group.offsets.commit import PreparedCommit
from shareq.coordinator.group.offsets.deletion import DeletedOffsets, PreparedDeletion
from shareq.coordinator.group.serde import GROUP_SERDE
from shareq.coordinator.ports import MetadataImage, TopicImage
from shareq.protocol.errors import ApiError, ErrorCode
from shareq.protocol.generated.offset_commit import (
    OffsetCommitRequest,
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
"""From this version on OffsetFetch has a place for an error of the whole group (KIP-88)."""

_UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


class GroupOffsetsService:
    """What consumers and administrators ask of committed offsets. Answers come when what they say is durable."""

    def __init__(
        self, groups: GroupCoordinatorService, internal_topics: InternalTopics, metadata: MetadataImage, clock: Clock
    ) -> None:
        self._groups = groups
        self._internal_topics = internal_topics
        self._metadata = metadata
        self._now = clock.now_ms

    # -- commit

    def commit(self, request: OffsetCommitRequest, version: int) -> Pending[OffsetCommitResponse]:
        """OffsetCommit. Topics and partitions that do not exist are refused each (UNKNOWN_TOPIC_ID from version 10 on,
        UNKNOWN_TOPIC_OR_PARTITION); the group is asked when any are left. The internal topic is created here when it
        is not there yet.
        """
        existing: list[OffsetCommitRequestTopic] = []
        unknown: list[OffsetCommitResponseTopic] = []
        for topic in request.topics:
            self.sort_commit(topic, version, existing, unknown)
        if not existing:
            return completed(OffsetCommitResponse(topics=_merged(unknown)), parks=False)
        rest = OffsetCommitRequest(
            request.group_id,
            request.generation_id_or_member_epoch,
            request.member_id,
            request.group_instance_id,
            request.retention_time_ms,
            existing,
        )
        answer = self._internal_topics.with_topics(
            (CONSUMER_OFFSETS,), lambda error: self._commit(rest, version, error)
        )
        if not unknown:
            return answer
        return answer.then(lambda response: OffsetCommitResponse(topics=_merged([*unknown, *response.topics])))

    def _commit(self, request: OffsetCommitRequest, version: int, error: ApiError) -> Pending[OffsetCommitResponse]:
        if error:
            return completed(commit.refused(request, ErrorCode.COORDINATOR_NOT_AVAILABLE))
        return self._groups.schedule(
            request.group_id,
            lambda shard: shard.offsets.commit(request, version, self._now()),
            lambda error: commit.refused(request, error),
        )

    def commit_prepared(
        self, request: OffsetCommitRequest, version: int, prepared: PreparedCommit
    ) -> Pending[ErrorCode]:
        """As `commit`, of what was prepared. The error is the one of all its partitions."""
        return self._groups.schedule(
            request.group_id,
            lambda shard: shard.offsets.commit_prepared(request, version, self._now(), prepared),
            lambda error: error,
        )

    def prepare(self, group_id: str) -> Generator[None, None, PreparedCommit | None]:
        """Return what a long commit of the group is prepared in; None where the internal topic cannot be created.
        Pauses until it may be.
        """
        yield from self._internal_topics.passing(CONSUMER_OFFSETS)
        if self._internal_topics.ensure(CONSUMER_OFFSETS):
            return None
        partitions = self._groups.partitions
        longest_metadata = self._groups.partition(group_id).shard.offsets.settings.longest_metadata
        return PreparedCommit(GROUP_SERDE, longest_metadata, partitions.room.most_bytes())

    def sort_commit(
        self,
        topic: OffsetCommitRequestTopic,
        version: int,
        existing: list[OffsetCommitRequestTopic],
        unknown: list[OffsetCommitResponseTopic],
    ) -> None:
        """Add what exists of a topic that is committed to `existing`, with name and id, the rest to `unknown`."""
        by_id = version >= COMMIT_TOPIC_IDS_FROM
        image = self._topic(topic.topic_id if by_id else topic.name)
        there = [each for each in topic.partitions if _has(image, each.partition_index)]
        error = ErrorCode.UNKNOWN_TOPIC_ID if by_id and image is None else _UNKNOWN
        rows = [
            OffsetCommitResponsePartition(each.partition_index, error)
            for each in topic.partitions
            if not _has(image, each.partition_index)
        ]
        name, topic_id = (topic.name, topic.topic_id) if image is None else (image.name, image.topic_id)
        if rows or image is None:
            unknown.append(OffsetCommitResponseTopic(name, topic_id, rows))
        if there:
            existing.append(OffsetCommitRequestTopic(name, topic_id, there))

    # -- fetch

    def fetch(
        self, group: OffsetFetchRequestGroup, version: int, *, require_stable: bool
    ) -> Pending[OffsetFetchResponseGroup]:
        """One group of an OffsetFetch. From version 10 on topics are found by their ids: UNKNOWN_TOPIC_ID. Before that,
        names stand for the topics that have them now.
        """
        by_id = version >= FETCH_TOPIC_IDS_FROM
        unknown: list[OffsetFetchResponseTopics] = []
        if by_id and group.topics is not None:
            unknown = self._unknown(group.topics)
            group = OffsetFetchRequestGroup(
                group.group_id, group.member_id, group.member_epoch, self._with_names(group.topics)
            )
        elif group.topics is not None:
            for topic in group.topics:
                image = self._topic(topic.name)
                topic.topic_id = ZERO_UUID if image is None else image.topic_id
        if group.topics is None:
            return self.fetch_committed(group, version, require_stable=require_stable)
        answer = self._fetch(group, version, require_stable=require_stable)
        return answer.then(lambda response: _with_topics(response, unknown)) if unknown else answer

    def fetch_committed(
        self, group: OffsetFetchRequestGroup, version: int, *, require_stable: bool
    ) -> Pending[OffsetFetchResponseGroup]:
        """As `fetch` of all topics, or of some of `committed`."""
        answer = self._fetch(group, version, require_stable=require_stable)
        return answer.then(self._with_ids) if version >= FETCH_TOPIC_IDS_FROM else answer

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

    def committed(self, group: OffsetFetchRequestGroup) -> OffsetFetchRequestGroup:
        """The group with everything named of which it has an offset now, in order."""
        topics: list[OffsetFetchRequestTopics] = []
        if self._groups.partitions.count:
            offsets = self._groups.partition(group.group_id).shard.offsets.store.of(group.group_id)
            topics = [OffsetFetchRequestTopics(name, ZERO_UUID, sorted(offsets[name])) for name in sorted(offsets)]
        return OffsetFetchRequestGroup(group.group_id, group.member_id, group.member_epoch, topics)

    def _unknown(self, topics: Sequence[OffsetFetchRequestTopics]) -> list[OffsetFetchResponseTopics]:
        return [
            fetch.refused_topic(topic, ErrorCode.UNKNOWN_TOPIC_ID)
            for topic in topics
            if self._topic(topic.topic_id) is None
        ]

    def _with_names(self, topics: Sequence[OffsetFetchRequestTopics]) -> list[OffsetFetchRequestTopics]:
        return [
            OffsetFetchRequestTopics(image.name, topic.topic_id, topic.partition_indexes)
            for topic in topics
            if (image := self._topic(topic.topic_id)) is not None
        ]

    def _with_ids(self, response: OffsetFetchResponseGroup) -> OffsetFetchResponseGroup:
        """Topics have no names in the answer: those that do not exist any more are left out."""
        response.topics = [
            OffsetFetchResponseTopics(topic.name, image.topic_id, topic.partitions)
            for topic in response.topics
            if (image := self._topic(topic.name)) is not None
        ]
        return response

    def group_ids(self, prefix: str) -> list[str]:
        """The groups that have committed offsets and whose ids begin so."""
        return [
            group_id
            for partition in self._groups.partitions
            for group_id in partition.shard.offsets.store.group_ids()
            if group_id.startswith(prefix)
        ]

    # -- delete

    def begin_delete(self, group_id: str) -> PreparedDeletion | ErrorCode:
        """What an OffsetDelete of the group is prepared in. Errors: INVALID_GROUP_ID, GROUP_ID_NOT_FOUND."""
        if not group_id:
            return ErrorCode.INVALID_GROUP_ID
        if not self._groups.partitions.count:
            return ErrorCode.GROUP_ID_NOT_FOUND
        partition = self._groups.partition(group_id)

        def knows(topic: str, number: int) -> bool:
            return partition.shard.offsets.store.knows(group_id, topic, number)

        return PreparedDeletion(group_id, knows, GROUP_SERDE)

    def delete(self, prepared: PreparedDeletion) -> Pending[DeletedOffsets]:
        """Delete what was prepared, all of it or nothing. Errors: see `GroupOffsets.delete`."""
        return self._groups.schedule(prepared.group_id, lambda shard: shard.offsets.delete(prepared), DeletedOffsets)

    def partitions_of(self, topic: str) -> int:
        """How many partitions a topic has; 0 for one that does not exist."""
        image = self._metadata.topic(topic)
        return 0 if image is None else image.partitions

    def _topic(self, name_or_id: str | bytes) -> TopicImage | None:
        metadata = self._metadata
        return metadata.topic_by_id(name_or_id) if isinstance(name_or_id, bytes) else metadata.topic(name_or_id)


def _has(image: TopicImage | None, partition: int) -> bool:
    return image is not None and 0 <= partition < image.partitions


def _merged(topics: Sequence[OffsetCommitResponseTopic]) -> list[OffsetCommitResponseTopic]:
    """One entry for each topic, its partitions together."""
    merged: dict[tuple[str, bytes], OffsetCommitResponseTopic] = {}
    for topic in topics:
        known = merged.setdefault((topic.name, topic.topic_id), topic)
        if known is not topic:
            known.partitions += topic.partitions
    return list(merged.values())


def _with_topics(
    response: OffsetFetchResponseGroup, more: Sequence[OffsetFetchResponseTopics]
) -> OffsetFetchResponseGroup:
    if response.error_code == ErrorCode.NONE:
        response.topics = [*response.topics, *more]
    return response
