"""Failed records wait before they are delivered again (`shareq.redelivery.backoff.*`)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shareq.broker.share.core.effects import DeliveryLimitReached, StateBatch, WakeFetches
from shareq.broker.share.core.partition import AckBatch, SharePartition
from shareq.broker.share.core.window.delivery_status import NO_DELAY
from shareq.broker.share.core.window.redelivery import not_before
from shareq.coordinator.ports import RedeliveryBackoff
from shareq.coordinator.share.delays import Delay
from shareq.protocol.errors import ErrorCode
from tests.support.models.share_partition import (
    ACCEPT,
    FAILED,
    KEY,
    RECORDS,
    REJECT,
    RELEASE,
    RENEW,
    ack,
    batches,
    fetch,
    rows_of,
    settings,
    settle,
    share_partition,
    spans,
    states,
    write_of,
    written,
)

BACKOFF = RedeliveryBackoff(initial_ms=100, max_ms=1_000, multiplier=2.0)


def test_records_that_begin_to_wait_are_counted_once_that_is_durable() -> None:
    partition = delaying(lock_ms=100)
    fetch(partition, batches(0, 9, size=10))
    outcome = ack(partition, 0, 3, RELEASE)
    assert partition.counters.delays == 0
    written(partition, outcome.effects)
    assert partition.counters.delays == 4
    settle(partition, 4, 4, ACCEPT)
    assert partition.counters.delays == 4
    written(partition, partition.on_deadline(100))  # the locks of the other five; the first four are available again
    assert partition.counters.delays == 9


def delaying(
    *, max_deliveries: int = 5, limit: int = 2_000, lock_ms: int = 30_000, backoff: RedeliveryBackoff = BACKOFF
) -> SharePartition:
    partition = share_partition()
    plain = settings(max_deliveries=max_deliveries, limit=limit, lock_ms=lock_ms)
    partition.settings = plain._replace(redelivery=backoff)
    return partition


@pytest.fixture
def partition() -> SharePartition:
    return delaying()


def waits(partition: SharePartition) -> list[tuple[int, int, int]]:
    """Return the waiting ranges: first and last offset (inclusive) and the end of the wait."""
    return [
        (run.first_offset, run.last_offset, run.not_before_ms)
        for run in partition.snapshot()
        if run.not_before_ms is not None
    ]


def loaded(start: int, persisted: list[tuple[int, int, int, int]], delays: list[Delay]) -> SharePartition:
    partition = SharePartition(KEY, 3, settings())
    rows = [StateBatch(*row) for row in persisted]
    error = partition.load(7, start, rows, log_start_offset=0, log_end_offset=1_000, delays=delays)
    assert error is ErrorCode.NONE
    return partition


# -- how long


def test_each_failure_waits_longer_up_to_the_most() -> None:
    assert [not_before(BACKOFF, 5, 0, count) - 5 for count in range(1, 7)] == [100, 200, 400, 800, 1_000, 1_000]


def test_off_and_less_than_a_millisecond_are_no_wait() -> None:
    assert not_before(RedeliveryBackoff(), 5, 0, 3) == NO_DELAY
    short = RedeliveryBackoff(1, 10, 1.0, 1.0)
    assert NO_DELAY in {not_before(short, 5, offset, 1) for offset in range(50)}


@given(st.integers(0, 1 << 62), st.integers(1, 30), st.floats(0, 1), st.integers(1, 10_000))
def test_jitter_stays_within_its_part_and_is_the_same_each_time(
    offset: int, count: int, jitter: float, initial: int
) -> None:
    backoff = RedeliveryBackoff(initial, 604_800_000, 1.5, jitter)
    plain = initial * 1.5 ** (count - 1)
    wait = (not_before(backoff, 1_000, offset, count) or 1_000) - 1_000
    assert min(int(plain * (1 - jitter)), backoff.max_ms) - 1 <= wait <= min(plain * (1 + jitter) + 1, backoff.max_ms)
    assert not_before(backoff, 1_000, offset, count) == not_before(backoff, 1_000, offset, count)


def test_jitter_spreads_over_offsets_and_counts() -> None:
    backoff = RedeliveryBackoff(10_000, 604_800_000, 1.0, 0.5)
    for found in (
        [not_before(backoff, 0, offset, 1) for offset in range(1_000)],
        [not_before(backoff, 0, 7, count) for count in range(1, 1_000)],
    ):
        assert len(set(found)) > 900
        assert min(found) < 6_000 < 14_000 < max(found)
        assert abs(sum(found) / len(found) - 10_000) < 300


# -- what waits


def test_a_released_record_comes_again_at_its_time_and_not_before(partition: SharePartition) -> None:
    fetch(partition, spans((0, 9)))
    write = settle(partition, 0, 9, RELEASE, now_ms=50)
    assert (rows_of(write), write.delays) == ([(0, 9, 0, 1)], (Delay(0, 9, 150, 1),))
    assert (states(partition), waits(partition)) == ("0-9 Available(1)", [(0, 9, 150)])
    assert partition.next_fetch_offset() == 10
    assert partition.next_deadline_ms() == 150
    assert partition.on_deadline(149) == ()
    assert fetch(partition, spans((0, 9)), at=0, now_ms=149) == []
    assert partition.on_deadline(150) == (WakeFetches(),)
    assert waits(partition) == []
    assert partition.next_fetch_offset() == 0
    assert fetch(partition, spans((0, 9)), now_ms=150) == [(0, 9, 2)]
    assert settle(partition, 0, 9, RELEASE, now_ms=200).delays == (Delay(0, 9, 400, 2),)


def test_those_behind_are_not_held_up_and_the_start_offset_stays(partition: SharePartition) -> None:
    fetch(partition, spans((0, 4), (5, 9)))
    settle(partition, 0, 0, RELEASE)
    settle(partition, 1, 9, ACCEPT)
    assert fetch(partition, spans((10, 19))) == [(10, 19, 1)]
    settle(partition, 10, 19, ACCEPT)
    assert partition.start_offset == 0
    partition.on_deadline(100)
    assert fetch(partition, spans((0, 4)), now_ms=100) == [(0, 0, 2)]
    settle(partition, 0, 0, ACCEPT, now_ms=100)
    assert partition.start_offset == 20


def test_a_record_whose_lock_runs_out_waits_from_then_on() -> None:
    partition = delaying(lock_ms=1_000)
    fetch(partition, spans((0, 9)))
    effects = partition.on_deadline(1_000)
    assert write_of(effects).delays == (Delay(0, 9, 1_100, 1),)
    assert waits(partition) == [(0, 9, 1_100)]
    written(partition, effects, FAILED, now_ms=1_050)  # in effect all the same
    assert waits(partition) == [(0, 9, 1_100)]
    assert partition.next_deadline_ms() == 1_100
    assert partition.on_deadline(1_100) == (WakeFetches(),)


def test_what_a_session_held_waits_when_it_ends(partition: SharePartition) -> None:
    fetch(partition, batches(0, 9, 5), batch_size=5)
    effects = partition.release_acquired_records("m1", 40)
    assert write_of(effects).delays == (Delay(0, 9, 140, 1),)
    written(partition, effects)
    assert waits(partition) == [(0, 4, 140), (5, 9, 140)]


def test_nothing_else_waits(partition: SharePartition) -> None:
    fetch(partition, spans((0, 3)))
    outcome = ack(partition, 0, 3, ACCEPT, REJECT, RELEASE, RENEW)
    assert write_of(outcome.effects).delays == (Delay(2, 2, 100, 1),)
    written(partition, outcome.effects)
    assert waits(partition) == [(2, 2, 100)]


def test_a_record_at_the_limit_is_archived_at_once() -> None:
    partition = delaying(max_deliveries=2, lock_ms=1_000)
    fetch(partition, spans((0, 9)))
    settle(partition, 0, 9, RELEASE)
    partition.on_deadline(100)
    fetch(partition, spans((0, 9)), now_ms=100)
    settle(partition, 0, 4, RELEASE, now_ms=100)
    effects = partition.on_deadline(1_100)
    assert write_of(effects).delays == ()
    assert any(isinstance(effect, DeliveryLimitReached) for effect in effects)
    written(partition, effects)
    assert (partition.start_offset, waits(partition), partition.next_deadline_ms()) == (10, [], None)


def test_it_takes_its_place_in_the_window() -> None:
    partition = delaying(limit=10)
    fetch(partition, spans((0, 9)))
    settle(partition, 0, 9, RELEASE)
    assert not partition.can_acquire()
    assert partition.delivery_complete_count == 0
    partition.on_deadline(100)
    assert partition.can_acquire()


def test_what_is_released_together_waits_together_whatever_the_jitter() -> None:
    partition = delaying(backoff=BACKOFF._replace(jitter=0.5))
    fetch(partition, spans((0, 9)), mode=RECORDS)
    (delay,) = settle(partition, 3, 9, RELEASE).delays
    assert delay == Delay(3, 9, not_before(partition.settings.redelivery, 0, 3, 1), 1)
    assert delay.not_before_ms != 100


# -- writes


def test_time_runs_from_the_release_also_when_its_write_takes_longer(partition: SharePartition) -> None:
    fetch(partition, spans((0, 9)))
    outcome = ack(partition, 0, 9, RELEASE)
    assert partition.on_deadline(500) == ()
    written(partition, outcome.effects, now_ms=500)
    assert fetch(partition, spans((0, 9)), at=0, now_ms=500) == []  # until the timer has looked
    assert partition.next_deadline_ms() == 100
    assert partition.on_deadline(500) == (WakeFetches(),)
    assert fetch(partition, spans((0, 9)), now_ms=500) == [(0, 9, 2)]


def test_a_failed_write_gives_the_record_back_to_its_holder(partition: SharePartition) -> None:
    fetch(partition, spans((0, 9)))
    written(partition, ack(partition, 0, 9, RELEASE).effects, FAILED)
    assert (states(partition), waits(partition)) == ("0-9 Acquired(1) m1", [])
    settle(partition, 0, 9, ACCEPT)
    assert partition.start_offset == 10


def test_a_failed_write_after_the_lock_makes_the_record_wait_from_then_on() -> None:
    partition = delaying(lock_ms=1_000)
    fetch(partition, spans((0, 9)))
    effects = ack(partition, 0, 9, ACCEPT, now_ms=900).effects
    assert written(partition, effects, FAILED, now_ms=1_300) == ()
    assert waits(partition) == [(0, 9, 1_400)]
    assert partition.on_deadline(1_400) == (WakeFetches(),)


def test_a_refused_request_leaves_no_wait(partition: SharePartition) -> None:
    fetch(partition, spans((0, 4)))
    fetch(partition, spans((5, 9)), "m2")
    assert ack(partition, 0, 9, RELEASE).error is ErrorCode.INVALID_RECORD_STATE
    settle(partition, 0, 4, ACCEPT)
    assert (waits(partition), partition.start_offset) == ([], 5)


def test_many_waits_in_one_write_are_all_looked_at(partition: SharePartition) -> None:
    fetch(partition, batches(0, 1_999), batch_size=1, max_records=2_000)
    evens = [AckBatch(offset, offset, [RELEASE]) for offset in range(0, 2_000, 2)]
    outcome = partition.acknowledge("m1", evens, 0)
    assert len(write_of(outcome.effects).delays) == 1_000
    written(partition, outcome.effects)
    partition.on_deadline(100)
    assert waits(partition) == []
    assert sum(last - first + 1 for first, last, _ in fetch(partition, batches(0, 1_999), max_records=2_000)) == 1_000


# -- settings, the log, loading


def test_times_that_were_given_outlast_a_change_of_the_settings(partition: SharePartition) -> None:
    fetch(partition, spans((0, 9)))
    settle(partition, 0, 4, RELEASE)
    partition.settings = settings()
    settle(partition, 5, 9, RELEASE)
    assert waits(partition) == [(0, 4, 100)]
    assert partition.next_fetch_offset() == 5
    partition.on_deadline(100)
    assert partition.next_fetch_offset() == 0


def test_what_leaves_the_log_waits_no_more(partition: SharePartition) -> None:
    fetch(partition, spans((0, 9)))
    settle(partition, 0, 9, RELEASE)
    partition.on_log_start_moved(5, 0)
    assert (partition.start_offset, waits(partition)) == (5, [(5, 9, 100)])
    partition.on_log_start_moved(20, 0)
    assert partition.start_offset == 20
    assert waits(partition) == []
    assert partition.on_deadline(100) == ()


def test_a_load_keeps_the_times_of_what_is_available_after_just_so_many_deliveries() -> None:
    persisted = [(0, 9, 0, 1), (10, 19, 2, 1), (20, 29, 0, 2)]
    delays = [Delay(0, 3, 700, 1), Delay(6, 14, 800, 1), Delay(20, 24, 900, 1), Delay(25, 25, 600, 2)]
    partition = loaded(0, persisted, delays)
    assert waits(partition) == [(0, 3, 700), (6, 9, 800), (25, 25, 600)]
    assert states(partition) == (
        "0-3 Available(1), 4-5 Available(1), 6-9 Available(1), 10-19 Acknowledged(1), "
        "20-24 Available(2), 25 Available(2), 26-29 Available(2)"
    )
    assert (partition.next_fetch_offset(), partition.next_deadline_ms()) == (4, 600)
    assert partition.on_deadline(800) == (WakeFetches(),)
    assert waits(partition) == []
    assert fetch(partition, spans((0, 9))) == [(0, 3, 2), (4, 5, 2), (6, 9, 2)]


def test_a_load_cuts_waits_at_the_end_of_the_log() -> None:
    partition = SharePartition(KEY, 3, settings())
    rows = [StateBatch(0, 9, 0, 1)]
    partition.load(7, 0, rows, log_start_offset=0, log_end_offset=4, delays=[Delay(0, 9, 700, 1)])
    assert (partition.lost_tail, waits(partition)) == (True, [(0, 3, 700)])


def test_when_what_waited_has_left_the_log_the_locks_are_what_is_next() -> None:
    partition = delaying(lock_ms=500)
    fetch(partition, batches(0, 9, size=5), batch_size=5)
    settle(partition, 0, 4, RELEASE)
    assert partition.next_deadline_ms() == 100
    partition.on_log_start_moved(5, 0)
    settle(partition, 5, 5, ACCEPT)
    assert partition.start_offset == 6
    assert partition.next_deadline_ms() == 500
