from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final

from shareq.broker.foundation.environment import Environment, SyncErrors
from shareq.broker.foundation.pending import Pending
from shareq.broker.log.cleaner.schedule import CleanerHost, Cleaning, LogCleaner
from shareq.broker.log.cleaner.survivors import Newest, Role, latest_value
from shareq.broker.log.partition_log import PartitionLog
from shareq.broker.log.segments import swap
from shareq.broker.share import leader as share_leaders
from shareq.broker.share.leader import SharePartitionLeader
from tests.simulation.planted import BACK, CORRUPT, DELIVERED_AFTER_ANSWER, EPOCH_LOST, GROUP_LOST, LOST, MEMBER_LOST
from tests.support.planting import Fault, Function, in_place_of, replaced

# -- compaction


@in_place_of(LogCleaner, "__init__")
def last_value_per_key_of_share_states(
    original: Function, self: LogCleaner, env: Environment, host: CleanerHost, cleaning: Cleaning
) -> None:
    original(self, env, host, cleaning._replace(rule_for=lambda _topic: latest_value))


@in_place_of(Newest, "note")
def tombstone_goes_before_what_it_deletes(
    original: Function, self: Newest, records: Iterable[Any], end_offset: int
) -> Any:
    states = [record for record in records if self._rule(record.key, record.has_value)[0] is not Role.END]
    return original(self, states, end_offset)


@in_place_of(LogCleaner, "_sync")
def cleaned_segment_is_not_synced(_original: Function, self: LogCleaner, segment: Any) -> Pending[SyncErrors]:
    synced: Pending[SyncErrors] = Pending()
    segment.synced = segment.size
    self._env.clock.call_soon(lambda: synced.complete({}))
    return synced


def interrupted_swap_is_not_finished() -> AbstractContextManager[object]:
    return replaced((swap, "finish_interrupted", lambda _fs, _folder, _names: None))


@in_place_of(Newest, "keeps")
def cleaner_drops_changes_of_share_states(original: Function, self: Newest, record: Any, ends_are_over: bool) -> bool:
    role, _ = self._rule(record.key, record.has_value)
    return original(self, record, ends_are_over) and not (role is Role.CHANGE and record.offset < self.end_offset)


# -- transactions


def aborted_records_are_delivered() -> AbstractContextManager[object]:
    return replaced((SharePartitionLeader, "aborted", lambda _self, _read: ()))


def open_transactions_are_read() -> AbstractContextManager[object]:
    everything: Any = property(lambda self: self.high_watermark)
    return replaced((PartitionLog, "last_stable_offset", everything))


@in_place_of(share_leaders, "aborted_ranges")
def committed_records_count_as_aborted(
    _original: Function, spans: Sequence[Any], _transactions: object
) -> list[tuple[int, int]]:
    return [(span.base_offset, span.last_offset) for span in spans if span.is_transactional and not span.is_control]


@in_place_of(PartitionLog, "restore")
def open_transactions_are_forgotten_by_a_start(
    original: Function, self: PartitionLog, recovered: Any, *arguments: Any, **options: Any
) -> None:
    recovered.producers._open.clear()
    original(self, recovered, *arguments, **options)


STATELESS: Final = "has no durable state"

FAULTS: Final[dict[Fault, Sequence[str]]] = {
    last_value_per_key_of_share_states: ("replayed", DELIVERED_AFTER_ANSWER),
    tombstone_goes_before_what_it_deletes: ("replayed", "was deleted", BACK, "cannot be read"),
    cleaned_segment_is_not_synced: (
        "replayed",
        EPOCH_LOST,
        DELIVERED_AFTER_ANSWER,
        BACK,
        GROUP_LOST,
        MEMBER_LOST,
        CORRUPT,
        "went back",
        STATELESS,
    ),
    interrupted_swap_is_not_finished: (
        "replayed",
        EPOCH_LOST,
        DELIVERED_AFTER_ANSWER,
        BACK,
        GROUP_LOST,
        MEMBER_LOST,
        STATELESS,
    ),
    cleaner_drops_changes_of_share_states: ("replayed", "went back"),
    aborted_records_are_delivered: ("its transaction is aborted",),
    open_transactions_are_read: ("its transaction is open", "behind the transaction"),
    committed_records_count_as_aborted: (LOST,),
    open_transactions_are_forgotten_by_a_start: ("its transaction is open", "behind the transaction"),
}
