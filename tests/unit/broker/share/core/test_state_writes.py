"""The way from an acknowledgement to durable state: the contents of a write and the effects of its outcome.

KIP-932, KIP-1226.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from shareq.broker.share.core.effects import DeliveryLimitReached, GivenUpRange, StateBatch, WakeFetches, WriteState
from shareq.broker.share.core.partition import AckBatch, SharePartition
from shareq.broker.share.core.writes import StateChange
from shareq.protocol.errors import ErrorCode
from tests.support.models.share_partition import (
    ACCEPT,
    FAILED,
    KEY,
    LOG_END,
    REJECT,
    RELEASE,
    ack,
    batches,
    fetch,
    settings,
    settle,
    share_partition,
    spans,
    states,
    write_of,
    written,
)


def test_a_write_carries_the_start_offset_from_before_its_own_commit() -> None:
    """Start offset 100 and the batch 100-109 are persisted; the coordinator learns 110 only with the next write."""
    partition = share_partition(start=100)
    fetch(partition, spans((100, 109)))
    outcome = ack(partition, 100, 109, ACCEPT)
    assert write_of(outcome.effects) == WriteState(
        write_id=1,
        state_epoch=7,
        leader_epoch=3,
        start_offset=100,
        delivery_complete_count=10,
        batches=((100, 109, 2, 1),),  # type: ignore[arg-type]
    )
    assert partition.start_offset == 100
    assert written(partition, outcome.effects) == ()
    assert (partition.start_offset, partition.delivery_complete_count) == (110, 0)
    fetch(partition, spans((110, 119)))
    assert settle(partition, 110, 110, ACCEPT).start_offset == 110


def test_nothing_shows_before_the_write_is_durable_except_that_it_is_under_way(partition: SharePartition) -> None:
    fetch(partition, spans((0, 9)))
    ack(partition, 0, 4, ACCEPT)
    ack(partition, 5, 9, RELEASE)
    assert states(partition) == "0-4 Acknowledged(1) pending, 5-9 Available(1) pending"
    assert (partition.start_offset, partition.next_fetch_offset(), partition.delivery_complete_count) == (0, 10, 5)


def test_a_pending_write_holds_the_start_offset_back(partition: SharePartition) -> None:
    fetch(partition, batches(0, 9, 1))
    first = ack(partition, 0, 4, ACCEPT)
    settle(partition, 5, 9, ACCEPT)
    assert (partition.start_offset, partition.delivery_complete_count) == (0, 10)
    written(partition, first.effects)
    assert (partition.start_offset, partition.delivery_complete_count) == (10, 0)


def test_a_failed_write_returns_records_to_their_owner() -> None:
    partition = share_partition(lock_ms=100)
    fetch(partition, spans((0, 9)))
    outcome = ack(partition, 0, 9, *[ACCEPT, RELEASE, REJECT, ACCEPT, ACCEPT] * 2)
    assert partition.delivery_complete_count == 8
    assert written(partition, outcome.effects, FAILED, now_ms=99) == ()
    assert states(partition) == "0-9 Acquired(1) m1"
    assert partition.delivery_complete_count == 0
    assert partition.next_deadline_ms() == 100
    settle(partition, 0, 9, ACCEPT)
    assert partition.start_offset == 10


def test_a_failed_write_after_the_lock_ran_out_gives_the_records_back() -> None:
    """The timer is ignored while the write is pending; when the write fails, the lock has already expired."""
    partition = share_partition(lock_ms=100, max_deliveries=2)
    fetch(partition, spans((0, 0)))
    settle(partition, 0, 0, RELEASE)
    fetch(partition, spans((0, 0), (1, 1)), batch_size=1)
    outcome = ack(partition, 0, 1, ACCEPT)
    assert partition.on_deadline(100) == ()
    assert states(partition) == "0 Acknowledged(2) pending, 1 Acknowledged(1) pending"
    assert written(partition, outcome.effects, FAILED, now_ms=120) == (
        WakeFetches(),
        DeliveryLimitReached((GivenUpRange(0, 0, 2),)),
    )
    assert states(partition) == "0 Archived(2), 1 Available(1)"
    assert partition.delivery_complete_count == 1
    assert partition.next_fetch_offset() == 1


def test_a_failed_write_names_all_that_has_expired_meanwhile_and_is_given_up() -> None:
    partition = share_partition(lock_ms=100, max_deliveries=1)
    fetch(partition, batches(0, 9, 5), batch_size=5)
    outcome = ack(partition, 0, 9, ACCEPT)
    assert written(partition, outcome.effects, FAILED, now_ms=100) == (
        DeliveryLimitReached((GivenUpRange(0, 4, 1), GivenUpRange(5, 9, 1))),
    )
    assert partition.counters.dead_letters == 10


def test_a_failed_write_below_a_moved_log_start_archives_what_has_expired() -> None:
    partition = share_partition(lock_ms=100)
    fetch(partition, spans((0, 9)))
    outcome = ack(partition, 0, 9, ACCEPT)
    partition.on_log_start_moved(5, 10)
    assert partition.delivery_complete_count == 5
    written(partition, outcome.effects, FAILED, now_ms=100)
    assert states(partition, first=0) == "0-4 Archived(1), 5-9 Available(1)"
    assert partition.delivery_complete_count == 0


def test_a_failed_release_of_records_that_left_the_log_leaves_them_archived(partition: SharePartition) -> None:
    fetch(partition, spans((0, 9)))
    outcome = ack(partition, 0, 9, RELEASE)
    partition.on_log_start_moved(5, 10)
    assert states(partition, first=0) == "0-4 Archived(1) pending, 5-9 Available(1) pending"
    written(partition, outcome.effects, FAILED, now_ms=20)
    assert states(partition, first=0) == "0-4 Archived(1), 5-9 Acquired(1) m1"


@pytest.mark.parametrize(("limit", "woken"), [(11, ()), (10, (WakeFetches(),))])
@pytest.mark.parametrize("failed_expiry", [False, True])
def test_a_start_offset_that_moves_wakes_fetches_where_they_lacked_room(
    failed_expiry: bool, limit: int, woken: tuple[WakeFetches, ...]
) -> None:
    partition = share_partition(limit=limit, max_deliveries=1, lock_ms=100)
    fetch(partition, spans((0, 9)))
    assert partition.can_acquire() is not bool(woken)
    effects = partition.on_deadline(100) if failed_expiry else ack(partition, 0, 9, ACCEPT).effects
    assert partition.can_acquire() is not bool(woken)
    assert written(partition, effects, FAILED if failed_expiry else ErrorCode.NONE, now_ms=101) == woken
    assert (partition.start_offset, partition.can_acquire()) == (10, True)


def test_a_durable_release_makes_records_available_and_wakes_fetches(partition: SharePartition) -> None:
    fetch(partition, spans((0, 9)))
    outcome = ack(partition, 0, 9, RELEASE)
    assert written(partition, outcome.effects) == (WakeFetches(),)
    assert partition.next_fetch_offset() == 0


def test_a_durable_accept_that_moves_nothing_wakes_nobody(partition: SharePartition) -> None:
    fetch(partition, spans((0, 9)))
    outcome = ack(partition, 5, 9, ACCEPT)
    assert written(partition, outcome.effects) == ()


def test_writes_may_end_in_any_order(partition: SharePartition) -> None:
    fetch(partition, batches(0, 9, 1))
    outcomes = [ack(partition, offset, offset, ACCEPT) for offset in range(10)]
    assert len({outcome.write_id for outcome in outcomes}) == 10
    for outcome in reversed(outcomes[1:]):
        written(partition, outcome.effects)
    assert partition.start_offset == 0
    written(partition, outcomes[0].effects, FAILED)
    assert states(partition) == "0 Acquired(1) m1, 1-9 Acknowledged(1)"
    settle(partition, 0, 0, ACCEPT)
    assert partition.start_offset == 10


def test_one_request_may_touch_a_batch_again_after_another(partition: SharePartition) -> None:
    fetch(partition, batches(0, 19, 10), batch_size=10)
    acks = [AckBatch(offset, offset, [ACCEPT]) for offset in (0, 1, 5, 12, 13, 19)]
    written(partition, partition.acknowledge("m1", acks, 0).effects)
    assert states(partition) == (
        "2-4 Acquired(1) m1, 5 Acknowledged(1), 6-9 Acquired(1) m1, 10-11 Acquired(1) m1, "
        "12-13 Acknowledged(1), 14-18 Acquired(1) m1, 19 Acknowledged(1)"
    )


def test_the_outcome_of_a_write_is_reported_once(partition: SharePartition) -> None:
    fetch(partition, spans((0, 9)))
    outcome = ack(partition, 0, 9, ACCEPT)
    written(partition, outcome.effects)
    with pytest.raises(KeyError):
        written(partition, outcome.effects)


def test_delivery_complete_count_is_relative_to_the_start_offset_sent_with_it(partition: SharePartition) -> None:
    """The lag is log end - start offset - delivery complete count (KIP-1226)."""
    fetch(partition, batches(0, 9, 1))
    assert settle(partition, 2, 3, ACCEPT).delivery_complete_count == 2
    assert settle(partition, 0, 0, REJECT).delivery_complete_count == 3
    write = settle(partition, 5, 5, RELEASE)
    assert (write.start_offset, write.delivery_complete_count) == (1, 2)


# -- the resolved start offset


def unpersisted() -> SharePartition:
    partition = SharePartition(KEY, 3, settings())
    assert partition.load(7, 100, (), log_start_offset=0, log_end_offset=LOG_END, persisted=False) is ErrorCode.NONE
    return partition


def test_a_resolved_start_offset_is_durable_before_anything_is_acquired() -> None:
    """A crash before the first acknowledgement would resolve `latest` again and skip records."""
    partition = unpersisted()
    assert fetch(partition, spans((100, 109))) == []
    write = partition.pending_start_write()
    assert write is not None
    assert replace(write, write_id=0) == WriteState(0, 7, 3, 100, -1, ())
    assert partition.pending_start_write() is write
    assert fetch(partition, spans((100, 109))) == []
    assert partition.on_state_written(write.write_id, ErrorCode.NONE, 0) == (WakeFetches(),)
    assert partition.pending_start_write() is None
    assert fetch(partition, spans((100, 109))) == [(100, 109, 1)]


def test_a_start_offset_that_could_not_be_written_is_asked_for_again() -> None:
    partition = unpersisted()
    failed = partition.pending_start_write()
    assert failed is not None
    assert partition.on_state_written(failed.write_id, FAILED, 0) == ()
    again = partition.pending_start_write()
    assert again is not None
    assert again.write_id != failed.write_id
    assert fetch(partition, spans((100, 109))) == []


def test_a_persisted_start_offset_is_not_written() -> None:
    assert share_partition(start=100).pending_start_write() is None


# -- acknowledgements of what is finished with


def archived_by_expiry(write_error: ErrorCode) -> SharePartition:
    """Return a partition whose records 0-9 used up their deliveries and their lock; that write ended with
    `write_error`.
    """
    partition = share_partition(max_deliveries=1, lock_ms=100)
    fetch(partition, spans((0, 9)))
    for effect in partition.on_deadline(100):
        if isinstance(effect, WriteState):
            partition.on_state_written(effect.write_id, write_error, 100)
    assert partition.start_offset == 10
    return partition


def test_acknowledging_what_is_durably_finished_succeeds() -> None:
    """A late acknowledgement below the start offset has nothing left to do."""
    partition = archived_by_expiry(ErrorCode.NONE)
    assert ack(partition, 0, 9, ACCEPT).error is ErrorCode.NONE


def test_acknowledging_what_is_finished_in_memory_alone_fails() -> None:
    """An accepted record must never be delivered again, but a crash would bring these back."""
    partition = archived_by_expiry(FAILED)
    assert ack(partition, 0, 9, ACCEPT).error is ErrorCode.INVALID_RECORD_STATE


def test_a_durable_start_offset_finishes_everything_below_it() -> None:
    partition = archived_by_expiry(FAILED)
    fetch(partition, spans((10, 19)), now_ms=100)
    settle(partition, 10, 10, RELEASE, now_ms=110)
    assert ack(partition, 0, 9, ACCEPT).error is ErrorCode.NONE


def test_an_expiry_that_archived_nothing_and_was_not_written_is_forgotten_with_its_records() -> None:
    """Below the start offset, only records that are archived in memory alone refuse acknowledgements."""
    partition = share_partition(lock_ms=100)
    fetch(partition, spans((0, 0)))
    written(partition, partition.on_deadline(100), FAILED, now_ms=100)
    fetch(partition, spans((0, 0)), now_ms=100)
    settle(partition, 0, 0, ACCEPT, now_ms=110)
    assert partition.start_offset == 1
    assert ack(partition, 0, 0, ACCEPT).error is ErrorCode.NONE


@pytest.mark.parametrize("before", [1, 2, 3])
def test_rows_that_adjoin_and_say_the_same_are_one(before: int) -> None:
    change = StateChange(1)
    earlier = [StateBatch(10 * number, 10 * number + 4, 2, 1) for number in range(before)]
    change.persist(earlier)
    change.persist([StateBatch(earlier[-1].last_offset + 1, 90, 2, 1), StateBatch(91, 91, 0, 1)])
    last = earlier.pop()
    assert change.state_batches == [*earlier, StateBatch(last.first_offset, 90, 2, 1), StateBatch(91, 91, 0, 1)]
    change.persist([StateBatch(92, 92, 0, 2), StateBatch(94, 94, 0, 2)])
    assert change.state_batches[-3:] == [
        StateBatch(91, 91, 0, 1),
        StateBatch(92, 92, 0, 2),
        StateBatch(94, 94, 0, 2),
    ]
