"""Faults to plant in transactions, committed offsets and consumer groups, for seeds about jobs; see `planted`."""

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
from shareq.broker.transactions import markers as transaction_markers
from shareq.broker.transactions.coordinator import TransactionCoordinatorService
from shareq.coordinator.group.classic import offset_rules, records, turn
from shareq.coordinator.group.classic.rpc import heartbeat, sync
from shareq.coordinator.group.consumer import offset_rules as consumer_offset_rules
from shareq.coordinator.group.consumer.target import reconciliation
from shareq.coordinator.group.offsets import fetch
from shareq.coordinator.group.offsets.store import OffsetStore
from shareq.coordinator.shard import CoordinatorResult
from shareq.coordinator.transaction import add_partitions, end_txn, init_producer_id, shard
from shareq.coordinator.transaction.metadata import TransactionState
from shareq.coordinator.transaction.outcome import Decision, ProducerResult
from shareq.coordinator.transaction.shard import TransactionCoordinatorShard
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponseTopic,
)
from tests.simulation.planted import Fault, replaced

# -- the end of a transaction


def markers_are_written_before_the_decision_is_durable() -> AbstractContextManager[object]:
    original = TransactionCoordinatorService._ending

    def ending(self: Any, transactional_id: str, operation: Callable[[Any], CoordinatorResult[ProducerResult]]) -> Any:
        def at_once(shard_: TransactionCoordinatorShard) -> CoordinatorResult[ProducerResult]:
            result = operation(shard_)
            if result.response.markers is not None:
                self._markers.carry_out(self._partition(transactional_id), result.response.markers)
            return result._replace(response=replace(result.response, markers=None))

        return original(self, transactional_id, at_once)

    return replaced((TransactionCoordinatorService, "_ending", ending))


def complete_although_a_marker_is_missing() -> AbstractContextManager[object]:
    everything: Any = frozenset(ErrorCode)
    return replaced((transaction_markers, "_NOTHING_TO_END", everything))


def a_start_forgets_prepared_transactions() -> AbstractContextManager[object]:
    return replaced((TransactionCoordinatorShard, "unfinished", lambda _self: []))


def transactions_never_time_out() -> AbstractContextManager[object]:
    return replaced((TransactionCoordinatorShard, "abort_timed_out", lambda _self: CoordinatorResult([])))


def a_new_epoch_leaves_the_transaction_open() -> AbstractContextManager[object]:
    original = init_producer_id.initialize

    def initialize(transaction: Any, *arguments: Any) -> Decision:
        if transaction.state is TransactionState.ONGOING:
            transaction = replace(transaction, state=TransactionState.COMPLETE_ABORT)
        return original(transaction, *arguments)

    return replaced((shard, "initialize", initialize))


def ends_of_transactions_wake_nobody() -> AbstractContextManager[object]:
    original = FetchWaits.on_high_watermark

    def on_high_watermark(self: FetchWaits, log: PartitionLog) -> None:
        read = log.read(max(log.high_watermark - 1, log.log_start_offset), 1, upto=log.high_watermark)
        if isinstance(read, ErrorCode) or not any(span.is_control for span in read.batches):
            original(self, log)

    return replaced((FetchWaits, "on_high_watermark", on_high_watermark))


def aborted_transactions_are_not_returned() -> AbstractContextManager[object]:
    return replaced((PartitionLog, "aborted_transactions", lambda _self, _start, _end: []))


# -- zombies


def the_epoch_is_not_checked_on_adding_partitions() -> AbstractContextManager[object]:
    def wrong_producer(transaction: Any, producer_id: int, _epoch: int) -> ErrorCode:
        same = transaction.producer_id == producer_id
        return ErrorCode.NONE if same else ErrorCode.INVALID_PRODUCER_ID_MAPPING

    return replaced((add_partitions, "_wrong_producer", wrong_producer))


def the_epoch_is_not_checked_on_ending() -> AbstractContextManager[object]:
    original = end_txn.end_transaction

    def end_transaction(transaction: Any, producer_id: int, epoch: int, **named: Any) -> Decision:
        if transaction is not None and transaction.producer_id == producer_id:
            epoch = transaction.producer_epoch
        return original(transaction, producer_id, epoch, **named)

    return replaced((shard, "end_transaction", end_transaction))


# -- offsets


def pending_offsets_count_at_once() -> AbstractContextManager[object]:
    original = OffsetStore.put
    return replaced((OffsetStore, "put", lambda self, *offset: original(self, *offset[:4])))


def aborted_offsets_are_kept() -> AbstractContextManager[object]:
    original = OffsetStore.end_transaction

    def end_transaction(self: OffsetStore, producer_id: int, *, commit: bool) -> None:
        original(self, producer_id, commit=True)

    return replaced((OffsetStore, "end_transaction", end_transaction))


def pending_offsets_count_as_stable() -> AbstractContextManager[object]:
    original = fetch.fetched

    def fetched(store: OffsetStore, group: Any, *, require_stable: bool) -> Any:
        return original(store, group, require_stable=False)

    return replaced((fetch, "fetched", fetched))


def markers_are_not_replayed() -> AbstractContextManager[object]:
    return replaced((coordinator_load, "_replay_marker", lambda _data, _shard: None))


def offsets_are_answered_before_they_are_durable() -> AbstractContextManager[object]:
    original = GroupOffsetsService.commit

    async def answered(
        self: Any, request: OffsetCommitRequest, version: int, *, ask: Ask = lambda decide: decide(), **named: Any
    ) -> OffsetCommitResponse:
        async def early(decide: Callable[[], Pending[ErrorCode]]) -> ErrorCode:
            def at_once() -> Pending[ErrorCode]:
                pending = decide()
                return pending if pending.done else completed(ErrorCode.NONE)

            return await ask(at_once)

        return await original(self, request, version, ask=early, **named)

    return replaced((GroupOffsetsService, "commit", answered))


def the_generation_is_not_checked_on_committing() -> AbstractContextManager[object]:
    original = offset_rules.commit_error

    def commit_error(group: Any, member_id: str, instance_id: Any, generation: int, **named: Any) -> ErrorCode:
        return original(group, member_id, instance_id, group.generation if generation >= 0 else generation, **named)

    return replaced((offset_rules, "commit_error", commit_error))


def the_member_epoch_is_not_checked_on_committing() -> AbstractContextManager[object]:
    original = consumer_offset_rules.commit_error

    def commit_error(group: Any, request: OffsetCommitRequest, topics: Any, version: Any) -> ErrorCode:
        error = original(group, request, topics, version)
        return ErrorCode.NONE if error is ErrorCode.STALE_MEMBER_EPOCH else error

    return replaced((consumer_offset_rules, "commit_error", commit_error))


def offsets_of_transactions_have_topics_without_ids() -> AbstractContextManager[object]:
    """Once found: what a member has had since an earlier epoch cannot be known then."""
    original = consumer_offset_rules.commit_error

    def commit_error(group: Any, request: OffsetCommitRequest, topics: Any, version: Any) -> ErrorCode:
        if version is None:
            topics = [OffsetCommitResponseTopic(topic.name, partitions=topic.partitions) for topic in topics]
        return original(group, request, topics, version)

    return replaced((consumer_offset_rules, "commit_error", commit_error))


def aborted_offsets_supersede_committed_ones_in_the_cleaner() -> AbstractContextManager[object]:
    return replaced((TransactionTrace, "is_aborted", lambda _self, _header: False))


# -- groups


def a_replaced_static_member_is_not_fenced() -> AbstractContextManager[object]:
    def member_error(group: Any, member_id: str, _instance_id: Any) -> ErrorCode:
        return ErrorCode.NONE if member_id in group.members else ErrorCode.UNKNOWN_MEMBER_ID

    return replaced(*((module, "member_error", member_error) for module in (turn, offset_rules, heartbeat)))


def partitions_are_taken_before_they_are_given_up() -> AbstractContextManager[object]:
    return replaced((reconciliation, "_is_free", lambda *_: True))


def the_generation_before_is_written_down() -> AbstractContextManager[object]:
    def group_record(group: Any, assignments: Any) -> Any:
        record: Any = records.group_record(group, assignments)
        record.value.generation -= 1
        return record

    return replaced((sync, "group_record", group_record))


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
