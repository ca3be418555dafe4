"""Acknowledging: the effect of each type, the order of the checks, and rollback after an error (KIP-932, KIP-1222).

Behaviour follows Apache Kafka 4.3.1.
"""

from __future__ import annotations

import pytest

from shareq.broker.share.core.partition import AckBatch, SharePartition
from shareq.protocol.errors import ErrorCode
from shareq.protocol.share import AcknowledgeType
from tests.support.models.share_partition import (
    ACCEPT,
    GAP,
    REJECT,
    RELEASE,
    RENEW,
    ack,
    batches,
    fetch,
    rows_of,
    settle,
    share_partition,
    spans,
    states,
    write_of,
    written,
)

INVALID_REQUEST, INVALID_RECORD_STATE = ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_RECORD_STATE


def holding(first: int = 0, last: int = 9, *, start: int = 0, size: int = 10, renew: bool = True) -> SharePartition:
    partition = share_partition(start=start, renew=renew)
    fetch(partition, batches(first, last, size), batch_size=last - first + 1)
    return partition


@pytest.fixture
def partition() -> SharePartition:
    return holding()


def error_of(partition: SharePartition, first: int, last: int, *types: int, member: str = "m1") -> ErrorCode:
    outcome = ack(partition, first, last, *types, member=member)
    assert (outcome.effects, outcome.write_id) == ((), None)
    return outcome.error


# -- what the types do


@pytest.mark.parametrize(
    ("kind", "state"),
    [(GAP, "Archived(1)"), (ACCEPT, "Acknowledged(1)"), (RELEASE, "Available(1)"), (REJECT, "Archived(1)")],
)
def test_each_type_moves_a_record_to_its_state(kind: int, state: str, partition: SharePartition) -> None:
    settle(partition, 5, 5, kind)
    assert states(partition) == f"0-4 Acquired(1) m1, 5 {state}, 6-9 Acquired(1) m1"


def test_types_may_be_given_one_per_offset(partition: SharePartition) -> None:
    write = settle(partition, 0, 9, ACCEPT, RELEASE, REJECT, GAP, ACCEPT, ACCEPT, RELEASE, RELEASE, REJECT, ACCEPT)
    assert rows_of(write) == [
        (0, 0, 2, 1),
        (1, 1, 0, 1),
        (2, 3, 4, 1),
        (4, 5, 2, 1),
        (6, 7, 0, 1),
        (8, 8, 4, 1),
        (9, 9, 2, 1),
    ]
    assert partition.start_offset == 1
    assert partition.next_fetch_offset() == 1


def test_equal_neighbours_are_persisted_as_one_range_across_batches() -> None:
    partition = share_partition()
    fetch(partition, batches(0, 9, 1), batch_size=1)
    assert rows_of(settle(partition, 0, 9, ACCEPT)) == [(0, 9, 2, 1)]


def test_types_given_one_per_offset_are_joined_across_what_is_in_flight_together() -> None:
    partition = share_partition()
    fetch(partition, batches(0, 3, 2), batch_size=2)
    assert rows_of(settle(partition, 0, 3, ACCEPT, REJECT, REJECT, ACCEPT)) == [
        (0, 0, 2, 1),
        (1, 2, 4, 1),
        (3, 3, 2, 1),
    ]


@pytest.mark.parametrize("types", [(RELEASE,), (*[ACCEPT] * 4, RELEASE, RELEASE, *[ACCEPT] * 4)])
def test_neighbours_of_different_delivery_counts_are_persisted_apart(types: tuple[int, ...]) -> None:
    partition = share_partition()
    fetch(partition, spans((0, 4)))
    settle(partition, 0, 4, RELEASE)
    fetch(partition, spans((0, 4), (5, 9)))
    rows = rows_of(settle(partition, 0, 9, *types))
    assert {offset: count for first, last, _, count in rows for offset in range(first, last + 1)} == {
        offset: 2 if offset < 5 else 1 for offset in range(10)
    }


def test_several_batches_of_one_request_are_one_write(partition: SharePartition) -> None:
    outcome = partition.acknowledge(
        "m1", [AckBatch(0, 1, [ACCEPT]), AckBatch(2, 2, [ACCEPT]), AckBatch(6, 7, [REJECT])], 0
    )
    assert rows_of(write_of(outcome.effects)) == [(0, 2, 2, 1), (6, 7, 4, 1)]
    assert outcome.write_id == write_of(outcome.effects).write_id


def test_a_whole_batch_accepted_with_one_type_stays_one_object() -> None:
    partition = holding(0, 9_999, size=10_000)
    ack(partition, 0, 9_999, ACCEPT)
    assert states(partition) == "0-9999 Acknowledged(1) pending"


def test_the_enum_is_as_good_as_its_number(partition: SharePartition) -> None:
    settle(partition, 0, 1, AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE)
    assert states(partition) == "1 Available(1), 2-9 Acquired(1) m1"


def test_accepting_part_of_a_batch_leaves_the_rest_with_its_owner_and_deadline() -> None:
    partition = share_partition(lock_ms=100)
    fetch(partition, spans((0, 9)), now_ms=7)
    settle(partition, 0, 3, ACCEPT, now_ms=50)
    assert [(run.first_offset, run.last_offset, run.deadline_ms) for run in partition.snapshot()] == [(4, 9, 107)]


# -- renew


def test_renew_restarts_the_lock_and_writes_nothing() -> None:
    """The full lock duration begins again, and nothing is persisted (KIP-1222)."""
    partition = share_partition(lock_ms=100)
    fetch(partition, spans((0, 9)))
    outcome = ack(partition, 0, 9, RENEW, now_ms=60)
    assert (outcome.error, outcome.effects, outcome.write_id) == (ErrorCode.NONE, (), None)
    partition.on_deadline(100)
    assert states(partition) == "0-9 Acquired(1) m1"
    partition.on_deadline(160)
    assert states(partition) == "0-9 Available(1)"


def test_renew_of_some_offsets_extends_only_those() -> None:
    partition = share_partition(lock_ms=100)
    fetch(partition, spans((0, 3)))
    outcome = ack(partition, 0, 3, RENEW, ACCEPT, RENEW, RELEASE, now_ms=60)
    written(partition, outcome.effects)
    partition.on_deadline(100)
    assert states(partition) == "0 Acquired(1) m1, 1 Acknowledged(1), 2 Acquired(1) m1, 3 Available(1)"
    assert partition.next_deadline_ms() == 160


def test_renew_is_refused_when_the_group_does_not_allow_it() -> None:
    partition = holding(renew=False)
    assert error_of(partition, 0, 9, RENEW) is INVALID_RECORD_STATE
    assert error_of(partition, 0, 1, ACCEPT, RENEW) is INVALID_RECORD_STATE
    assert states(partition) == "0-9 Acquired(1) m1"


# -- the order of checks


@pytest.mark.parametrize("types", [(5,), (-1,), (ACCEPT, 9), ()])
def test_an_unknown_type_is_an_invalid_request_before_anything_else(types: tuple[int, ...]) -> None:
    assert error_of(holding(), 0, 1, *types) is INVALID_REQUEST
    assert error_of(share_partition(start=50), 0, 1, *types) is INVALID_REQUEST


def test_as_many_types_as_offsets_or_one() -> None:
    assert error_of(holding(), 0, 4, ACCEPT, ACCEPT) is INVALID_REQUEST


def test_acknowledging_below_the_start_offset_succeeds_and_does_nothing(partition: SharePartition) -> None:
    """Finished records are accepted again without an error once the start offset has passed them."""
    settle(partition, 0, 9, ACCEPT)
    assert error_of(partition, 0, 9, ACCEPT) is ErrorCode.NONE
    assert error_of(partition, 0, 9, REJECT, member="m2") is ErrorCode.NONE


def test_acknowledging_where_nothing_was_ever_in_flight_is_an_invalid_state() -> None:
    assert error_of(share_partition(start=100), 100, 109, ACCEPT) is INVALID_RECORD_STATE
    assert error_of(share_partition(start=100), 95, 109, ACCEPT) is INVALID_RECORD_STATE
    partition = holding(20, 29, start=10)
    assert error_of(partition, 10, 12, ACCEPT) is ErrorCode.NONE  # the start offset jumped to 20


def test_acknowledging_beyond_what_is_in_flight_is_an_invalid_request(partition: SharePartition) -> None:
    assert error_of(partition, 10, 12, ACCEPT) is INVALID_REQUEST
    assert error_of(partition, 5, 12, ACCEPT) is INVALID_REQUEST
    assert states(partition) == "0-9 Acquired(1) m1"


def test_a_range_from_below_the_start_offset_acknowledges_what_is_left_of_it() -> None:
    partition = share_partition()
    fetch(partition, batches(0, 19, 10), batch_size=10)
    settle(partition, 0, 9, ACCEPT)
    assert rows_of(settle(partition, 5, 19, ACCEPT)) == [(10, 19, 2, 1)]
    assert partition.start_offset == 20


def test_records_of_another_member_cannot_be_acknowledged(partition: SharePartition) -> None:
    assert error_of(partition, 0, 9, ACCEPT, member="m2") is INVALID_RECORD_STATE
    settle(partition, 0, 3, RELEASE)
    fetch(partition, spans((0, 9)), "m2")
    assert error_of(partition, 0, 9, ACCEPT, member="m2") is INVALID_RECORD_STATE
    assert error_of(partition, 0, 9, ACCEPT) is INVALID_RECORD_STATE
    assert states(partition) == "0-3 Acquired(2) m2, 4-9 Acquired(1) m1"


def test_acknowledging_twice_fails_while_the_write_is_pending_and_until_the_start_offset_has_passed(
    partition: SharePartition,
) -> None:
    outcome = ack(partition, 5, 9, ACCEPT)
    assert error_of(partition, 5, 9, ACCEPT) is INVALID_RECORD_STATE
    written(partition, outcome.effects)
    assert error_of(partition, 5, 9, ACCEPT) is INVALID_RECORD_STATE
    settle(partition, 0, 4, ACCEPT)
    assert error_of(partition, 5, 9, ACCEPT) is ErrorCode.NONE


def test_released_records_cannot_be_acknowledged(partition: SharePartition) -> None:
    settle(partition, 0, 9, RELEASE)
    assert error_of(partition, 0, 9, ACCEPT) is INVALID_RECORD_STATE
    assert error_of(partition, 0, 4, ACCEPT) is INVALID_RECORD_STATE


def test_one_range_may_span_batches_and_natural_holes() -> None:
    partition = share_partition()
    fetch(partition, spans((0, 9)))
    fetch(partition, spans((20, 29)), at=10)
    assert rows_of(settle(partition, 5, 24, ACCEPT)) == [(5, 9, 2, 1), (20, 24, 2, 1)]


def test_a_range_that_begins_in_a_hole_is_checked_against_the_batch_before_it() -> None:
    """The batch before must be the member's own, as by Apache Kafka's lookup, unless it is kept by offset."""
    partition = share_partition()
    fetch(partition, spans((0, 9)), "m2")
    fetch(partition, spans((20, 29)), at=10)
    assert error_of(partition, 15, 29, ACCEPT) is INVALID_RECORD_STATE
    settle(partition, 0, 3, RELEASE, member="m2")  # from now on 0-9 is kept offset by offset
    assert rows_of(settle(partition, 15, 29, ACCEPT)) == [(20, 29, 2, 1)]


def test_a_range_that_begins_in_a_hole_behind_an_own_batch_leaves_that_kept_by_offset() -> None:
    partition = share_partition()
    fetch(partition, spans((0, 9)))
    fetch(partition, spans((20, 29)), at=10)
    fetch(partition, spans((40, 49)), at=30)
    settle(partition, 15, 29, ACCEPT)
    settle(partition, 0, 9, RELEASE)
    assert rows_of(settle(partition, 45, 49, ACCEPT)) == [(45, 49, 2, 1)]
    fetch(partition, spans((0, 9)), "m2")
    # 0-9 now belongs to m2; if it were still one batch, a range that begins in the hole behind it would fail
    fetch(partition, spans((50, 59)))
    assert error_of(partition, 12, 12, ACCEPT) is INVALID_REQUEST


@pytest.mark.parametrize("whole", [True, False])
def test_types_per_offset_make_a_batch_kept_by_offset_even_if_all_are_equal(whole: bool) -> None:
    """The difference shows in the special case of ranges that begin in a hole."""
    partition = share_partition()
    fetch(partition, spans((0, 9)), "m2")
    fetch(partition, spans((20, 29)), at=10)
    settle(partition, 0, 9, *([RELEASE] * (1 if whole else 10)), member="m2")
    fetch(partition, spans((0, 9)), "m2")
    error = ack(partition, 15, 29, ACCEPT).error
    assert error is (INVALID_RECORD_STATE if whole else ErrorCode.NONE)


def test_below_a_moved_start_offset_the_held_part_of_a_batch_is_skipped(partition: SharePartition) -> None:
    partition.on_log_start_moved(5, 0)
    assert rows_of(settle(partition, 0, 9, ACCEPT)) == [(5, 9, 2, 1)]
    assert states(partition, first=0) == "0-4 Acquired(1) m1, 5-9 Acknowledged(1)"


def test_a_batch_wholly_below_the_start_offset_is_not_even_checked() -> None:
    partition = share_partition()
    fetch(partition, batches(0, 19, 10), "m2", batch_size=10)
    fetch(partition, spans((20, 29)))
    partition.on_log_start_moved(20, 0)
    assert rows_of(settle(partition, 0, 29, ACCEPT)) == [(20, 29, 2, 1)]


# -- all or nothing


def test_one_bad_range_undoes_the_others_of_the_request(partition: SharePartition) -> None:
    acks = [AckBatch(0, 3, [ACCEPT]), AckBatch(4, 5, [REJECT, RELEASE]), AckBatch(20, 21, [ACCEPT])]
    outcome = partition.acknowledge("m1", acks, 0)
    assert (outcome.error, outcome.effects, outcome.write_id) == (INVALID_REQUEST, (), None)
    assert states(partition) == "0-9 Acquired(1) m1"
    assert partition.delivery_complete_count == 0


def test_the_same_offset_twice_in_one_request_fails(partition: SharePartition) -> None:
    """Ranges that share a boundary are refused here: the request's validation lets them pass."""
    outcome = partition.acknowledge("m1", [AckBatch(0, 3, [ACCEPT]), AckBatch(3, 5, [ACCEPT])], 0)
    assert outcome.error is INVALID_RECORD_STATE
    assert states(partition) == "0-9 Acquired(1) m1"


def test_an_error_does_not_take_back_renewals() -> None:
    partition = share_partition(lock_ms=100)
    fetch(partition, spans((0, 9)))
    acks = [AckBatch(0, 3, [RENEW]), AckBatch(4, 5, [RENEW, ACCEPT]), AckBatch(20, 21, [ACCEPT])]
    assert partition.acknowledge("m1", acks, 50).error is INVALID_REQUEST
    deadlines = [(run.first_offset, run.last_offset, run.deadline_ms) for run in partition.snapshot()]
    assert deadlines == [(0, 4, 150), (5, 9, 100)]


def test_renewals_in_front_of_the_offset_that_fails_stay() -> None:
    partition = share_partition(lock_ms=100)
    fetch(partition, spans((0, 4)))
    fetch(partition, spans((5, 9)), "m2")
    acks = [AckBatch(0, 9, [RENEW, ACCEPT, RENEW, RENEW, RENEW, *[ACCEPT] * 5])]
    assert partition.acknowledge("m1", acks, 50).error is INVALID_RECORD_STATE
    deadlines = [(run.first_offset, run.last_offset, run.deadline_ms) for run in partition.snapshot()]
    assert deadlines == [(0, 0, 150), (1, 1, 100), (2, 4, 150), (5, 9, 100)]


def test_renewing_and_accepting_the_same_offset_in_one_request_is_fine(partition: SharePartition) -> None:
    outcome = partition.acknowledge("m1", [AckBatch(0, 3, [RENEW]), AckBatch(3, 5, [ACCEPT])], 0)
    assert outcome.error is ErrorCode.NONE
    assert rows_of(write_of(outcome.effects)) == [(3, 5, 2, 1)]


def test_acknowledging_nothing_succeeds_at_once() -> None:
    outcome = holding().acknowledge("m1", [], 0)
    assert (outcome.error, outcome.effects, outcome.write_id) == (ErrorCode.NONE, (), None)


def test_an_expired_lock_that_nobody_looked_at_yet_can_still_be_acknowledged() -> None:
    partition = share_partition(lock_ms=100)
    fetch(partition, spans((0, 9)))
    settle(partition, 0, 9, ACCEPT, now_ms=150)
    assert partition.start_offset == 10


def test_a_range_over_records_of_several_delivery_counts_leaves_each_with_its_own() -> None:
    partition = share_partition()
    fetch(partition, spans((0, 9)))
    settle(partition, 0, 3, RELEASE)
    fetch(partition, spans((0, 9)))
    outcome = ack(partition, 0, 8, ACCEPT)
    assert rows_of(write_of(outcome.effects)) == [(0, 3, 2, 2), (4, 8, 2, 1)]
    assert states(partition) == ("0-3 Acknowledged(2) pending, 4-8 Acknowledged(1) pending, 9 Acquired(1) m1")


def test_only_what_is_locked_has_a_deadline() -> None:
    partition = share_partition(lock_ms=100)
    fetch(partition, spans((0, 9)), now_ms=5)
    settle(partition, 3, 9, RELEASE)
    assert [(run.first_offset, run.deadline_ms) for run in partition.snapshot()] == [(0, 105), (3, None)]
