"""Faults to plant in deletions and expiries that jobs meet: of topics, offsets, groups, records; see `planted`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final

from shareq.broker.fetch.read import FetchRead
from shareq.broker.fetch.wait import FetchWaits
from shareq.broker.groups.coordinator import GroupCoordinatorService
from shareq.broker.groups.offsets import GroupOffsetsService
from shareq.broker.log.manager import LogManager
from shareq.broker.log.partition_log import PartitionLog
from shareq.coordinator.group.classic.group import ClassicGroup
from shareq.coordinator.group.consumer.group import ConsumerGroup
from shareq.coordinator.group.offsets import expiry, rules
from shareq.coordinator.group.offsets.commit import PreparedCommit
from shareq.coordinator.group.offsets.group_offsets import GroupOffsets
from shareq.coordinator.group.offsets.offset import CommittedOffset
from shareq.coordinator.group.offsets.store import OffsetStore
from shareq.coordinator.group.serde import GROUP_SERDE
from shareq.coordinator.group.shard import GroupCoordinatorShard
from shareq.coordinator.ports import TopicImage
from shareq.coordinator.shard import CoordinatorResult
from shareq.protocol.errors import NO_ERROR
from shareq.protocol.generated.offset_commit import OffsetCommitRequest, OffsetCommitValue
from shareq.protocol.primitives import ZERO_UUID
from shareq.protocol.records.batch import RecordData
from tests.simulation.planted_jobs import COPIED, DUE, WRONG_OFFSET
from tests.support.planting import Fault, Function, in_place_of, replaced

# -- topics


def a_deleted_topic_keeps_its_offsets() -> AbstractContextManager[object]:
    return replaced((GroupOffsets, "topics_deleted", lambda _self, _topics: ()))


@in_place_of(OffsetStore, "of_topic")
def pending_offsets_outlive_their_topic(
    _original: Function, self: OffsetStore, topic: str
) -> Iterator[tuple[str, int, CommittedOffset]]:
    for group_id in self.group_ids():
        for partition, committed in self.of(group_id).get(topic, {}).items():
            yield group_id, partition, committed


def a_start_does_not_finish_deletions_of_offsets() -> AbstractContextManager[object]:
    return replaced((GroupCoordinatorService, "_finish_deletions", lambda _self: None))


def offsets_of_transactions_lack_their_topics_ids() -> AbstractContextManager[object]:
    """Plant a fault that once existed: after a crash, offsets count for the next topic of the name."""
    original = GroupOffsets.commit_transactional

    def commit_transactional(
        self: GroupOffsets, request: OffsetCommitRequest, version: int, prepared: PreparedCommit
    ) -> Any:
        for record in prepared.records:
            if isinstance(record.value, OffsetCommitValue):
                record.value.topic_id = ZERO_UUID
        prepared.encoded = [RecordData(*GROUP_SERDE.encode(record)) for record in prepared.records]
        return original(self, request, version, prepared)

    return replaced(
        (GroupOffsets, "commit_transactional", commit_transactional), (GroupOffsets, "topics_without_id", lambda _: ())
    )


def offsets_are_committed_in_topics_that_went_meanwhile() -> AbstractContextManager[object]:
    """Plant a fault that once existed: the topic is deleted while offsets wait to become part of their transaction."""
    return replaced((PreparedCommit, "leave_out", lambda _self, _topic_ids: None))


def topic_ids_are_not_looked_at() -> AbstractContextManager[object]:
    """Plant the fault that offsets are committed and fetched for whatever topic has the name now."""
    original, names = GroupOffsetsService._topic, dict[bytes, str]()

    def topic(self: Any, name_or_id: str | bytes) -> TopicImage | None:
        found = original(self, name_or_id)
        if found is not None:
            names[found.topic_id] = found.name
        if found is None and isinstance(name_or_id, bytes) and name_or_id in names:
            return original(self, names[name_or_id])
        return found

    return replaced((GroupOffsetsService, "_topic", topic))


def readers_of_a_deleted_topic_go_on_waiting() -> AbstractContextManager[object]:
    return replaced((FetchWaits, "topics_deleted", lambda _self, _topic_ids: None))


# -- offsets and groups


def offsets_of_topics_that_members_read_are_deleted() -> AbstractContextManager[object]:
    return replaced((ConsumerGroup, "subscribed_topics", lambda _self: frozenset()))


@in_place_of(GroupOffsets, "delete")
def offsets_that_are_pending_are_not_deleted(original: Function, self: GroupOffsets, prepared: Any) -> Any:
    result = original(self, prepared)
    pending = self.store.pending(prepared.group_id)
    records = [each for each in result.records if (_key(each).topic, _key(each).partition) not in pending]
    return result._replace(records=tuple(records), encoded=())


def _key(record: Any) -> Any:
    return record.key


@in_place_of(GroupCoordinatorShard, "delete_group")
def a_group_with_members_is_deleted(original: Function, self: GroupCoordinatorShard, group_id: str) -> Any:
    group = self.classic.group(group_id)
    if group is None:
        return original(self, group_id)
    return CoordinatorResult(NO_ERROR, self.offsets.tombstones(group_id) + rules.group_tombstones(group))


def a_deleted_group_leaves_its_offsets() -> AbstractContextManager[object]:
    return replaced((GroupOffsets, "tombstones", lambda _self, _group_id: ()))


# -- records


@in_place_of(LogManager, "write_offsets")
def the_start_of_a_log_is_not_saved(
    original: Function, self: LogManager, name: str, offsets: Mapping[Any, int], sync: bool = False
) -> None:
    if name != "log-start-offset-checkpoint":
        original(self, name, offsets, sync)


@in_place_of(PartitionLog, "aborted_transactions")
def aborted_transactions_that_begin_below_the_start_are_forgotten(
    original: Function, self: PartitionLog, first_offset: int, upper_bound: int
) -> Any:
    return [each for each in original(self, first_offset, upper_bound) if each.first_offset >= self.log_start_offset]


@in_place_of(FetchRead, "_read")
def what_is_deleted_can_be_read(
    original: Function, self: FetchRead, partition: Any, log: PartitionLog, limits: Any
) -> None:
    """Plant the fault that deleted records can be read as long as their segment exists."""
    start, log.log_start_offset = log.log_start_offset, 0
    try:
        original(self, partition, log, limits)
    finally:
        log.log_start_offset = start


def a_reader_whose_next_record_is_deleted_goes_on_waiting() -> AbstractContextManager[object]:
    """Plant a fault that once existed: waiting fetches are not woken when the log start moves."""
    return replaced((FetchWaits, "on_log_start", lambda _self, _log: None))


# -- retention


@in_place_of(expiry, "expired")
def offsets_expire_while_a_transaction_has_them_pending(
    original: Function, group: Any, store: OffsetStore, *arguments: int
) -> Iterator[tuple[str, int]]:
    opened, store._open = store._open, {}
    try:
        return iter(list(original(group, store, *arguments)))
    finally:
        store._open = opened


@in_place_of(expiry, "expired")
def offsets_expire_while_members_read_the_topic(
    original: Function, group: Any, *arguments: Any
) -> Iterator[tuple[str, int]]:
    with replaced((rules, "read_topics", lambda _group: frozenset())):
        return iter(list(original(group, *arguments)))


def offsets_never_expire() -> AbstractContextManager[object]:
    return replaced((expiry, "expired", lambda *_: iter(())))


@in_place_of(rules, "expires_from_ms")
def offsets_of_classic_groups_expire_from_their_commit_on(
    original: Function, group: Any, committed_ms: int
) -> int | None:
    return committed_ms if isinstance(group, ClassicGroup) and group.is_empty else original(group, committed_ms)


GONE: Final = "that topic was deleted"
EXPIRED: Final = "has expired and stays"

FAULTS: Final[dict[Fault, Sequence[str]]] = {
    a_deleted_topic_keeps_its_offsets: (GONE, WRONG_OFFSET),
    pending_offsets_outlive_their_topic: (GONE, WRONG_OFFSET),
    a_start_does_not_finish_deletions_of_offsets: (GONE, WRONG_OFFSET),
    offsets_of_transactions_lack_their_topics_ids: (GONE, WRONG_OFFSET),
    offsets_are_committed_in_topics_that_went_meanwhile: (GONE, WRONG_OFFSET),
    topic_ids_are_not_looked_at: (DUE, "is gone, its offset was answered"),
    readers_of_a_deleted_topic_go_on_waiting: ("waits for slot", "is gone, a fetch was answered"),
    offsets_of_topics_that_members_read_are_deleted: (DUE,),
    offsets_that_are_pending_are_not_deleted: (WRONG_OFFSET, COPIED),
    a_group_with_members_is_deleted: (DUE, "is gone, it had members"),
    a_deleted_group_leaves_its_offsets: (WRONG_OFFSET,),
    the_start_of_a_log_is_not_saved: ("begins at",),
    aborted_transactions_that_begin_below_the_start_are_forgotten: (
        "its transaction is aborted",
        "was read, read_committed, and",
    ),
    what_is_deleted_can_be_read: ("was answered NONE", "was answered KAFKA_STORAGE_ERROR"),
    a_reader_whose_next_record_is_deleted_goes_on_waiting: ("waits for slot",),
    offsets_expire_while_a_transaction_has_them_pending: (WRONG_OFFSET, COPIED),
    offsets_expire_while_members_read_the_topic: (WRONG_OFFSET,),
    offsets_never_expire: (EXPIRED,),
    offsets_of_classic_groups_expire_from_their_commit_on: (WRONG_OFFSET,),
}
