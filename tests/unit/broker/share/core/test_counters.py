from __future__ import annotations

from shareq.broker.share.core.counters import SharePartitionCounters
from shareq.broker.share.core.effects import DeliveryLimitReached, GivenUpRange
from shareq.broker.share.core.partition import SharePartition
from shareq.coordinator.ports import ShareGroupSettings
from shareq.protocol.errors import ErrorCode
from shareq.protocol.share import AcknowledgeType
from tests.support.models.share_partition import (
    ACCEPT,
    FAILED,
    GAP,
    RECORDS,
    REJECT,
    RELEASE,
    RENEW,
    ack,
    batches,
    fetch,
    settings,
    settle,
    share_partition,
    written,
)


def counts(counters: SharePartitionCounters) -> dict[str, int]:
    """Return the number of acknowledged records by type, without the types that have none."""
    return {kind.name: counters.acknowledged[kind] for kind in AcknowledgeType if counters.acknowledged[kind]}


def test_deliveries_and_redeliveries(partition: SharePartition) -> None:
    fetch(partition, batches(0, 9, size=5), batch_size=5)
    assert (partition.counters.deliveries, partition.counters.new_batches) == (10, 2)
    settle(partition, 0, 4, RELEASE)
    fetch(partition, batches(0, 4, size=5))
    assert (partition.counters.deliveries, partition.counters.redeliveries) == (15, 5)
    assert partition.counters.new_batches == 2
    assert (partition.in_flight_records, partition.in_flight_batches) == (10, 2)


def test_a_limited_fetch_counts_what_it_hands_out(partition: SharePartition) -> None:
    for _ in range(3):
        fetch(partition, batches(0, 9, size=10), max_records=2, mode=RECORDS)
    assert (partition.counters.deliveries, partition.counters.redeliveries) == (6, 0)
    assert partition.counters.new_batches == 1


def test_what_a_limited_fetch_puts_in_flight_is_as_old_as_that_fetch(partition: SharePartition) -> None:
    fetch(partition, batches(0, 9, size=10), max_records=2, mode=RECORDS, now_ms=7)
    assert partition.oldest_since_ms() == 7


def test_aborted_records_are_not_deliveries(partition: SharePartition) -> None:
    assert fetch(partition, batches(0, 9, size=10), aborted=[(2, 4)]) == [(0, 1, 1), (5, 9, 1)]
    assert partition.counters.deliveries == 7


def test_acknowledgements_count_by_type_and_record(partition: SharePartition) -> None:
    fetch(partition, batches(0, 9, size=10))
    settle(partition, 0, 4, ACCEPT, RELEASE, REJECT, RENEW, GAP)
    settle(partition, 5, 6, ACCEPT)
    assert counts(partition.counters) == {"GAP": 1, "ACCEPT": 3, "RELEASE": 1, "REJECT": 1, "RENEW": 1}


def test_renewals_alone_need_no_write(partition: SharePartition) -> None:
    fetch(partition, batches(0, 4, size=5))
    assert ack(partition, 0, 4, RENEW).effects == ()
    assert counts(partition.counters) == {"RENEW": 5}


def test_nothing_counts_before_it_is_durable_or_when_it_fails(partition: SharePartition) -> None:
    fetch(partition, batches(0, 4, size=5))
    outcome = ack(partition, 0, 4, ACCEPT)
    assert counts(partition.counters) == {}
    written(partition, outcome.effects, FAILED)
    assert counts(partition.counters) == {}


def test_a_refused_request_counts_nothing(partition: SharePartition) -> None:
    fetch(partition, batches(0, 4, size=5))
    assert ack(partition, 0, 5, ACCEPT).error is ErrorCode.INVALID_REQUEST
    settle(partition, 3, 3, ACCEPT)
    assert ack(partition, 0, 4, ACCEPT).error is ErrorCode.INVALID_RECORD_STATE
    assert counts(partition.counters) == {"ACCEPT": 1}


def test_lock_timeouts_and_their_dead_letters() -> None:
    partition = share_partition(max_deliveries=2, lock_ms=100)
    fetch(partition, batches(0, 4, size=5))
    settle(partition, 0, 0, ACCEPT)
    written(partition, partition.on_deadline(100))
    assert (partition.counters.lock_timeouts, partition.counters.dead_letters) == (4, 0)
    fetch(partition, batches(0, 4, size=5), now_ms=100)
    settle(partition, 1, 1, REJECT)
    written(partition, partition.on_deadline(200))
    assert (partition.counters.lock_timeouts, partition.counters.dead_letters) == (7, 3)


def test_a_last_release_is_a_dead_letter_and_a_reject_is_none() -> None:
    partition = share_partition(max_deliveries=1)
    fetch(partition, batches(0, 9, size=5), batch_size=5)
    settle(partition, 0, 4, RELEASE)  # a whole batch
    settle(partition, 5, 7, RELEASE, REJECT, RELEASE)
    settle(partition, 8, 8, RELEASE)
    assert partition.counters.dead_letters == 8


def test_which_records_reach_the_delivery_limit_is_said_once_that_is_durable() -> None:
    partition = share_partition(max_deliveries=1)
    fetch(partition, batches(0, 9, size=5), batch_size=5)
    outcome = ack(partition, 0, 4, RELEASE, REJECT, RELEASE, RELEASE, ACCEPT)
    assert not any(isinstance(effect, DeliveryLimitReached) for effect in outcome.effects)
    (said,) = written(partition, outcome.effects)[-1:]
    assert said == DeliveryLimitReached((GivenUpRange(0, 0, 1), GivenUpRange(2, 3, 1)))
    (said,) = written(partition, partition.release_acquired_records("m1", 0))[-1:]
    assert said == DeliveryLimitReached((GivenUpRange(5, 9, 1),))


def test_a_lock_that_runs_out_at_the_limit_is_said_at_once() -> None:
    partition = share_partition(max_deliveries=1, lock_ms=100)
    fetch(partition, batches(0, 4, size=5))
    assert partition.on_deadline(100)[-1] == DeliveryLimitReached((GivenUpRange(0, 4, 1),))


def test_a_release_that_is_not_durable_is_no_dead_letter() -> None:
    partition = share_partition(max_deliveries=1, lock_ms=100)
    fetch(partition, batches(0, 4, size=5))
    written(partition, ack(partition, 0, 4, RELEASE).effects, FAILED, now_ms=50)
    assert partition.counters.dead_letters == 0
    written(partition, ack(partition, 0, 1, ACCEPT, now_ms=60).effects, FAILED, now_ms=150)
    assert partition.counters.dead_letters == 2  # the lock has run out meanwhile


def test_the_end_of_a_session() -> None:
    partition = share_partition(max_deliveries=2)
    fetch(partition, batches(0, 4, size=5))
    settle(partition, 0, 1, RELEASE)
    fetch(partition, batches(0, 1, size=2), member="m2")
    written(partition, partition.release_acquired_records("m2", 0))
    assert (partition.counters.session_releases, partition.counters.dead_letters) == (2, 2)
    written(partition, partition.release_acquired_records("m1", 0), FAILED)
    assert partition.counters.session_releases == 2


def test_what_the_log_has_lost_is_no_dead_letter() -> None:
    partition = share_partition(lock_ms=100)
    fetch(partition, batches(0, 9, size=10))
    partition.on_log_start_moved(6, now_ms=0)
    partition.settings = ShareGroupSettings(delivery_count_limit=1, record_lock_duration_ms=100)
    written(partition, partition.on_deadline(100))
    assert partition.counters.dead_letters == 4


def test_counters_can_be_added_up() -> None:
    total = SharePartitionCounters()
    for _ in range(2):
        partition = share_partition(max_deliveries=1)
        fetch(partition, batches(0, 9, size=5), batch_size=5)
        settle(partition, 0, 4, RELEASE)
        written(partition, partition.release_acquired_records("m1", 0))
        total.add(partition.counters)
    assert counts(total) == {"RELEASE": 10}
    assert (total.deliveries, total.new_batches, total.dead_letters) == (20, 4, 20)
    assert (total.session_releases, total.redeliveries, total.lock_timeouts) == (10, 0, 0)


def test_counters_outlive_the_share_partition() -> None:
    first = share_partition()
    fetch(first, batches(0, 4, size=5))
    second = type(first)(first.key, 3, settings(), first.counters)
    second.load(7, 0, [], log_start_offset=0, log_end_offset=5)
    fetch(second, batches(0, 4, size=5))
    assert first.counters.deliveries == 10
