from __future__ import annotations

from collections.abc import Sequence

import pytest

from shareq.broker.share.core.effects import (
    Cause,
    DeadLetter,
    DeadLetters,
    DeliveryLimitReached,
    Effect,
    GivenUpRange,
)
from shareq.broker.share.core.partition import SharePartition
from shareq.protocol.errors import ErrorCode
from tests.support.models.share_partition import (
    ACCEPT,
    FAILED,
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

REJECTED, EXCEEDED = Cause.CLIENT_REJECT, Cause.DELIVERY_COUNT_EXCEEDED


def with_queue(**kwargs: object) -> SharePartition:
    partition = share_partition(**kwargs)  # type: ignore[arg-type]
    partition.settings = partition.settings._replace(dead_letters=True)
    return partition


@pytest.fixture
def partition() -> SharePartition:
    return with_queue()


def letters(effects: Sequence[Effect]) -> list[DeadLetter]:
    return [letter for effect in effects if isinstance(effect, DeadLetters) for letter in effect.letters]


def test_a_rejected_range_is_archiving_and_has_its_letter_when_that_is_durable(partition: SharePartition) -> None:
    fetch(partition, spans((0, 4)))
    outcome = ack(partition, 0, 4, REJECT)
    assert states(partition) == "0-4 Archiving(1) pending"
    assert letters(outcome.effects) == []
    assert rows_of(write_of(outcome.effects)) == [(0, 4, 3, 1)]
    assert letters(written(partition, outcome.effects)) == [DeadLetter(0, 4, 1, REJECTED, "m1")]
    assert states(partition) == "0-4 Archiving(1)"


def test_an_archiving_record_is_in_flight_and_no_member_gets_or_acknowledges_it() -> None:
    partition = with_queue(limit=5)
    fetch(partition, spans((0, 4)))
    settle(partition, 0, 4, REJECT)
    assert (partition.start_offset, partition.end_offset, partition.delivery_complete_count) == (0, 4, 0)
    assert partition.in_flight_records == 5
    assert not partition.can_acquire()
    assert fetch(partition, spans((0, 4), (5, 9)), at=0) == []
    assert ack(partition, 0, 4, ACCEPT).error is ErrorCode.INVALID_RECORD_STATE
    assert partition.release_acquired_records("m1", 1) == ()
    assert partition.on_deadline(1_000_000) == ()


def test_done_letters_archive_at_once_and_the_write_moves_the_start_offset(partition: SharePartition) -> None:
    fetch(partition, spans((0, 4)))
    settle(partition, 0, 4, REJECT)
    effects = partition.on_dead_letters_done(0, 4)
    write = write_of(effects)
    assert rows_of(write) == [(0, 4, 4, 1)]
    assert write.delivery_complete_count == 5
    assert states(partition) == "0-4 Archived(1)"
    assert written(partition, effects) == ()
    assert partition.start_offset == 5
    assert partition.on_dead_letters_done(0, 4) == ()


def test_a_part_of_the_letters_may_be_done_before_the_rest(partition: SharePartition) -> None:
    fetch(partition, spans((0, 4)))
    settle(partition, 0, 4, REJECT)
    written(partition, partition.on_dead_letters_done(3, 4))
    assert states(partition) == "0-2 Archiving(1), 3-4 Archived(1)"
    assert partition.start_offset == 0
    written(partition, partition.on_dead_letters_done(0, 2))
    assert partition.start_offset == 5


def test_a_failed_write_of_done_letters_leaves_them_archived_in_memory(partition: SharePartition) -> None:
    """A leader that loads the state again writes the letters again (KIP-1191, 4.4.0)."""
    fetch(partition, spans((0, 4)))
    settle(partition, 0, 4, REJECT)
    written(partition, partition.on_dead_letters_done(0, 4), FAILED)
    assert partition.start_offset == 5
    assert ack(partition, 0, 4, ACCEPT).error is ErrorCode.INVALID_RECORD_STATE, "not durable: success is no answer"


def test_a_rejection_that_cannot_be_written_is_taken_back_and_has_no_letter(partition: SharePartition) -> None:
    fetch(partition, spans((0, 4)))
    outcome = ack(partition, 0, 4, REJECT)
    assert letters(written(partition, outcome.effects, FAILED)) == []
    assert states(partition) == "0-4 Acquired(1) m1"


def test_a_rejection_that_cannot_be_written_and_whose_last_lock_has_run_out_is_dead_all_the_same() -> None:
    """The record has a letter. Apache Kafka 4.4.0 archives it without one."""
    partition = with_queue(max_deliveries=2, lock_ms=100)
    fetch(partition, spans((0, 4)))
    settle(partition, 0, 4, RELEASE)
    fetch(partition, spans((0, 4)))
    outcome = ack(partition, 0, 4, REJECT)
    effects = written(partition, outcome.effects, FAILED, now_ms=200)
    assert letters(effects) == [DeadLetter(0, 4, 2, EXCEEDED)]
    assert states(partition) == "0-4 Archiving(2)"


@pytest.mark.parametrize("types", [[RELEASE], [RELEASE] * 5])
def test_the_last_delivery_released_is_dead_by_its_count(types: list[int]) -> None:
    partition = with_queue(max_deliveries=2)
    fetch(partition, spans((0, 4)))
    settle(partition, 0, 4, *types)
    assert states(partition) == "0-4 Available(1)"
    fetch(partition, spans((0, 4)))
    outcome = ack(partition, 0, 4, *types)
    effects = written(partition, outcome.effects)
    assert letters(effects) == [DeadLetter(0, 4, 2, EXCEEDED, "m1")]
    assert DeliveryLimitReached((GivenUpRange(0, 4, 2),)) in effects
    assert partition.counters.dead_letters == 5


def test_the_last_lock_that_runs_out_is_dead_after_its_write_also_a_failed_one() -> None:
    for error in (ErrorCode.NONE, FAILED):
        partition = with_queue(max_deliveries=2, lock_ms=100)
        fetch(partition, spans((0, 4)))
        settle(partition, 0, 4, RELEASE)
        fetch(partition, spans((0, 4)), now_ms=10)
        effects = partition.on_deadline(110)
        assert letters(effects) == []
        assert states(partition) == "0-4 Archiving(2)"
        assert letters(written(partition, effects, error, now_ms=110)) == [DeadLetter(0, 4, 2, EXCEEDED)]
        assert partition.start_offset == 0


def test_what_a_closed_session_held_for_the_last_time_is_dead() -> None:
    partition = with_queue(max_deliveries=2)
    fetch(partition, spans((0, 4)))
    settle(partition, 0, 4, RELEASE)
    fetch(partition, spans((0, 4)))
    effects = partition.release_acquired_records("m1", 10)
    assert letters(written(partition, effects)) == [DeadLetter(0, 4, 2, EXCEEDED)]


def test_gaps_accepted_and_renewed_records_are_never_dead(partition: SharePartition) -> None:
    fetch(partition, spans((0, 4)))
    outcome = ack(partition, 0, 3, GAP, ACCEPT, RENEW, REJECT)
    assert letters(written(partition, outcome.effects)) == [DeadLetter(3, 3, 1, REJECTED, "m1")]
    assert states(partition) == "2 Acquired(1) m1, 3 Archiving(1), 4 Acquired(1) m1"


def test_rejections_record_by_record_are_one_letter_where_they_adjoin(partition: SharePartition) -> None:
    fetch(partition, spans((0, 4)))
    outcome = ack(partition, 0, 4, REJECT, REJECT, ACCEPT, REJECT, REJECT)
    assert letters(written(partition, outcome.effects)) == [
        DeadLetter(0, 1, 1, REJECTED, "m1"),
        DeadLetter(3, 4, 1, REJECTED, "m1"),
    ]


def test_rejected_and_given_up_side_by_side_are_two_causes() -> None:
    partition = with_queue(max_deliveries=2)
    fetch(partition, batches(0, 3))
    settle(partition, 0, 3, RELEASE)
    fetch(partition, batches(0, 3))
    outcome = ack(partition, 0, 3, RELEASE, REJECT, REJECT, RELEASE)
    dead = {
        offset: letter.cause
        for letter in letters(written(partition, outcome.effects))
        for offset in range(letter.first_offset, letter.last_offset + 1)
    }
    assert dead == {0: EXCEEDED, 1: REJECTED, 2: REJECTED, 3: EXCEEDED}
    assert rows_of(write_of(outcome.effects)) == [(0, 3, 3, 2)]


def test_what_has_left_the_log_when_it_is_given_back_has_no_letter() -> None:
    partition = with_queue(max_deliveries=2)
    fetch(partition, spans((0, 4)))
    settle(partition, 0, 4, RELEASE)
    fetch(partition, spans((0, 4)))
    partition.on_log_start_moved(3, 5)
    effects = partition.release_acquired_records("m1", 10)
    assert letters(written(partition, effects)) == [DeadLetter(3, 4, 2, EXCEEDED)]


def test_dead_records_stay_until_they_are_done_when_the_log_start_passes_them(partition: SharePartition) -> None:
    fetch(partition, spans((0, 4), (5, 9)))
    settle(partition, 0, 4, REJECT)
    partition.on_log_start_moved(5, 5)
    assert states(partition, first=0).startswith("0-4 Archiving(1)")
    written(partition, partition.on_dead_letters_done(0, 4))
    assert partition.start_offset == 5


def test_aborted_records_are_archived_without_a_letter(partition: SharePartition) -> None:
    assert fetch(partition, spans((0, 2), (3, 4)), aborted=[(0, 2)]) == [(3, 4, 1)]
    assert states(partition) == "0-2 Archived(1), 3-4 Acquired(1) m1"
    assert partition.unfinished_dead_letters() == ()


def test_a_load_finds_the_dead_again_and_guesses_why_they_died() -> None:
    partition = with_queue(persisted=[(0, 4, 3, 1), (5, 5, 2, 1), (6, 8, 3, 5)])
    assert partition.unfinished_dead_letters() == (
        DeadLetter(0, 4, 1, REJECTED),
        DeadLetter(6, 8, 5, EXCEEDED),
    )
    assert partition.start_offset == 0
    assert partition.delivery_complete_count == 1
    written(partition, partition.on_dead_letters_done(0, 8))
    assert partition.start_offset == 9


def test_a_load_finds_the_dead_again_in_a_group_without_a_queue_too() -> None:
    """The queue may have been removed meanwhile, but the dead must not stay in flight for ever."""
    partition = share_partition(persisted=[(0, 4, 3, 1)])
    assert partition.unfinished_dead_letters() == (DeadLetter(0, 4, 1, REJECTED),)


def test_without_a_queue_nothing_is_archiving() -> None:
    partition = share_partition(max_deliveries=2)
    fetch(partition, spans((0, 4)))
    outcome = ack(partition, 0, 4, REJECT)
    assert rows_of(write_of(outcome.effects)) == [(0, 4, 4, 1)]
    assert letters(written(partition, outcome.effects)) == []
    assert partition.start_offset == 5


def test_the_queue_counts_at_the_transition() -> None:
    """The setting at the time of each transition counts; it may change between two."""
    partition = share_partition()
    fetch(partition, spans((0, 4)))
    settle(partition, 0, 1, REJECT)
    partition.settings = partition.settings._replace(dead_letters=True)
    settle(partition, 2, 4, REJECT)
    assert states(partition) == "2-4 Archiving(1)"
