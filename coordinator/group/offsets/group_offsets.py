"""Committed offsets of the groups of one shard: requests, timers, and changes of topics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from shareq.coordinator.group.classic_groups import ClassicGroups
from shareq.coordinator.group.counters import GroupCounters
from shareq.coordinator.group.groups import Group
from shareq.coordinator.group.offsets import fetch, rules
from shareq.coordinator.group.offsets.commit import PreparedCommit
from shareq.coordinator.group.offsets.deletion import DeletedOffsets, PreparedDeletion
from shareq.coordinator.group.offsets.expiry import OffsetExpiry
from shareq.coordinator.group.offsets.records import committed_of, offset_tombstone
from shareq.coordinator.group.offsets.store import OffsetStore
from shareq.coordinator.shard import CoordinatorRecord, CoordinatorResult, RecordsTooLarge
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.legacy_offset_commit import LegacyOffsetCommitKey
from shareq.protocol.generated.offset_commit import OffsetCommitKey, OffsetCommitRequest
from shareq.protocol.generated.offset_fetch import OffsetFetchRequestGroup, OffsetFetchResponseGroup
from shareq.protocol.primitives import ZERO_UUID, Message


@dataclass(frozen=True, slots=True)
class OffsetSettings:
    """The settings `offset.metadata.max.bytes`, `offsets.retention.minutes` in milliseconds, and
    `offsets.retention.check.interval.ms`, with Apache Kafka's defaults.
    """

    longest_metadata: int = 4_096
    retention_ms: int = 604_800_000
    check_interval_ms: int = 600_000


class GroupOffsets:
    """The offsets of `groups`; `classic` makes simple groups, which only keep offsets. Owned by its shard; changed by
    replay alone.

    `wall_ms` returns the time of day.
    """

    def __init__(
        self,
        groups: Mapping[str, Group],
        classic: ClassicGroups,
        wall_ms: Callable[[], int],
        settings: OffsetSettings,
        counters: GroupCounters,
    ) -> None:
        self.settings = settings
        self._counters = counters
        self.store = OffsetStore()
        self._groups = groups
        self._classic = classic
        self._wall_ms = wall_ms
        self._expiry = OffsetExpiry(groups, self.store, settings.retention_ms, settings.check_interval_ms, counters)

    # -- requests

    def commit(
        self, request: OffsetCommitRequest, version: int, now_ms: int, prepared: PreparedCommit
    ) -> CoordinatorResult[ErrorCode]:
        """Decide on one OffsetCommit whose topics were `prepared`; those in the request are ignored.

        A commit without a generation to a group that does not exist makes a simple group. An error is that of all
        partitions: see `rules.commit_error`. Raises RecordsTooLarge.
        """
        error = rules.commit_error(self._groups.get(request.group_id), request, prepared.topics, version)
        if error is not ErrorCode.NONE:
            return CoordinatorResult(error)
        self._classic.committed(request.group_id, request.member_id, now_ms)
        return self._prepared(prepared)

    def commit_transactional(
        self, request: OffsetCommitRequest, version: int, prepared: PreparedCommit
    ) -> CoordinatorResult[ErrorCode]:
        """Decide on one TxnOffsetCommit of that version, in the form of an OffsetCommit whose topics were `prepared`.

        The records belong to the producer's transaction. They have the topics' ids, which Apache Kafka before 4.4
        leaves out, so that offsets of a deleted topic are never used for a later one of its name. An error is that of
        all partitions: see `rules.transactional_commit_error`. Raises RecordsTooLarge.
        """
        error = rules.transactional_commit_error(self._groups.get(request.group_id), request, prepared.topics, version)
        return self._prepared(prepared) if error is ErrorCode.NONE else CoordinatorResult(error)

    def _prepared(self, prepared: PreparedCommit) -> CoordinatorResult[ErrorCode]:
        if prepared.is_too_large:
            raise RecordsTooLarge
        self._counters.offset_commits += len(prepared.records)
        return CoordinatorResult(ErrorCode.NONE, tuple(prepared.records), encoded=tuple(prepared.encoded))

    def fetch(
        self, group: OffsetFetchRequestGroup, *, require_stable: bool
    ) -> CoordinatorResult[OffsetFetchResponseGroup]:
        """Return the offsets of one group; see `fetch.fetched`.

        A group that does not exist has no offsets, which is no error. Errors: see `rules.fetch_error`.
        """
        known = self._groups.get(group.group_id)
        if not rules.has_offsets(known):
            return CoordinatorResult(fetch.nothing(group))
        error = rules.fetch_error(known, group)
        if error is not ErrorCode.NONE:
            return CoordinatorResult(fetch.refused(group, error))
        return CoordinatorResult(fetch.fetched(self.store, group, require_stable=require_stable))

    def delete(self, prepared: PreparedDeletion) -> CoordinatorResult[DeletedOffsets]:
        """Handle one OffsetDelete. Errors: GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP; of topics: GROUP_SUBSCRIBED_TO_TOPIC.
        Deleting an offset that was never committed is no error.
        """
        group = self._groups.get(prepared.group_id)
        error = rules.delete_error(group)
        if error is not ErrorCode.NONE:
            return CoordinatorResult(DeletedOffsets(error))
        read = rules.read_topics(group)
        subscribed = frozenset(prepared.topics) if read is None else read.intersection(prepared.topics)
        records, encoded = prepared.left(partial(self.store.knows, prepared.group_id), subscribed)
        self._counters.offset_deletions += len(records)
        return CoordinatorResult(DeletedOffsets(error, subscribed), records, encoded=encoded)

    def tombstones(self, group_id: str) -> tuple[CoordinatorRecord, ...]:
        """Build the tombstones of all offsets of a group that is about to be removed."""
        return tuple(offset_tombstone(group_id, topic, partition) for topic, partition in self.store.known(group_id))

    # -- news of topics

    def topics(self) -> dict[bytes, str]:
        """Return the names of topics with committed offsets, by id, for offsets whose records have the id."""
        return {
            committed.topic_id: topic for _, topic, _, committed in self.store.all() if committed.topic_id != ZERO_UUID
        }

    def topics_without_id(self) -> set[str]:
        """Return the names of topics with an offset that has no topic id: one with a retention of its own, or one of an
        earlier release.
        """
        return {topic for _, topic, _, committed in self.store.all() if committed.topic_id == ZERO_UUID}

    def topics_deleted(self, topics: Mapping[bytes, str]) -> tuple[CoordinatorRecord, ...]:
        """Remove the offsets of deleted topics, given as id to name; those without a topic id by the topic's name."""
        at = {
            (group_id, name, partition)
            for topic_id, name in topics.items()
            for group_id, partition, committed in self.store.of_topic(name)
            if committed.topic_id in (topic_id, ZERO_UUID)
        }
        return tuple(offset_tombstone(*each) for each in sorted(at))

    # -- records

    def replay(
        self, key: OffsetCommitKey | LegacyOffsetCommitKey, value: Message | None, record_offset: int, producer_id: int
    ) -> None:
        """Apply a commit or a tombstone. A commit to a group without a record makes a simple group.

        `producer_id`: the producer of the transaction that the commit belongs to, or NO_PRODUCER.
        """
        committed = committed_of(value, record_offset)
        if committed is None:
            self.store.remove(key.group, key.topic, key.partition)
            return
        if key.group not in self._groups:
            self._classic.ensure(key.group)
        self.store.put(key.group, key.topic, key.partition, committed, producer_id)

    # -- time

    def on_loaded(self, now_ms: int) -> None:
        self._expiry.begin(now_ms)

    def next_deadline_ms(self) -> int | None:
        return self._expiry.check_at_ms

    def on_deadline(self, now_ms: int) -> tuple[CoordinatorRecord, ...]:
        """Remove expired offsets, and groups without members and offsets."""
        return self._expiry.on_deadline(now_ms, self._wall_ms())
