"""An OffsetCommit that the group accepts: the records and answers for its topics."""

from __future__ import annotations

from collections.abc import Callable, Set

from shareq.coordinator.group.offsets.offset import NO_EXPIRY, CommittedOffset
from shareq.coordinator.group.offsets.records import offset_record
from shareq.coordinator.shard import CoordinatorRecord, CoordinatorResult, RecordSerde
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
    OffsetCommitValue,
)
from shareq.protocol.records.batch import RecordData

_BROKERS_RETENTION = -1
_LATEST_MS = 2**63 - 1


def accepted(
    request: OffsetCommitRequest, wall_ms: int, longest_metadata: int
) -> CoordinatorResult[OffsetCommitResponse]:
    """Return a record for each partition, except those whose metadata is too long (OFFSET_METADATA_TOO_LARGE).

    Topics come with name and id. `longest_metadata`: in UTF-16 units, as Apache Kafka counts.
    """
    retention_ms = request.retention_time_ms
    # Apache Kafka's sum runs over: what was to be kept for ever is expired there.
    expire_ms = NO_EXPIRY if retention_ms == _BROKERS_RETENTION else min(wall_ms + retention_ms, _LATEST_MS)
    records: list[CoordinatorRecord] = []
    topics: list[OffsetCommitResponseTopic] = []
    for topic in request.topics:
        answered = OffsetCommitResponseTopic(topic.name, topic.topic_id)
        topics.append(answered)
        for each in topic.partitions:
            metadata = each.committed_metadata or ""
            error = ErrorCode.NONE
            if _is_longer(metadata, longest_metadata):
                error = ErrorCode.OFFSET_METADATA_TOO_LARGE
            else:
                committed = CommittedOffset(
                    each.committed_offset, each.committed_leader_epoch, metadata, wall_ms, expire_ms, topic.topic_id
                )
                records.append(offset_record(request.group_id, topic.name, each.partition_index, committed))
            answered.partitions.append(OffsetCommitResponsePartition(each.partition_index, error))
    return CoordinatorResult(OffsetCommitResponse(topics=topics), tuple(records))


class PreparedCommit:
    """An OffsetCommit that is prepared a few topics at a time, before its group is asked.

    `records` are its records, `encoded` their bytes; `topics` is the answer if the group accepts it. `most_bytes`
    limits the keys and values of one append: if they are more, the commit `is_too_large`, and no part of it is kept.
    """

    __slots__ = ("_bytes", "_encode", "_longest_metadata", "_most_bytes", "encoded", "records", "topics")

    def __init__(self, serde: RecordSerde, longest_metadata: int, most_bytes: int) -> None:
        self._encode = serde.encode
        self._longest_metadata = longest_metadata
        self._most_bytes = most_bytes
        self._bytes = 0
        self.records: list[CoordinatorRecord] = []
        self.encoded: list[RecordData] = []
        self.topics: list[OffsetCommitResponseTopic] = []

    @property
    def is_too_large(self) -> bool:
        return self._bytes > self._most_bytes

    def add(self, request: OffsetCommitRequest, wall_ms: int) -> None:
        """Add the topics of a part of the request."""
        result = accepted(request, wall_ms, self._longest_metadata)
        self.topics += result.response.topics
        if self.is_too_large:
            return
        for record in result.records:
            key, value = self._encode(record)
            self._bytes += len(key) + len(value or b"")
            self.encoded.append(RecordData(key, value))
        self.records += result.records
        if self.is_too_large:
            self.records, self.encoded = [], []

    def leave_out_gone(self, topic_by_id: Callable[[bytes], object | None]) -> frozenset[bytes]:
        """Drop the records of deleted topics; return the ids of these topics."""
        ids = {topic.topic_id for topic in self.topics}
        gone = frozenset(each for each in ids if topic_by_id(each) is None)
        if gone:
            self.leave_out(gone)
        return gone

    def leave_out(self, topic_ids: Set[bytes]) -> None:
        """Drop the records of topics that were deleted in the meantime. `topics` stay as they are."""
        left = [
            (record, encoded)
            for record, encoded in zip(self.records, self.encoded, strict=True)
            if not (isinstance(record.value, OffsetCommitValue) and record.value.topic_id in topic_ids)
        ]
        self.records = [record for record, _ in left]
        self.encoded = [encoded for _, encoded in left]


def refused(request: OffsetCommitRequest, error: ErrorCode) -> OffsetCommitResponse:
    """Return one error for every partition, because the response has no error field for the group."""
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                topic.name,
                topic.topic_id,
                [OffsetCommitResponsePartition(each.partition_index, error) for each in topic.partitions],
            )
            for topic in request.topics
        ]
    )


def _is_longer(text: str, limit: int) -> bool:
    if 2 * len(text) <= limit:
        return False
    return len(text.encode("utf-16-le")) > 2 * limit
