"""A group coordinator's shard with offsets to commit, fetch and delete, and with a clock, topics and a log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from shareq.coordinator.group.classic.records import group_tombstone
from shareq.coordinator.group.counters import GroupCounters
from shareq.coordinator.group.offsets.deletion import PreparedDeletion
from shareq.coordinator.group.offsets.group_offsets import OffsetSettings
from shareq.coordinator.group.serde import GROUP_SERDE
from shareq.coordinator.group.shard import GroupCoordinatorSettings, GroupCoordinatorShard
from shareq.coordinator.shard import CoordinatorRecord
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.group_metadata import GroupMetadataKey, GroupMetadataValue, MemberMetadata
from shareq.protocol.generated.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from shareq.protocol.generated.offset_fetch import OffsetFetchRequestGroup, OffsetFetchRequestTopics
from shareq.protocol.primitives import ZERO_UUID
from tests.unit.coordinator.support import Log, Settings, Time, Topics, commit_decision

At = tuple[str, int]
"""A topic's name and a partition."""
Rows = dict[At, tuple[int, int, str, ErrorCode]]
"""Offset, leader epoch, metadata and error of each partition."""

NONE = ErrorCode.NONE
DAY_MS = 86_400_000


def subscription(*topics: str) -> bytes:
    names = b"".join(len(name).to_bytes(2, "big") + name.encode() for name in topics)
    return b"\0\0" + len(topics).to_bytes(4, "big") + names + b"\xff\xff\xff\xff"


class OffsetsWorld:
    """A shard with topics t and u of three partitions each."""

    def __init__(self, settings: OffsetSettings | None = None) -> None:
        self.topics = Topics(t=3, u=3)
        self.time = Time()
        self.counters = GroupCounters()
        coordinator = GroupCoordinatorSettings(offsets=settings or OffsetSettings())
        self.log = Log(
            lambda: GroupCoordinatorShard(
                self.topics, Settings(), self.time.wall_ms, coordinator, counters=self.counters
            ),
            GROUP_SERDE,
            self.time,
        )

    @property
    def shard(self) -> GroupCoordinatorShard:
        return self.log.shard

    def commit(
        self,
        offsets: Mapping[At, int | tuple[int, int, str]],
        *,
        group: str = "g",
        generation: int = -1,
        member: str = "",
        instance: str | None = None,
        retention_ms: int = -1,
        version: int = 9,
        with_ids: bool = True,
    ) -> dict[At, ErrorCode]:
        """Commit offsets, alone or with leader epoch and metadata; return the error of each."""
        topics = []
        for (name, partition), each in offsets.items():
            offset, epoch, metadata = (each, -1, "") if isinstance(each, int) else each
            row = OffsetCommitRequestPartition(partition, offset, epoch, metadata)
            topics.append(OffsetCommitRequestTopic(name, self.id_of(name) if with_ids else ZERO_UUID, [row]))
        request = OffsetCommitRequest(group, generation, member, instance, retention_ms, topics)
        response = self.log.run(commit_decision(self.shard.offsets, request, version, self.time))
        assert [topic.name for topic in response.topics] == [topic.name for topic in topics]
        return {
            (topic.name, row.partition_index): ErrorCode(row.error_code)
            for topic in response.topics
            for row in topic.partitions
        }

    def committed(self, offsets: Mapping[At, int | tuple[int, int, str]], *, group: str = "g") -> None:
        assert set(self.commit(offsets, group=group).values()) == {NONE}

    def fetch(
        self, at: Sequence[At] | None = None, *, group: str = "g", stable: bool = False, ids: Mapping[str, bytes] = {}
    ) -> Rows:
        """Return the rows of the answer; without `at`, of all committed offsets of the group."""
        if at is None:
            at = [(name, partition) for name, rows in self.shard.offsets.store.of(group).items() for partition in rows]
        topics = [OffsetFetchRequestTopics(name, ids.get(name, ZERO_UUID), [partition]) for name, partition in at]
        request = OffsetFetchRequestGroup(group, topics=topics)
        response = self.log.run(self.shard.offsets.fetch(request, require_stable=stable))
        assert (response.group_id, response.error_code, self.log.last) == (group, NONE, ())
        return {
            (topic.name, row.partition_index): (
                row.committed_offset,
                row.committed_leader_epoch,
                row.metadata or "",
                ErrorCode(row.error_code),
            )
            for topic in response.topics
            for row in topic.partitions
        }

    def offsets(self, group: str = "g") -> dict[At, int]:
        rows = self.fetch(group=group)
        assert {error for _, _, _, error in rows.values()} <= {NONE}
        return {at: row[0] for at, row in rows.items()}

    def delete(self, *at: At, group: str = "g") -> ErrorCode | dict[At, ErrorCode]:
        """Delete offsets; return the error of each partition, or that of the group."""
        prepared = PreparedDeletion(group, partial(self.shard.offsets.store.knows, group), GROUP_SERDE)
        for topic, partition in at:
            prepared.add(topic, (partition,))
        deleted = self.log.run(self.shard.offsets.delete(prepared))
        if deleted.error is not NONE:
            assert not deleted.subscribed
            return deleted.error
        return {each: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if each[0] in deleted.subscribed else NONE for each in at}

    def delete_topic(self, name: str) -> None:
        gone = self.topics.delete(name)
        self.log.run(self.shard.topics_deleted({gone.topic_id: name}))

    def listed(self) -> list[tuple[str, str, str, str]]:
        groups = self.shard.list_groups().response
        return sorted((g.group_id, g.group_type, g.protocol_type, g.group_state) for g in groups)

    def id_of(self, name: str) -> bytes:
        topic = self.topics.topic(name)
        assert topic is not None
        return topic.topic_id

    def has_members(
        self, *topics: str, group: str = "g", protocol_type: str = "consumer", instance: str | None = None
    ) -> None:
        """Create the group with one member, "m", of generation 5, that subscribes to these topics."""
        member = MemberMetadata("m", instance, "c", "/h", 60_000, 45_000, subscription(*topics), b"")
        self.has_record(group, GroupMetadataValue(protocol_type, 5, "range", "m", self.time.wall_ms(), [member]))

    def has_no_members_any_more(self, group: str = "g") -> None:
        """Create the group as it is after its last consumer left at this moment."""
        self.has_record(group, GroupMetadataValue("consumer", 6, None, None, self.time.wall_ms(), []))

    def has_record(self, group: str, value: GroupMetadataValue | None) -> None:
        key = GroupMetadataKey(group)
        record = group_tombstone(group) if value is None else CoordinatorRecord(key, value, 3)
        self.log.encoded.append(GROUP_SERDE.encode(record))
        self.log.reload()
