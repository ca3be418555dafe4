"""A client that commits, fetches and deletes offsets in any version, over any connection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from devtools.clients.wire import Caller
from shareq.protocol.errors import ErrorCode
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
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from shareq.protocol.primitives import ZERO_UUID

NONE = ErrorCode.NONE
COMMIT_VERSIONS = range(2, 11)
FETCH_VERSIONS = range(1, 11)
IDS_FROM = 10
MANY_GROUPS_FROM = 8

At = tuple[str, int]
"""A topic's name and a partition."""


class Row(NamedTuple):
    """One partition of an OffsetFetch answer. Versions before 5 have no leader epoch, which reads as -1."""

    offset: int
    error: ErrorCode = NONE
    metadata: str = ""
    leader_epoch: int = -1


NO_OFFSET = Row(-1)
Answer = tuple[ErrorCode, dict[At, Row]]
"""The error of the group, and its rows."""


class OffsetsClient:
    """A client for offsets. `ids`: topic ids by name, for versions without names."""

    def __init__(self, client: Caller, ids: Mapping[str, bytes]) -> None:
        self.client = client
        self.ids = dict(ids)

    def commit(
        self,
        offsets: Mapping[At, int | Row],
        version: int = 9,
        *,
        group: str = "g",
        generation: int = -1,
        member: str = "",
        retention_ms: int = -1,
    ) -> dict[At, ErrorCode]:
        """Return the error of each partition."""
        request = self.commit_request(
            offsets, version, group=group, generation=generation, member=member, retention_ms=retention_ms
        )
        response = self.client.call(request, version, OffsetCommitResponse)
        return {
            (self.name_of(topic.name, topic.topic_id), row.partition_index): ErrorCode(row.error_code)
            for topic in response.topics
            for row in topic.partitions
        }

    def commit_request(
        self,
        offsets: Mapping[At, int | Row],
        version: int = 9,
        *,
        group: str = "g",
        generation: int = -1,
        member: str = "",
        retention_ms: int = -1,
    ) -> OffsetCommitRequest:
        by_topic: dict[str, list[OffsetCommitRequestPartition]] = {}
        for (name, index), each in offsets.items():
            row = Row(each) if isinstance(each, int) else each
            partition = OffsetCommitRequestPartition(index, row.offset, row.leader_epoch, row.metadata)
            by_topic.setdefault(name, []).append(partition)
        topics = [OffsetCommitRequestTopic(*self.called(name, version), rows) for name, rows in by_topic.items()]
        return OffsetCommitRequest(group, generation, member, None, retention_ms, topics)

    def committed(self, offsets: Mapping[At, int | Row], version: int = 9, *, group: str = "g") -> None:
        assert self.commit(offsets, version, group=group) == dict.fromkeys(offsets, NONE)

    def fetch(self, at: Sequence[At] | None, version: int = 9, *, group: str = "g", stable: bool = False) -> Answer:
        """Return the answer for one group. `at` None: a null list of topics."""
        if version >= MANY_GROUPS_FROM:
            return self.fetch_many({group: at}, version, stable=stable)[group]
        topics = None
        if at is not None:
            topics = [OffsetFetchRequestTopic(name, indexes) for name, indexes in _by_topic(at).items()]
        request = OffsetFetchRequest(group, topics, require_stable=stable)
        response = self.client.call(request, version, OffsetFetchResponse)
        rows = {
            (topic.name, row.partition_index): Row(
                row.committed_offset, ErrorCode(row.error_code), row.metadata or "", row.committed_leader_epoch
            )
            for topic in response.topics
            for row in topic.partitions
        }
        return ErrorCode(response.error_code), rows

    def fetch_many(
        self, groups: Mapping[str, Sequence[At] | None], version: int = 9, *, stable: bool = False
    ) -> dict[str, Answer]:
        """Return the answers for many groups, in the broker's order."""
        asked = [OffsetFetchRequestGroup(group, topics=self._topics(at, version)) for group, at in groups.items()]
        request = OffsetFetchRequest(groups=asked, require_stable=stable)
        response = self.client.call(request, version, OffsetFetchResponse)
        return {
            group.group_id: (
                ErrorCode(group.error_code),
                {
                    (self.name_of(topic.name, topic.topic_id), row.partition_index): Row(
                        row.committed_offset, ErrorCode(row.error_code), row.metadata or "", row.committed_leader_epoch
                    )
                    for topic in group.topics
                    for row in topic.partitions
                },
            )
            for group in response.groups
        }

    def all(self, group: str = "g") -> dict[At, int]:
        """Return all offsets of a group, which must have no errors."""
        error, rows = self.fetch(None, group=group)
        assert error is NONE
        assert {row.error for row in rows.values()} <= {NONE}
        return {at: row.offset for at, row in rows.items()}

    def delete(self, *at: At, group: str = "g") -> ErrorCode | dict[At, ErrorCode]:
        """Return the error of each partition, or that of the group."""
        topics = [
            OffsetDeleteRequestTopic(name, [OffsetDeleteRequestPartition(index) for index in indexes])
            for name, indexes in _by_topic(at).items()
        ]
        response = self.client.call(OffsetDeleteRequest(group, topics), 0, OffsetDeleteResponse)
        if response.error_code != NONE:
            assert response.topics == []
            return ErrorCode(response.error_code)
        return {
            (topic.name, row.partition_index): ErrorCode(row.error_code)
            for topic in response.topics
            for row in topic.partitions
        }

    def called(self, name: str, version: int) -> tuple[str, bytes]:
        """Return a topic's name and id as requests of this version contain them."""
        return ("", self.ids[name]) if version >= IDS_FROM else (name, ZERO_UUID)

    def name_of(self, name: str, topic_id: bytes) -> str:
        """Return the topic's name as sent, or the name of its id. A damaged record may have an empty name."""
        return name if topic_id == ZERO_UUID else next(known for known in self.ids if self.ids[known] == topic_id)

    def _topics(self, at: Sequence[At] | None, version: int) -> list[OffsetFetchRequestTopics] | None:
        if at is None:
            return None
        return [
            OffsetFetchRequestTopics(*self.called(name, version), indexes) for name, indexes in _by_topic(at).items()
        ]


def _by_topic(at: Sequence[At]) -> dict[str, list[int]]:
    topics: dict[str, list[int]] = {}
    for name, index in at:
        topics.setdefault(name, []).append(index)
    return topics
