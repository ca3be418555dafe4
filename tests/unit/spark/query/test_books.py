"""The books of a run, case by case; random histories are in test_books_model."""

from __future__ import annotations

import pytest

from shareq.client.offsets import OffsetRanges
from shareq.client.share.session import AckRange
from shareq.protocol.errors import ErrorCode
from shareq.spark.offsets import INITIAL, BatchRange, SharePartition, SourceOffset
from shareq.spark.query.books import Acquired, QueryBooks, Verdicts
from shareq.spark.query.progress import Counters

ID = b"i" * 16
KEY = SharePartition("flights", ID, 0)
LOCK_MS = 30_000


class Books(QueryBooks):
    """The books of a query with a clock, one partition, and a session that a test can end."""

    def __init__(self, *, max_renew_ms: int = 600_000, max_delivery_count: int | None = None) -> None:
        self.counters = Counters()
        self.now_ms = 0.0
        self.session = 0
        super().__init__(max_renew_ms=max_renew_ms, max_delivery_count=max_delivery_count, counters=self.counters)

    def acquire(self, *rows: tuple[int, int] | tuple[int, int, int], topic_id: bytes = ID) -> Verdicts:
        found: list[Acquired] = [
            ("flights", topic_id, 0, row[0], row[1], row[2] if len(row) == 3 else 1) for row in rows
        ]
        return self.acquired(found, session_of=lambda *_: self.session, now_ms=self.now_ms, lock_ms=LOCK_MS)

    def batch(self, start: SourceOffset = INITIAL) -> SourceOffset:
        end = self.next_offset(start)
        assert end is not None
        return end

    def settle(self, acks: list[AckRange], code: int = ErrorCode.NONE) -> None:
        self.acknowledged([(ack, code) for ack in acks])


@pytest.fixture
def books() -> Books:
    return Books()


def ack(first: int, last: int) -> AckRange:
    return AckRange(ID, 0, first, last)


def test_nothing_acquired_is_no_new_offset() -> None:
    assert Books().next_offset(INITIAL) is None


def test_a_micro_batch_is_named_with_its_delivery_counts_and_accepted_when_the_next_begins(books: Books) -> None:
    books.acquire((0, 9), (20, 24, 3))
    end = books.batch()
    assert end == SourceOffset(1, {KEY: (BatchRange(0, 9, 1), BatchRange(20, 24, 3))})
    assert books.held == 15
    assert books.counters.redelivered == 5
    assert books.begin(end) == [ack(0, 9), ack(20, 24)]
    books.settle([ack(0, 9), ack(20, 24)])
    assert (books.held, books.unconfirmed, books.counters.accepted) == (0, 0, 15)
    books.acquire((10, 11))
    assert books.batch(end) == SourceOffset(2, {KEY: (BatchRange(10, 11, 1),)})


def test_asked_again_with_the_same_start_it_names_the_same_records_and_what_came_since(books: Books) -> None:
    books.acquire((0, 4))
    assert books.batch().batch == {KEY: (BatchRange(0, 4, 1),)}
    assert books.begin(INITIAL) == []
    books.acquire((5, 6))
    assert books.batch().batch == {KEY: (BatchRange(0, 6, 1),)}


def test_an_accept_that_failed_stays_in_the_offsets_until_it_comes_back(books: Books) -> None:
    books.acquire((0, 9))
    end = books.batch()
    books.settle(books.begin(end), ErrorCode.INVALID_RECORD_STATE)
    assert (books.held, books.unconfirmed, books.counters.lost) == (0, 10, 10)
    books.acquire((10, 10))
    after = books.batch(end)
    assert after.unconfirmed == {KEY: OffsetRanges([(0, 9)])}
    assert books.begin(after) == [ack(10, 10)]
    verdicts = books.acquire((0, 5, 2), (11, 12))
    assert verdicts.accept == [ack(0, 5)]
    assert books.counters.swallowed == 6
    books.settle(verdicts.accept)
    assert books.batch(after).batch == {KEY: (BatchRange(11, 12, 1),)}
    assert books.batch(after).unconfirmed == {KEY: OffsetRanges([(6, 10)])}


def test_a_record_that_comes_back_though_its_accept_was_confirmed_is_owed_again(books: Books) -> None:
    """The record is accepted again but not emitted: the broker lost its state, and the micro-batch has the record."""
    books.acquire((0, 9))
    end = books.batch()
    books.settle(books.begin(end))
    assert books.acquire((0, 4, 2), (10, 10)).accept == [ack(0, 4)]
    assert books.batch(end) == SourceOffset(2, {KEY: (BatchRange(10, 10, 1),)}, {KEY: OffsetRanges([(0, 4)])})
    assert books.begin(end) == [ack(0, 4)], "begun again, it does not pass for confirmed"
    assert books.unconfirmed == 5


def test_a_state_that_could_not_be_written_leaves_the_lock(books: Books) -> None:
    books.acquire((0, 9))
    end = books.batch()
    books.settle(books.begin(end), ErrorCode.COORDINATOR_NOT_AVAILABLE)
    assert books.held == 10
    assert books.begin(end) == [ack(0, 9)]
    books.settle([ack(0, 9)])
    assert books.next_offset(end) is None


def test_what_the_start_offset_has_passed_owes_nothing(books: Books) -> None:
    books.begin(SourceOffset(3, {KEY: (BatchRange(0, 9, 1),)}))
    books.below_start_offsets({KEY: 7, SharePartition("other", ID, 0): 3})
    assert books.unconfirmed == 3
    books.acquire((10, 10))
    assert books.batch().unconfirmed == {KEY: OffsetRanges([(7, 9)])}


def test_ack_log_accepts_what_the_log_has_and_not_again_later(books: Books) -> None:
    books.acquire((0, 9))
    end = books.batch()
    books.settle(books.log_written(end))
    assert (books.held, books.counters.accepted) == (0, 10)
    assert books.log_written(end) == []  # planned twice, as for a union with itself
    assert books.begin(end) == []
    assert books.unconfirmed == 0


def test_locks_of_a_lost_session_are_let_go_and_what_was_not_handed_out_is_forgotten(books: Books) -> None:
    books.acquire((0, 9))
    books.session = 1
    books.sessions(lambda *_: books.session)
    assert (books.held, books.counters.lost) == (0, 10)
    assert books.next_offset(INITIAL) is None
    books.acquire((0, 9, 2))
    books.sessions(lambda *_: books.session)
    assert books.batch().batch == {KEY: (BatchRange(0, 9, 2),)}


def test_locks_that_ran_out_are_let_go(books: Books) -> None:
    books.acquire((0, 9))
    books.expire(LOCK_MS - 1)
    assert books.held == 10
    books.expire(LOCK_MS)
    assert books.held == 0


def test_a_lock_that_comes_again_before_the_old_one_was_let_go_is_one_lock(books: Books) -> None:
    books.acquire((0, 9))
    books.now_ms = LOCK_MS - 10
    books.acquire((5, 14, 2))
    assert books.held == 15
    books.expire(LOCK_MS)
    assert books.batch().batch == {KEY: (BatchRange(5, 14, 2),)}


def test_renewals_are_due_after_a_third_and_end_at_the_cap() -> None:
    books = Books(max_renew_ms=40_000)
    books.acquire((0, 9))
    assert books.to_renew(9_999) == []
    assert books.to_renew(10_000) == [ack(0, 9)]
    assert books.renewed([(ack(0, 9), 0)], now_ms=10_000) == []
    assert books.counters.renewed == 10
    books.expire(LOCK_MS + 9_999)
    assert books.held == 10
    assert books.to_renew(39_999) == [ack(0, 9)]
    assert books.to_renew(40_000) == []
    books.expire(40_000)
    assert books.held == 0


def test_a_refused_renewal_leaves_the_lock_until_it_runs_out(books: Books) -> None:
    """A group without renewals also answers INVALID_RECORD_STATE, and an ACCEPT in time still works."""
    books.acquire((0, 9))
    results = [(ack(0, 4), ErrorCode.INVALID_RECORD_STATE), (ack(5, 9), ErrorCode.NONE)]
    assert books.renewed(results, now_ms=15_000) == results[:1]
    assert books.to_renew(24_999) == []  # not at once again
    assert books.to_renew(25_000) == [ack(5, 9), ack(0, 4)]
    books.expire(LOCK_MS)
    assert books.begin(SourceOffset(1, {KEY: (BatchRange(0, 9, 1),)})) == [ack(5, 9)]


def test_max_delivery_count_rejects_what_is_new_and_accepts_what_is_done() -> None:
    books = Books(max_delivery_count=3)
    books.begin(SourceOffset(1, {KEY: (BatchRange(0, 4, 1),)}))
    verdicts = books.acquire((0, 9, 3), (10, 12, 2))
    assert (verdicts.accept, verdicts.reject) == ([ack(0, 4)], [ack(5, 9)])
    books.rejected([(ack(5, 9), ErrorCode.NONE)])
    books.settle(verdicts.accept)
    assert books.counters.rejected == 5
    assert books.batch().batch == {KEY: (BatchRange(10, 12, 2),)}
    assert books.held == 3


def test_what_could_not_be_rejected_is_renewed_no_more() -> None:
    """The record's lock expires, so that the record is delivered again and then rejected."""
    books = Books(max_delivery_count=3)
    verdicts = books.acquire((0, 9, 3))
    books.rejected([(one, ErrorCode.COORDINATOR_NOT_AVAILABLE) for one in verdicts.reject])
    assert (books.held, books.counters.rejected) == (0, 0)
    assert books.to_renew(LOCK_MS / 2) == []
    assert books.acquire((0, 9, 4)).reject == verdicts.reject


def test_a_topic_that_was_created_again_is_another_topic(books: Books) -> None:
    """Offsets of the old topic never return and never mix with the new ones."""
    start = SourceOffset(4, {KEY: (BatchRange(0, 9, 1),)}, {KEY: OffsetRanges([(20, 29)])})
    books.begin(start)
    other = b"o" * 16
    assert books.acquire((0, 5), topic_id=other) == Verdicts()
    end = books.batch(start)
    assert end == SourceOffset(5, {SharePartition("flights", other, 0): (BatchRange(0, 5, 1),)})
    assert books.begin(start) == []
    assert books.batch(start) == end
    assert books.unconfirmed == 0


def test_renewals_end_so_long_after_the_poll_that_acquired_whenever_that_was() -> None:
    books = Books(max_renew_ms=40_000)
    books.now_ms = 1_000_000
    books.acquire((0, 9))
    for at_ms in (1_010_000, 1_020_000, 1_030_000):
        assert books.to_renew(at_ms - 1) == []
        assert books.to_renew(at_ms) == [ack(0, 9)]
        books.renewed([(ack(0, 9), ErrorCode.NONE)], now_ms=at_ms)
    assert books.to_renew(1_040_000) == []
    assert books.counters.renewed == 30


def test_counters_add_up(books: Books) -> None:
    books.acquire((0, 9))
    books.acquire((10, 14), (20, 20, 2))
    assert (books.counters.acquired, books.counters.redelivered) == (16, 1)
    books.settle([ack(0, 3), ack(100, 200)], ErrorCode.INVALID_RECORD_STATE)
    assert (books.counters.lost, books.held) == (4, 12), "those alone that were held"
    books.settle([ack(4, 5)], ErrorCode.INVALID_RECORD_STATE)
    assert (books.counters.lost, books.held) == (6, 10)


def test_what_a_lost_session_held_is_counted_by_itself_and_asked_for_by_topic_and_partition(books: Books) -> None:
    books.acquire((0, 9))
    books.settle([ack(0, 3)], ErrorCode.INVALID_RECORD_STATE)
    asked: list[tuple[bytes, int]] = []

    def session_of(topic_id: bytes, partition: int) -> int:
        asked.append((topic_id, partition))
        return 1

    assert books.sessions(session_of) == 6
    assert asked == [(ID, 0)]
    books.acquired([("flights", ID, 3, 0, 0, 1)], session_of=session_of, now_ms=0, lock_ms=LOCK_MS)
    assert asked == [(ID, 0), (ID, 3)]
    books.acknowledged([(AckRange(ID, 3, 0, 0), ErrorCode.NONE)])
    books.acquire((0, 4))
    assert (books.expire(LOCK_MS), books.counters.lost) == (5, 15)


def test_late_answers_to_renewals_of_a_topic_that_is_gone_do_no_harm(books: Books) -> None:
    books.acquire((0, 9))
    books.acquire((0, 5), topic_id=b"o" * 16)
    results = [(ack(0, 4), ErrorCode.INVALID_RECORD_STATE), (ack(5, 9), ErrorCode.NONE)]
    assert books.renewed(results, now_ms=10) == results[:1]
    assert books.held == 6
