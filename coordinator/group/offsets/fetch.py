"""OffsetFetch: the requested offsets of one group (KIP-88)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final

from shareq.coordinator.group.offsets.offset import CommittedOffset
from shareq.coordinator.group.offsets.store import OffsetStore
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.offset_fetch import (
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from shareq.protocol.primitives import ZERO_UUID

NO_OFFSET: Final = -1
_NO_EPOCH: Final = -1


def fetched(store: OffsetStore, group: OffsetFetchRequestGroup, *, require_stable: bool) -> OffsetFetchResponseGroup:
    """Return the group's offsets of the named partitions; null topics name none.

    Topics have names, and ids if the request has them. A partition without an offset, or with one of an earlier topic
    of the same name, gets -1 without an error. With `require_stable`, a partition with an offset that an open
    transaction may change gets UNSTABLE_OFFSET_COMMIT.
    """
    offsets = store.of(group.group_id)
    unstable = store.pending(group.group_id) if require_stable else ()
    topics = [_named(topic, offsets.get(topic.name, {}), unstable) for topic in group.topics or ()]
    return OffsetFetchResponseGroup(group.group_id, topics)


def nothing(group: OffsetFetchRequestGroup) -> OffsetFetchResponseGroup:
    """Return the answer for a group that does not exist, the same as for one without offsets."""
    return fetched(OffsetStore(), group, require_stable=False)


def refused(group: OffsetFetchRequestGroup, error: ErrorCode) -> OffsetFetchResponseGroup:
    """Return an error for the whole group, without rows (KIP-88)."""
    return OffsetFetchResponseGroup(group.group_id, error_code=error)


def refused_by_partition(group: OffsetFetchRequestGroup, error: ErrorCode) -> OffsetFetchResponseGroup:
    """Return an error in the row of each named partition: for errors that are not the group's, and in version 1, which
    has no field for those.
    """
    topics = [
        OffsetFetchResponseTopics(
            topic.name, topic.topic_id, [_row(index, None, error) for index in topic.partition_indexes]
        )
        for topic in group.topics or ()
    ]
    return OffsetFetchResponseGroup(group.group_id, topics)


def _named(
    topic: OffsetFetchRequestTopics,
    partitions: Mapping[int, CommittedOffset],
    unstable: Collection[tuple[str, int]],
) -> OffsetFetchResponseTopics:
    rows = [
        _stable_row(index, _of_topic(partitions.get(index), topic.topic_id), (topic.name, index) in unstable)
        for index in topic.partition_indexes
    ]
    return OffsetFetchResponseTopics(topic.name, topic.topic_id, rows)


def _of_topic(committed: CommittedOffset | None, topic_id: bytes) -> CommittedOffset | None:
    """Return the offset if it belongs to the topic with this id; a zero id on either side matches any."""
    if committed is None or ZERO_UUID in (topic_id, committed.topic_id):
        return committed
    return committed if committed.topic_id == topic_id else None


def _stable_row(index: int, committed: CommittedOffset | None, is_unstable: bool) -> OffsetFetchResponsePartitions:
    return _row(index, None, ErrorCode.UNSTABLE_OFFSET_COMMIT) if is_unstable else _row(index, committed)


def _row(
    index: int, committed: CommittedOffset | None, error: ErrorCode = ErrorCode.NONE
) -> OffsetFetchResponsePartitions:
    if committed is None:
        return OffsetFetchResponsePartitions(index, NO_OFFSET, _NO_EPOCH, "", error)
    return OffsetFetchResponsePartitions(index, committed.offset, committed.leader_epoch, committed.metadata, error)


def parts_of(group: OffsetFetchRequestGroup, most: int) -> Iterator[OffsetFetchRequestGroup]:
    """Yield the group several times with a part of its topics or of a topic's partitions: about `most` partitions each
    time, where a topic counts as one more.
    """

    def part(topics: list[OffsetFetchRequestTopics]) -> OffsetFetchRequestGroup:
        return OffsetFetchRequestGroup(group.group_id, group.member_id, group.member_epoch, topics)

    topics: list[OffsetFetchRequestTopics] = []
    room = most
    for topic in group.topics or ():
        indexes = topic.partition_indexes
        for at in range(0, max(1, len(indexes)), most):
            some = indexes[at : at + most]
            if topics and len(some) >= room:
                yield part(topics)
                topics, room = [], most
            topics.append(OffsetFetchRequestTopics(topic.name, topic.topic_id, some))
            room -= 1 + len(some)
    yield part(topics)


class Joined:
    """The answers to `parts_of` as one answer. They are added in order; if one has an error of the group, that is the
    result.
    """

    def __init__(self) -> None:
        self.group = OffsetFetchResponseGroup()
        self._last: OffsetFetchResponseTopics | None = None
        self._begun = False

    def add(self, part: OffsetFetchResponseGroup) -> None:
        """Add an answer; the caller must not use it afterwards."""
        if not self._begun or (part.error_code and not self.group.error_code):
            self.group, self._begun = part, True
            self._last = part.topics[-1] if part.topics else None
        elif not self.group.error_code:
            topics, last = part.topics, self._last
            if topics and last is not None and (topics[0].name, topics[0].topic_id) == (last.name, last.topic_id):
                last.partitions += topics.pop(0).partitions  # it was cut
            self.group.topics += topics
            self._last = topics[-1] if topics else last
