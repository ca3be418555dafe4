"""Records with a delivery time wait in the window before their first delivery (`shareq.delay.*`)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shareq.broker.share.core.dates import NOTHING_DATED, DatedRange, dated, reason_of
from shareq.broker.share.core.effects import WakeFetches
from shareq.broker.share.core.partition import SharePartition
from shareq.broker.share.core.values import AckBatch
from shareq.coordinator.ports import RecordDelays, RedeliveryBackoff
from shareq.coordinator.share.delays import Delay
from shareq.protocol.ack_delays import Later
from shareq.protocol.errors import ErrorCode
from shareq.protocol.share import AcquireMode
from tests.support.models.dated_world import DatedWorld
from tests.support.models.key_hashes import key_hashes
from tests.support.models.share_partition import (
    ACCEPT,
    BATCHES,
    FAILED,
    RECORDS,
    RELEASE,
    Span,
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

WALL_MS = 1_700_000_000_000
DAY_MS = 86_400_000


def delaying(*, limit: int = 2_000, max_deliveries: int = 5, ordered: bool = False) -> SharePartition:
    partition = share_partition()
    plain = settings(limit=limit, max_deliveries=max_deliveries)
    partition.settings = plain._replace(delay=RecordDelays(True, DAY_MS), order_by_key=ordered)
    return partition


def take(
    partition: SharePartition,
    read: list[Span],
    waiting: list[tuple[int, int, int]],
    *,
    mode: AcquireMode = BATCHES,
    now_ms: int = 0,
    max_records: int = 500,
) -> list[tuple[int, int, int]]:
    """Acquire from a read at the next fetch offset. `waiting`: first and last offset (inclusive) and time of each."""
    acquired = partition.acquire(
        "m1",
        mode,
        500,
        max_records,
        partition.next_fetch_offset(),
        read,
        now_ms,
        waiting=[DatedRange(*each) for each in waiting],
    )
    return [(first, last, count) for first, last, count in acquired]


# -- what a header says


def test_times_to_come_wait_those_that_are_over_do_not() -> None:
    values = [b"%d" % (WALL_MS + each) for each in (-1, 0, 1, 5, 5)] + [b"0", b"%d" % (WALL_MS + 5)]
    found = dated(range(10, 17), values, WALL_MS, 1_000, DAY_MS)
    assert found.waiting == [(12, 12, 1_002), (13, 14, 1_006), (16, 16, 1_006)]
    assert found.refused == []


def test_what_is_too_far_ahead_or_no_time_is_refused() -> None:
    """Times too far ahead are refused, and values that are no times. The latest possible time has fifteen digits."""
    values = [
        b"%d" % (WALL_MS + DAY_MS),
        b"%d" % (WALL_MS + DAY_MS + 1),
        b"9" * 15,
        b"9" * 40,
        b"",
        b"-1",
        b"1e3",
        b" 1",
    ]
    found = dated(range(8), values, WALL_MS, 1_000, DAY_MS)
    assert found.waiting == [(0, 0, DAY_MS + 1_001)]
    assert found.refused == list(enumerate(values))[1:]
    assert reason_of(b"9" * 50, DAY_MS) == (
        b"shareq.not.before.ms is " + b"9" * 40 + b": more than shareq.delay.max.ms (86400000) ahead"
    )
    assert reason_of(b"soon", 1) == b"shareq.not.before.ms is no time in milliseconds since the epoch"


@given(st.integers(0, 10**9), st.integers(1, 10**6), st.integers(0, 999_999), st.integers(0, 999_999))
def test_a_wait_by_the_monotonic_clock_never_ends_before_the_time(
    wall: int, wait: int, wall_ns: int, now_ns: int
) -> None:
    """Both clocks are cut to whole milliseconds."""
    found = dated([0], [b"%d" % (wall + wait)], wall, 50, DAY_MS * 365).waiting[0]
    passed_ns = (found.not_before_ms - 50) * 1_000_000 - now_ns
    assert wall * 1_000_000 + wall_ns + passed_ns >= (wall + wait) * 1_000_000
    assert found.not_before_ms <= 50 + wait + 1


def test_without_the_header_nothing_is_dated() -> None:
    assert dated([], [], WALL_MS, 0, DAY_MS) == NOTHING_DATED._replace(waiting=[], refused=[])


# -- waiting


def test_a_dated_record_waits_and_is_then_delivered_for_the_first_time() -> None:
    """While a record waits, no delivery counts, no lock is taken and nothing is written."""
    partition = delaying()
    assert take(partition, batches(0, 9, size=10), [(3, 4, 100)]) == [(0, 2, 1), (5, 9, 1)]
    assert states(partition) == "0-2 Acquired(1) m1, 3-4 Available(0), 5-9 Acquired(1) m1"
    assert partition.counters.deliveries == 8
    assert partition.next_fetch_offset() == 10
    assert partition.next_deadline_ms() == 100
    assert partition.on_deadline(99) == ()
    assert partition.on_deadline(100) == (WakeFetches(),)
    assert partition.next_fetch_offset() == 3
    assert fetch(partition, batches(0, 9, size=10), now_ms=100) == [(3, 4, 1)]


def test_its_own_acknowledgement_is_refused_while_it_waits() -> None:
    partition = delaying()
    take(partition, batches(0, 4, size=5), [(2, 2, 100)])
    assert partition.acknowledge("m1", [AckBatch(2, 2, (ACCEPT,))], 0).error is ErrorCode.INVALID_RECORD_STATE


def test_a_record_that_is_read_again_before_its_time_waits_on() -> None:
    """This happens after the wall clock was set back, or when the group has just enabled delays."""
    partition = delaying()
    fetch(partition, batches(0, 2, size=3))
    settle(partition, 0, 2, RELEASE)
    assert take(partition, batches(0, 2, size=3), [(1, 1, 70)]) == [(0, 0, 2), (2, 2, 2)]
    assert states(partition) == "0 Acquired(2) m1, 1 Available(1), 2 Acquired(2) m1"
    partition.on_deadline(70)
    assert fetch(partition, batches(0, 2, size=3), now_ms=70) == [(1, 1, 2)]


def test_one_record_at_a_time_from_a_batch() -> None:
    partition = delaying()
    read = batches(0, 3, size=4)
    assert take(partition, read, [(0, 0, 90), (2, 2, 80)], mode=RECORDS, max_records=1) == []
    assert states(partition) == "0 Available(0), 1 Available(0), 2 Available(0), 3 Available(0)"
    assert take(partition, read, [(0, 0, 90), (2, 2, 80)], mode=RECORDS, max_records=1) == [(1, 1, 1)]
    assert take(partition, read, [(0, 0, 90), (2, 2, 80)], mode=RECORDS, max_records=1) == [(3, 3, 1)]
    assert partition.on_deadline(80) == (WakeFetches(),)
    assert fetch(partition, read, mode=RECORDS, now_ms=80, max_records=1) == [(2, 2, 1)]


def test_later_records_of_its_key_wait_for_a_dated_one() -> None:
    partition = delaying(ordered=True)
    partition.next_fetch_offset()
    read = batches(0, 3, size=4)
    acquired = partition.acquire(
        "m1",
        BATCHES,
        500,
        500,
        0,
        read,
        0,
        keys=key_hashes({0: 1, 1: 2, 2: 1, 3: 2}),
        waiting=[DatedRange(0, 0, 100)],
    )
    assert acquired == [(1, 1, 1)]
    partition.on_deadline(100)
    assert fetch(partition, read, now_ms=100) == [(0, 0, 1)]
    settle(partition, 0, 1, ACCEPT, now_ms=100)
    assert fetch(partition, read, now_ms=100) == [(2, 3, 1)]


# -- how many


def test_half_of_the_window_waits_and_the_rest_stays_behind_it() -> None:
    partition = delaying(limit=10)
    waiting = [(each, each, 100 + each) for each in range(8)]
    assert take(partition, batches(0, 19), waiting) == []
    assert (partition.next_fetch_offset(), partition.end_offset) == (5, 4)
    assert not partition.can_acquire()
    assert partition.next_deadline_ms() == 100
    assert partition.on_deadline(100) == (WakeFetches(),)
    assert partition.can_acquire()
    assert fetch(partition, batches(0, 4), now_ms=100) == [(0, 0, 1)]
    assert take(partition, batches(5, 19), waiting[5:], now_ms=100) == []
    assert (partition.next_fetch_offset(), partition.end_offset) == (6, 5)


def test_what_stays_behind_comes_at_its_own_time_if_that_is_sooner() -> None:
    partition = delaying(limit=10)
    waiting = [(each, each, 1_000) for each in range(5)] + [(5, 5, 40)]
    assert take(partition, batches(0, 6), waiting) == []
    assert not partition.can_acquire()
    assert partition.next_deadline_ms() == 40
    assert partition.on_deadline(40) == (WakeFetches(),)
    assert partition.can_acquire()
    assert take(partition, batches(5, 6), [], now_ms=40) == [(5, 6, 1)]


def test_what_waits_and_what_is_finished_stops_nothing_behind_it() -> None:
    """1,000 times the in-flight limit is delivered while one waiting record holds the start offset back."""
    partition = delaying(limit=100)
    assert take(partition, batches(0, 9, size=10), [(0, 0, 10**9)]) == [(1, 9, 1)]
    settle(partition, 1, 9, ACCEPT)
    for base in range(10, 100_010, 100):
        assert partition.can_acquire()
        assert fetch(partition, batches(base, base + 99, size=50)) == [(base, base + 99, 1)]
        settle(partition, base, base + 99, ACCEPT)
    assert partition.start_offset == 0
    assert partition.in_flight_batches < 300
    assert partition.delivery_complete_count == 100_009
    assert states(partition).startswith("0 Available(0), 1-9 Acknowledged(1), ")


def test_the_window_stretches_over_a_million_offsets_and_no_further() -> None:
    partition = delaying(limit=2_000)
    assert take(partition, batches(0, 0), [(0, 0, 10**9)]) == []
    base = 1
    while partition.can_acquire():
        last = partition.next_read(BATCHES, 50_000)[1]
        assert fetch(partition, batches(base, last, size=last - base + 1), max_records=50_000)
        settle(partition, base, last, ACCEPT)
        base = last + 1
    assert partition.in_flight_records == 1_000_000
    partition.on_deadline(10**9)
    assert partition.can_acquire()
    settle_all = fetch(partition, batches(0, 0), now_ms=10**9)
    assert settle_all == [(0, 0, 1)]
    settle(partition, 0, 0, ACCEPT, now_ms=10**9)
    assert partition.start_offset == 1_000_000


def test_a_start_offset_that_moves_wakes_fetches_though_finished_records_had_made_room() -> None:
    """The acknowledgement had made room but wakes no fetch; the start offset moves with its state write."""
    partition = delaying(limit=10)
    fetch(partition, spans((0, 9)))
    assert not partition.can_acquire()
    effects = ack(partition, 0, 9, ACCEPT).effects
    assert partition.can_acquire()
    assert written(partition, effects) == (WakeFetches(),)


def test_without_delays_the_window_is_the_limit_as_before() -> None:
    partition = share_partition(limit=10)
    assert fetch(partition, batches(0, 9, size=10)) == [(0, 9, 1)]
    settle(partition, 1, 9, ACCEPT)
    assert not partition.can_acquire()


# -- given back with a time


def test_a_record_given_back_with_a_time_comes_no_earlier() -> None:
    partition = delaying()
    fetch(partition, batches(0, 9, size=10))
    outcome = partition.acknowledge(
        "m1", [AckBatch(0, 3, (RELEASE,)), AckBatch(4, 9, (ACCEPT,))], 50, [Later(1, 2, 700), Later(6, 6, 9)]
    )
    assert write_of(outcome.effects).delays == (Delay(1, 2, 750, 1),)
    written(partition, outcome.effects, now_ms=50)
    assert states(partition) == "0 Available(1), 1-2 Available(1), 3 Available(1), 4-9 Acknowledged(1)"
    assert fetch(partition, batches(0, 9, size=10), now_ms=50) == [(0, 0, 2), (3, 3, 2)]
    assert partition.on_deadline(750) == (WakeFetches(),)
    assert fetch(partition, batches(0, 9, size=10), now_ms=750) == [(1, 2, 2)]


def test_a_time_takes_the_place_of_the_groups_own_wait() -> None:
    partition = delaying()
    partition.settings = partition.settings._replace(redelivery=RedeliveryBackoff(100, 1_000))
    fetch(partition, batches(0, 2, size=3))
    outcome = partition.acknowledge("m1", [AckBatch(0, 2, (RELEASE,))], 0, [Later(1, 1, 5_000)])
    assert write_of(outcome.effects).delays == (Delay(0, 0, 100, 1), Delay(1, 1, 5_000, 1), Delay(2, 2, 100, 1))


def test_a_write_that_fails_takes_the_time_back() -> None:
    partition = delaying()
    fetch(partition, batches(0, 2, size=3))
    outcome = partition.acknowledge("m1", [AckBatch(0, 2, (RELEASE,))], 0, [Later(0, 2, 5_000)])
    written(partition, outcome.effects, FAILED)
    assert states(partition) == "0-2 Acquired(1) m1"
    assert partition.counters.delays == 0


def test_the_last_delivery_is_the_last_whatever_time_was_given() -> None:
    partition = delaying(max_deliveries=2)
    for _ in range(2):
        fetch(partition, batches(0, 0))
        outcome = partition.acknowledge("m1", [AckBatch(0, 0, (RELEASE,))], 0, [Later(0, 0, 10)])
        written(partition, outcome.effects)
        partition.on_deadline(10)
    assert partition.start_offset == 1


def test_a_time_is_refused_where_the_group_has_none_or_it_is_too_long() -> None:
    partition = delaying()
    fetch(partition, batches(0, 0))
    release = [AckBatch(0, 0, (RELEASE,))]
    for wait in (0, -1, DAY_MS + 1):
        assert partition.acknowledge("m1", release, 0, [Later(0, 0, wait)]).error is ErrorCode.INVALID_REQUEST
    partition.settings = partition.settings._replace(delay=RecordDelays())
    assert partition.acknowledge("m1", release, 0, [Later(0, 0, 10)]).error is ErrorCode.INVALID_REQUEST
    assert states(partition) == "0 Acquired(1) m1"
    partition.settings = partition.settings._replace(delay=RecordDelays(True, DAY_MS))
    assert partition.acknowledge("m1", release, 0, [Later(0, 0, DAY_MS)]).error is ErrorCode.NONE


# -- random lives


def live(seed: int, steps: int, *, failures: bool = True) -> None:
    world = DatedWorld(seed, failures=failures)
    try:
        for _ in range(steps):
            world.step()
        world.drain()
    except Exception as failure:
        raise AssertionError("\n".join([f"seed {seed}", *world.transcript[-40:], str(failure)])) from failure


@pytest.mark.parametrize("first_seed", range(0, 60, 30))
def test_no_life_brings_a_record_before_its_time_and_each_one_comes(first_seed: int) -> None:
    """Acknowledgements, expiries, limits, backoffs, dead letters, crashes, compactions and transactions are mixed."""
    for seed in range(first_seed, first_seed + 30):
        live(seed, steps=120, failures=seed % 2 == 0)
