"""Records of aborted transactions are archived instead of delivered (KIP-932, reading transactional records)."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from shareq.broker.share.core.aborted import aborted_ranges, cut_out, held_before
from shareq.broker.share.core.partition import SharePartition
from shareq.broker.share.core.values import AcquiredRange
from shareq.protocol.errors import ErrorCode
from tests.support.each import for_each
from tests.support.models.share_partition import (
    ACCEPT,
    FAILED,
    GAP,
    RECORDS,
    RELEASE,
    ack,
    batches,
    fetch,
    rows_of,
    settle,
    share_partition,
    spans,
    states,
    written,
)


def test_aborted_records_are_cut_out_and_archived() -> None:
    partition = share_partition(lock_ms=100)
    assert fetch(partition, batches(0, 9, 2), aborted=[(2, 3), (6, 7)]) == [(0, 1, 1), (4, 5, 1), (8, 9, 1)]
    assert states(partition) == (
        "0-1 Acquired(1) m1, 2-3 Archived(1), 4-5 Acquired(1) m1, 6-7 Archived(1), 8-9 Acquired(1) m1"
    )
    assert partition.delivery_complete_count == 4
    assert (partition.start_offset, partition.end_offset) == (0, 9)
    partition.on_deadline(100)
    assert "2-3 Archived(1)" in states(partition)


def test_an_aborted_record_cannot_be_acknowledged(partition: SharePartition) -> None:
    fetch(partition, batches(0, 9, 2), aborted=[(2, 3)])
    assert ack(partition, 0, 9, ACCEPT).error is ErrorCode.INVALID_RECORD_STATE
    settle(partition, 0, 1, ACCEPT)
    assert partition.start_offset == 4


def test_when_everything_was_aborted_the_start_offset_waits_for_the_next_write(partition: SharePartition) -> None:
    """The records are archived in memory only, and nothing is written."""
    assert fetch(partition, spans((0, 9)), aborted=[(0, 9)]) == []
    assert (partition.start_offset, partition.next_fetch_offset(), partition.delivery_complete_count) == (0, 10, 10)
    fetch(partition, spans((10, 10)))
    assert settle(partition, 10, 10, ACCEPT).delivery_complete_count == 11
    assert (partition.start_offset, partition.delivery_complete_count) == (11, 0)


def test_without_aborted_transactions_nothing_is_filtered(partition: SharePartition) -> None:
    assert fetch(partition, spans((0, 9)), aborted=()) == [(0, 9, 1)]


def test_records_delivered_again_are_filtered_too(partition: SharePartition) -> None:
    fetch(partition, batches(0, 9, 5))
    settle(partition, 0, 9, RELEASE)
    assert fetch(partition, batches(0, 9, 5), aborted=[(5, 9)]) == [(0, 4, 2)]


def test_cutting_ranges_out_of_ranges() -> None:
    acquired = [AcquiredRange(0, 9, 1), AcquiredRange(10, 19, 2), AcquiredRange(30, 39, 1)]
    assert cut_out(acquired, []) == acquired
    assert cut_out(acquired, [(0, 39)]) == []
    assert cut_out(acquired, [(20, 29), (100, 110)]) == acquired
    assert cut_out(acquired, [(0, 1), (5, 31)]) == [(2, 4, 1), (32, 39, 1)]
    assert cut_out(acquired, [(3, 4), (6, 6), (8, 11), (35, 50)]) == [
        (0, 2, 1),
        (5, 5, 1),
        (7, 7, 1),
        (12, 19, 2),
        (30, 34, 1),
    ]


# -- what is persisted, and what a reload makes of it


def test_aborted_records_are_never_written_and_are_found_out_again_after_a_reload(partition: SharePartition) -> None:
    """Aborted records are archived in memory only: the next leader sees a hole, which it reads, acquires and archives
    again.
    """
    fetch(partition, batches(0, 9, 2), aborted=[(4, 5)])
    settle(partition, 0, 3, ACCEPT)
    write = settle(partition, 6, 9, ACCEPT)
    assert rows_of(write) == [(6, 9, 2, 1)]
    assert (write.start_offset, write.delivery_complete_count) == (6, 4)
    reloaded = share_partition(start=4, persisted=[(6, 9, 2, 1)])
    assert reloaded.next_fetch_offset() == 4
    assert fetch(reloaded, batches(4, 9, 2), aborted=[(4, 5)]) == []
    assert (reloaded.next_fetch_offset(), states(reloaded)) == (10, "4-5 Archived(1), 6-9 Acknowledged(1)")


def test_a_marker_is_acquired_and_acknowledged_as_a_gap(partition: SharePartition) -> None:
    """The consumer skips the offsets of control batches, which acknowledgement type 0 finishes."""
    read = spans((0, 4), (5, 5), (6, 8))
    assert fetch(partition, read, aborted=[(0, 4)]) == [(5, 8, 1)]
    outcome = ack(partition, 5, 8, GAP, ACCEPT, ACCEPT, ACCEPT)
    assert outcome.error is ErrorCode.NONE
    written(partition, outcome.effects)
    assert (partition.start_offset, partition.delivery_complete_count) == (9, 0)


# -- aborted records and everything else that ends a delivery


def test_an_aborted_batch_within_a_larger_one_leaves_it_in_parts() -> None:
    """The larger batch continues offset by offset, as in Apache Kafka: the neighbours keep their lock and delivery
    count.
    """
    partition = share_partition(lock_ms=100)
    assert fetch(partition, spans((0, 3), (4, 5), (6, 9)), batch_size=100, aborted=[(4, 5)]) == [(0, 3, 1), (6, 9, 1)]
    partition.on_deadline(100)
    assert states(partition) == "0-3 Available(1), 4-5 Archived(1), 6-9 Available(1)"
    assert fetch(partition, spans((0, 3), (4, 5), (6, 9)), aborted=[(4, 5)]) == [(0, 3, 2), (6, 9, 2)]


def test_with_a_record_limit_only_what_was_taken_is_archived(partition: SharePartition) -> None:
    """Later fetches find the remaining aborted records; only records actually delivered count against the budget."""
    read = spans((0, 9), (10, 19))
    assert fetch(partition, read, max_records=4, mode=RECORDS, aborted=[(0, 9)]) == []
    assert states(partition) == "0-3 Archived(1), 4-9 Available(0)"
    assert fetch(partition, read, max_records=4, mode=RECORDS, aborted=[(0, 9)]) == []
    assert fetch(partition, read, max_records=4, mode=RECORDS, aborted=[(0, 9)]) == [(10, 11, 1)]


def test_a_failed_write_does_not_bring_aborted_records_back(partition: SharePartition) -> None:
    fetch(partition, spans((0, 4), (5, 9)), aborted=[(5, 9)])
    outcome = ack(partition, 0, 4, ACCEPT)
    written(partition, outcome.effects, FAILED)
    assert states(partition) == "0-4 Acquired(1) m1, 5-9 Archived(1)"


def test_a_window_full_of_aborted_records_is_no_dead_end() -> None:
    """An aborted transaction longer than the lock limit, of which nothing is ever acknowledged or written, is passed.

    Apache Kafka 4.3.1 stops here for good: only the end of a state write moves its start offset.
    """
    partition = share_partition(limit=100)
    for first in range(0, 300, 50):
        assert partition.can_acquire()
        assert (
            fetch(partition, batches(first, first + 49, 10), aborted=[(at, at + 9) for at in range(0, 300, 10)]) == []
        )
    assert partition.can_acquire()
    assert fetch(partition, spans((300, 304))) == [(300, 304, 1)]
    assert settle(partition, 300, 304, ACCEPT).start_offset >= 200
    assert partition.start_offset == 305


def test_a_full_window_waits_for_the_writes_that_are_under_way() -> None:
    """The start offset stays below records that a failed write may still restore."""
    partition = share_partition(limit=10)
    fetch(partition, spans((0, 4), (5, 9)), aborted=[(5, 9)])
    outcome = ack(partition, 0, 4, ACCEPT)
    assert not partition.can_acquire()
    written(partition, outcome.effects, FAILED)
    assert not partition.can_acquire()
    assert partition.start_offset == 0
    settle(partition, 0, 4, ACCEPT)
    assert partition.can_acquire()
    assert partition.start_offset == 10


def test_room_that_only_reaches_the_limit_is_none() -> None:
    """The aborted front of a full window is removed; the records behind it use the whole limit."""
    partition = share_partition(limit=10)
    assert fetch(partition, spans((0, 4), (5, 14)), aborted=[(0, 4)]) == [(5, 14, 1)]
    assert not partition.can_acquire()
    assert (partition.start_offset, partition.in_flight_records) == (5, 10)


def test_an_aborted_batch_across_the_start_offset() -> None:
    """The start offset was altered into the middle of the batch. Apache Kafka 4.3.1 fails this fetch."""
    partition = share_partition(start=2)
    assert fetch(partition, spans((0, 4), (5, 5)), aborted=[(0, 4)]) == [(5, 5, 1)]
    assert states(partition) == "2-4 Archived(1), 5 Acquired(1) m1"
    settle(partition, 5, 5, GAP)
    assert partition.start_offset == 6


# -- the isolation level changes while records are out


def test_records_that_a_member_got_uncommitted_are_taken_from_it() -> None:
    """The acknowledgement is refused even if the start offset has passed them: a crash would bring them back."""
    partition = share_partition(limit=10)
    assert fetch(partition, spans((0, 4)), "early") == [(0, 4, 1)]
    assert fetch(partition, spans((5, 9)), "early") == [(5, 9, 1)]
    settle(partition, 5, 9, RELEASE, member="early")
    read = spans((0, 4), (5, 9))
    assert fetch(partition, read, "late", at=0, aborted=[(0, 4)]) == [(5, 9, 2)]
    assert states(partition) == "0-4 Archived(1), 5-9 Acquired(2) late"
    assert ack(partition, 0, 4, ACCEPT, member="early").error is ErrorCode.INVALID_RECORD_STATE
    settle(partition, 5, 9, ACCEPT, member="late")
    assert partition.start_offset == 10
    assert ack(partition, 0, 4, ACCEPT, member="early").error is ErrorCode.INVALID_RECORD_STATE
    fetch(partition, spans((10, 10)), "late")
    settle(partition, 10, 10, ACCEPT, member="late")
    assert ack(partition, 0, 4, ACCEPT, member="early").error is ErrorCode.NONE  # written down by now


# -- which batches are aborted


@dataclass(frozen=True)
class Batch:
    base_offset: int
    last_offset: int
    producer_id: int = -1
    is_transactional: bool = False
    is_control: bool = False
    aborts: bool = False


@dataclass(frozen=True)
class Transaction:
    producer_id: int
    first_offset: int
    last_offset: int


def random_log(rng: Random) -> tuple[list[Batch], list[Transaction], int]:
    """Return batches of three producers and of none, with markers; the aborted transactions; and the last stable
    offset.
    """
    log: list[Batch] = []
    began: dict[int, int] = {}
    aborted: list[Transaction] = []
    offset = 0
    for _ in range(rng.randint(5, 60)):
        producer = rng.randint(1, 3)
        kind = rng.random()
        size = rng.randint(1, 4)
        if kind < 0.2:
            log.append(Batch(offset, offset + size - 1, rng.choice((-1, producer + 10))))
        elif kind < 0.65:
            log.append(Batch(offset, offset + size - 1, producer, True))
            began.setdefault(producer, offset)
        else:
            aborts = rng.random() < 0.6
            log.append(Batch(offset, offset, producer, True, True, aborts))
            first = began.pop(producer, None)
            if aborts and first is not None:
                aborted.append(Transaction(producer, first, offset))
        offset = log[-1].last_offset + 1
    return log, aborted, min(began.values(), default=offset)


@for_each("seed", range(60))
def test_a_batch_is_aborted_when_the_next_marker_of_its_producer_aborts(seed: int) -> None:
    """Headers and the log's list show aborted batches, whichever part of the log is read."""
    rng = Random(seed)
    log, aborted, stable = random_log(rng)
    expected = []
    for at, batch in enumerate(log):
        if batch.is_transactional and not batch.is_control:
            ends = [later for later in log[at:] if later.is_control and later.producer_id == batch.producer_id]
            if ends and ends[0].aborts:
                expected.append((batch.base_offset, batch.last_offset))
    readable = [batch for batch in log if batch.last_offset < stable]
    for low in range(0, len(readable), 3):
        for high in range(low + 1, len(readable) + 1, 5):
            read = readable[low:high]
            first, upper = read[0].base_offset, read[-1].last_offset + 1
            known = [one for one in aborted if one.last_offset >= first and one.first_offset < upper]
            rng.shuffle(known)
            assert aborted_ranges(read, known) == [one for one in expected if first <= one[0] < upper]


def test_what_was_held_before_is_what_was_not_acquired_now() -> None:
    acquired = [AcquiredRange(2, 3, 1), AcquiredRange(6, 9, 1)]
    assert held_before([(0, 3), (4, 5), (8, 12)], acquired) == [(0, 1), (4, 5), (10, 12)]
    assert held_before([(6, 9)], acquired) == []
