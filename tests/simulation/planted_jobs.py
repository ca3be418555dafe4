from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Final

from shareq.broker.coordinator_runtime import replay as coordinator_load
from shareq.broker.fetch.wait import FetchWaits
from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.groups.offsets import Ask, GroupOffsetsService
from shareq.broker.log.cleaner.transactions import TransactionTrace
from shareq.broker.log.partition_log import PartitionLog
from shareq.broker.log.segments.reader import ReadResult
from shareq.broker.transactions import markers as transaction_markers
from shareq.broker.transactions.coordinator import TransactionCoordinatorService
from shareq.coordinator.group.classic import offset_rules, records, turn
from shareq.coordinator.group.classic.rpc import heartbeat, sync
from shareq.coordinator.group.consumer import offset_rules as consumer_offset_rules
from shareq.coordinator.group.consumer.target import reconciliation
from shareq.coordinator.group.offsets import fetch
from shareq.coordinator.group.offsets.store import OffsetStore
from shareq.coordinator.shard import CoordinatorResult
from shareq.coordinator.transaction import add_partitions, shard
from shareq.coordinator.transaction.metadata import TransactionState
from shareq.coordinator.transaction.outcome import ProducerResult
from shareq.coordinator.transaction.shard import TransactionCoordinatorShard
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.offset_commit import OffsetCommitRequest, OffsetCommitResponseTopic
from tests.support.planting import Fault, Function, in_place_of, replaced

# -- the end of a transaction


@in_place_of(TransactionCoordinatorService, "_ending")
def markers_are_written_before_the_decision_is_durable(
    original: Function, self: Any, transactional_id: str, operation: Callable[[Any], CoordinatorResult[ProducerResult]]
) -> Any:
    def at_once(shard_: TransactionCoordinatorShard) -> CoordinatorResult[ProducerResult]:
        result = operation(shard_)
        if result.response.markers is not None:
            self._markers.carry_out(self._partition(transactional_id), result.response.markers)
        return result._replace(response=replace(result.response, markers=None))

    return original(self, transactional_id, at_once)


def complete_although_a_marker_is_missing() -> AbstractContextManager[object]:
    everything: Any = frozenset(ErrorCode)
    return replaced((transaction_markers, "_NOTHING_TO_END", everything))


def a_start_forgets_prepared_transactions() -> AbstractContextManager[object]:
    return replaced((TransactionCoordinatorShard, "unfinished", lambda _self: []))


def transactions_never_time_out() -> AbstractContextManager[object]:
    return replaced((TransactionCoordinatorShard, "abort_timed_out", lambda _self: CoordinatorResult([])))


@in_place_of(shard, "initialize")
def a_new_epoch_leaves_the_transaction_open(original: Function, transaction: Any, *arguments: Any) -> Any:
    if transaction.state is TransactionState.ONGOING:
        transaction = replace(transaction, state=TransactionState.COMPLETE_ABORT)
    return original(transaction, *arguments)


@in_place_of(FetchWaits, "on_high_watermark")
def ends_of_transactions_wake_nobody(original: Function, self: FetchWaits, log: PartitionLog) -> None:
    read = log.read(max(log.high_watermark - 1, log.log_start_offset), 1, upto=log.high_watermark)
    if not isinstance(read, ReadResult) or not any(span.is_control for span in read.batches):
        original(self, log)


def aborted_transactions_are_not_returned() -> AbstractContextManager[object]:
    return replaced((PartitionLog, "aborted_transactions", lambda _self, _start, _end: []))


# -- zombies


@in_place_of(add_partitions, "_wrong_producer")
def the_epoch_is_not_checked_on_adding_partitions(
    _original: Function, transaction: Any, producer_id: int, _epoch: int
) -> ErrorCode:
    same = transaction.producer_id == producer_id
    return ErrorCode.NONE if same else ErrorCode.INVALID_PRODUCER_ID_MAPPING


@in_place_of(shard, "end_transaction")
def the_epoch_is_not_checked_on_ending(
    original: Function, transaction: Any, producer_id: int, epoch: int, **named: Any
) -> Any:
    if transaction is not None and transaction.producer_id == producer_id:
        epoch = transaction.producer_epoch
    return original(transaction, producer_id, epoch, **named)


# -- offsets


def pending_offsets_count_at_once() -> AbstractContextManager[object]:
    original = OffsetStore.put
    return replaced((OffsetStore, "put", lambda self, *offset: original(self, *offset[:4])))


@in_place_of(OffsetStore, "end_transaction")
def aborted_offsets_are_kept(original: Function, self: OffsetStore, producer_id: int, *, commit: bool) -> None:
    original(self, producer_id, commit=True)


@in_place_of(fetch, "fetched")
def pending_offsets_count_as_stable(original: Function, store: OffsetStore, group: Any, *, require_stable: bool) -> Any:
    return original(store, group, require_stable=False)


def markers_are_not_replayed() -> AbstractContextManager[object]:
    return replaced((coordinator_load, "_replay_marker", lambda _data, _shard: None))


@in_place_of(GroupOffsetsService, "commit")
async def offsets_are_answered_before_they_are_durable(
    original: Function,
    self: Any,
    request: OffsetCommitRequest,
    version: int,
    *,
    ask: Ask = lambda decide: decide(),
    **named: Any,
) -> Any:
    async def early(decide: Callable[[], Pending[ErrorCode]]) -> ErrorCode:
        def at_once() -> Pending[ErrorCode]:
            pending = decide()
            return pending if pending.done else completed(ErrorCode.NONE)

        return await ask(at_once)

    return await original(self, request, version, ask=early, **named)


@in_place_of(offset_rules, "commit_error")
def the_generation_is_not_checked_on_committing(
    original: Function, group: Any, member_id: str, instance_id: Any, generation: int, **named: Any
) -> Any:
    return original(group, member_id, instance_id, group.generation if generation >= 0 else generation, **named)


@in_place_of(consumer_offset_rules, "commit_error")
def the_member_epoch_is_not_checked_on_committing(
    original: Function, group: Any, request: OffsetCommitRequest, topics: Any, version: Any
) -> ErrorCode:
    error = original(group, request, topics, version)
    return ErrorCode.NONE if error is ErrorCode.STALE_MEMBER_EPOCH else error


@in_place_of(consumer_offset_rules, "commit_error")
def offsets_of_transactions_have_topics_without_ids(
    original: Function, group: Any, request: OffsetCommitRequest, topics: Any, version: Any
) -> Any:
    """Plant a fault that once existed: without topic ids, partitions kept since an earlier epoch are not recognised."""
    if version is None:
        topics = [OffsetCommitResponseTopic(topic.name, partitions=topic.partitions) for topic in topics]
    return original(group, request, topics, version)


def aborted_offsets_supersede_committed_ones_in_the_cleaner() -> AbstractContextManager[object]:
    return replaced((TransactionTrace, "is_aborted", lambda _self, _header: False))


# -- groups


def a_replaced_static_member_is_not_fenced() -> AbstractContextManager[object]:
    def member_error(group: Any, member_id: str, _instance_id: Any) -> ErrorCode:
        return ErrorCode.NONE if member_id in group.members else ErrorCode.UNKNOWN_MEMBER_ID

    return replaced(*((module, "member_error", member_error) for module in (turn, offset_rules, heartbeat)))


def partitions_are_taken_before_they_are_given_up() -> AbstractContextManager[object]:
    return replaced((reconciliation, "_is_free", lambda *_: True))


@in_place_of(sync, "group_record")
def the_generation_before_is_written_down(_original: Function, group: Any, assignments: Any) -> Any:
    record: Any = records.group_record(group, assignments)
    record.value.generation -= 1
    return record


HANGS: Final = "hangs, known is"
NEVER_DONE: Final = "the jobs are never done"
WRONG_OFFSET: Final = ": committed is"
REPLAYED: Final = "replayed"
ABORTED: Final = "was read, read_committed, and"
LOST: Final = "are lost, committed is"
DOUBLED: Final = "is doubled"
COPIED: Final = "are copied, committed is only"
NOT_FENCED: Final = "a fenced producer was accepted"
DUE: Final = "due was"

FAULTS: Final[dict[Fault, Sequence[str]]] = {
    markers_are_written_before_the_decision_is_durable: (HANGS, ABORTED, DOUBLED, COPIED, LOST, WRONG_OFFSET),
    complete_although_a_marker_is_missing: (HANGS,),
    a_start_forgets_prepared_transactions: ("is decided, and not ended",),
    transactions_never_time_out: ("is open at",),
    a_new_epoch_leaves_the_transaction_open: (HANGS, ABORTED, NEVER_DONE),
    ends_of_transactions_wake_nobody: (" waits for slot",),
    aborted_transactions_are_not_returned: (ABORTED, "its transaction is aborted"),
    the_epoch_is_not_checked_on_adding_partitions: (NOT_FENCED,),
    the_epoch_is_not_checked_on_ending: (NOT_FENCED,),
    pending_offsets_count_at_once: (WRONG_OFFSET, REPLAYED),
    aborted_offsets_are_kept: (WRONG_OFFSET, REPLAYED),
    pending_offsets_count_as_stable: ("is answered as stable, and one is pending", DOUBLED, WRONG_OFFSET),
    markers_are_not_replayed: (REPLAYED, NEVER_DONE, WRONG_OFFSET),
    offsets_are_answered_before_they_are_durable: (WRONG_OFFSET,),
    the_generation_is_not_checked_on_committing: (DUE, DOUBLED),
    the_member_epoch_is_not_checked_on_committing: (DUE, DOUBLED),
    offsets_of_transactions_have_topics_without_ids: (DUE,),
    aborted_offsets_supersede_committed_ones_in_the_cleaner: (REPLAYED, WRONG_OFFSET),
    a_replaced_static_member_is_not_fenced: (DUE, DOUBLED),
    partitions_are_taken_before_they_are_given_up: ("at once", DOUBLED),
    the_generation_before_is_written_down: (REPLAYED, "was answered, it became"),
}
