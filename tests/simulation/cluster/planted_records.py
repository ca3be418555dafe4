"""Faults to plant in a node's records: each must be noticed by a known seed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final

from shareq.broker.log.segments.reader import BatchSpan
from shareq.broker.log.segments.txn_index import AbortedTransaction
from shareq.cluster.records import aborted, chunks, feed, source
from shareq.cluster.records.aborted import AbortedRow
from shareq.cluster.records.behind import BehindFetches
from shareq.cluster.records.cache import ChunkCache, Place
from shareq.cluster.records.feed import RecordFeed
from shareq.cluster.records.fetch_session import FetchSession
from shareq.cluster.records.fetching import Asked
from shareq.cluster.records.source import LogEnds, PartitionRecords
from shareq.cluster.records.tails import TailFetches
from tests.support.planting import Fault, Function, in_place_of, replaced


@in_place_of(feed, "common_end")
def a_cut_log_is_not_noticed(original: Function, anchor: Any, *others: Any) -> int:
    original(anchor, *others)
    return 1 << 60


@in_place_of(PartitionRecords, "cut")
def a_cut_log_keeps_its_chunks(original: Function, self: PartitionRecords, end_offset: int) -> None:
    with replaced((ChunkCache, "forget", lambda *_: None)):
        original(self, end_offset)


def answers_of_deposed_leaders_count() -> AbstractContextManager[object]:
    return replaced((Asked, "is_current", lambda _self: True))


def transactions_are_all_decided() -> AbstractContextManager[object]:
    return replaced((chunks, "has_transactions", lambda _batches: False))


@in_place_of(chunks, "with_ends")
def an_aborted_transaction_ends_with_its_chunk(
    original: Function, rows: Iterable[AbortedRow], batches: Sequence[BatchSpan]
) -> list[AbortedTransaction]:
    return [one._replace(last_offset=batches[-1].last_offset) for one in original(rows, batches)]


@in_place_of(aborted, "_with_end")
def an_aborted_transaction_ends_with_any_marker(
    original: Function, row: AbortedRow, markers: Sequence[int], end: int
) -> AbortedTransaction:
    found: AbortedTransaction = original(row, markers, end)
    return found._replace(last_offset=markers[0]) if markers else found


def only_the_first_chunk_is_asked_for_aborted_ones() -> AbstractContextManager[object]:
    def united(parts: Iterable[Sequence[AbortedTransaction]], _first: int, _upper: int) -> list[AbortedTransaction]:
        return list(next(iter(parts), ()))

    return replaced((source, "united", united))


def nothing_gives_way() -> AbstractContextManager[object]:
    return replaced((ChunkCache, "_make_room", lambda _self, _newest: None))


@in_place_of(PartitionRecords, "set_ends")
def log_starts_do_not_move(original: Function, self: PartitionRecords, ends: LogEnds) -> bool:
    known = ends._replace(log_start_offset=self.log_start_offset) if self.has_ends else ends
    moved: bool = original(self, known)
    return moved


def sessions_outlive_lost_answers() -> AbstractContextManager[object]:
    return replaced((FetchSession, "reset", lambda _self, keeps_id=True: None))


def what_is_wanted_is_asked_for_once() -> AbstractContextManager[object]:
    def want(self: Any, wanted: PartitionRecords, offset: int) -> None:
        seen = self.__dict__.setdefault("seen", set())
        if (wanted, offset) not in seen:
            seen.add((wanted, offset))
            original(self, wanted, offset)

    original = BehindFetches.want
    return replaced((BehindFetches, "want", want))


def a_left_out_tail_is_not_looked_at() -> AbstractContextManager[object]:
    def wanted(_self: TailFetches, _source: PartitionRecords) -> None:
        return None

    return replaced((TailFetches, "wanted", wanted))


@in_place_of(RecordFeed, "out_of_range")
def what_is_out_of_range_stays_so(_original: Function, _self: RecordFeed, *_where: Any) -> None:
    return None


@in_place_of(RecordFeed, "_on_leader")
def sources_stay_with_their_first_leaders(
    original: Function, self: RecordFeed, topic_id: bytes, partition: int
) -> None:
    source = self._sources.get(Place(topic_id, partition))
    if source is None or source.leader is None:
        original(self, topic_id, partition)


FAULTS: Final[Sequence[Fault]] = (
    a_cut_log_is_not_noticed,
    a_cut_log_keeps_its_chunks,
    answers_of_deposed_leaders_count,
    transactions_are_all_decided,
    an_aborted_transaction_ends_with_its_chunk,
    an_aborted_transaction_ends_with_any_marker,
    only_the_first_chunk_is_asked_for_aborted_ones,
    nothing_gives_way,
    log_starts_do_not_move,
    sessions_outlive_lost_answers,
    what_is_wanted_is_asked_for_once,
    a_left_out_tail_is_not_looked_at,
    what_is_out_of_range_stays_so,
    sources_stay_with_their_first_leaders,
)
