"""The transaction coordinator on fakes: answers after markers, retries until the stop, timeouts, start."""

from __future__ import annotations

import pytest

from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.coordinator_runtime.partition import ProducerEpoch
from shareq.broker.log.markers import TransactionMarker
from shareq.broker.transactions.coordinator import transaction_coordinator_settings
from shareq.broker.transactions.markers import RETRY_MS
from shareq.coordinator.routing import group_partition_for
from shareq.coordinator.transaction.describe import TransactionFilter
from shareq.coordinator.transaction.init_producer_id import ExpectedProducer
from shareq.coordinator.transaction.metadata import TopicPartition
from shareq.coordinator.transaction.shard import TransactionCoordinatorSettings
from shareq.protocol.errors import ErrorCode
from tests.support.fakes.host import ELSEWHERE
from tests.support.fakes.transaction_rig import T0, T1, U0, TransactionRig

NONE = ErrorCode.NONE
LOST = ErrorCode.NOT_COORDINATOR
STATE = "__transaction_state"
OFFSETS = "__consumer_offsets"


# -- requests


def test_a_first_producer_makes_the_topic_and_gets_its_id_when_that_is_durable(rig: TransactionRig) -> None:
    pending = rig.init()
    answer = rig.ports.answer(pending)
    assert (answer.error, answer.producer_id, answer.producer_epoch) == (NONE, 100, 0)
    assert rig.ports.topics.created[-1] == STATE
    again = rig.ports.answer(rig.init("x", ExpectedProducer(100, 0)))
    assert (again.producer_id, again.producer_epoch) == (100, 1)
    assert rig.init(timeout_ms=0).value.error is (ErrorCode.INVALID_TRANSACTION_TIMEOUT)


def test_a_producer_id_that_cannot_be_had(rig: TransactionRig) -> None:
    rig.no_ids = OSError("database is full")
    answer = rig.init().value
    assert answer.error is ErrorCode.KAFKA_STORAGE_ERROR


def test_without_a_topic_that_can_be_made_nothing_is_available(rig: TransactionRig) -> None:
    rig.ports.impossible_topics()
    coordinator, unavailable = rig.transactions.coordinator, ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert rig.init().value.error is unavailable
    assert rig.end_txn(ProducerEpoch(1, 0)).value.error is unavailable
    assert coordinator.add_partitions("x", 1, 0, [T0], 2).value is unavailable
    assert coordinator.verify_partitions("x", 1, 0, [T0, U0]).value == {T0: unavailable, U0: unavailable}
    assert coordinator.describe("x").value.error_code == unavailable


def test_partitions_are_added_and_verified(rig: TransactionRig, producer: ProducerEpoch) -> None:
    verify = rig.transactions.coordinator.verify_partitions
    assert verify("x", *producer, [T0, T1]).value == {T0: NONE, T1: ErrorCode.TRANSACTION_ABORTABLE}
    assert verify("x", producer.producer_id, 7, [T0]).value == {T0: ErrorCode.PRODUCER_FENCED}
    assert verify("y", *producer, [T0]).value == {T0: ErrorCode.INVALID_PRODUCER_ID_MAPPING}
    added = rig.transactions.coordinator.add_partitions("x", producer.producer_id, 7, [T1], 2)
    assert added.value is ErrorCode.PRODUCER_FENCED


def test_what_sees_a_lost_decision_is_refused(rig: TransactionRig, producer: ProducerEpoch) -> None:
    coordinator = rig.transactions.coordinator
    added = coordinator.add_partitions("x", *producer, [T1], 2)
    verified = coordinator.verify_partitions("x", *producer, [T1])
    described, listed = coordinator.describe("x"), rig.listed()
    ended = rig.end_txn(producer)
    rig.ports.logs.lose_all()
    assert (added.value, verified.value, ended.value.error) == (LOST, {T1: LOST}, LOST)
    assert (described.value.error_code, listed.value) == (LOST, [])
    assert rig.state() == "Ongoing"
    assert rig.ends(T0) == []


def test_transactions_of_all_partitions_are_listed(rig: TransactionRig) -> None:
    names = [f"x{number}" for number in range(6)]
    assert len({group_partition_for(name, 2) for name in names}) == 2
    for name in names:
        rig.begun(name=name)
    rig.begun(T0, name="x0")
    listed, filtered = rig.listed(), rig.listed(TransactionFilter(states=("Ongoing",)))
    rig.ports.clock.run_until_idle()
    assert sorted(row.transactional_id for row in listed.value) == names
    (ongoing,) = filtered.value
    assert ongoing.transactional_id == "x0"


# -- the end of a transaction


@pytest.mark.parametrize("commit", [True, False])
def test_an_end_is_answered_behind_its_markers(commit: bool, rig: TransactionRig) -> None:
    producer = rig.begun(T0, U0)
    pending = rig.end_txn(producer, commit=commit)
    assert rig.ends(T0) == [], "the decision is not durable"
    rig.ports.logs.collect()
    state_log = rig.ports.logs.get(STATE, group_partition_for("x", 2))
    state_log.make_durable()
    how = "commit" if commit else "abort"
    assert [rig.ends(T0), rig.ends(U0), rig.ends(T1)] == [[(how, 100, 1)], [(how, 100, 1)], []]
    rig.ports.logs.get("t", 0).make_durable()
    assert not pending.done
    rig.ports.logs.get("u", 0).make_durable()
    assert not pending.done, "the coordinator's last record is not durable"
    rig.ports.logs.flush()
    answer = pending.value
    assert (answer.error, answer.producer_id, answer.producer_epoch) == (NONE, 100, 1)
    assert rig.state() == ("CompleteCommit" if commit else "CompleteAbort")
    counts = rig.transactions.markers.commits, rig.transactions.markers.aborts
    assert counts == ((1, 0) if commit else (0, 1))


def test_an_end_without_partitions_is_not_counted(rig: TransactionRig) -> None:
    producer = rig.begun()
    assert rig.end(producer, commit=False).error is NONE
    assert (rig.transactions.markers.commits, rig.transactions.markers.aborts) == (0, 0)


def test_an_end_that_is_refused_writes_no_marker(rig: TransactionRig, producer: ProducerEpoch) -> None:
    assert rig.end(ProducerEpoch(producer.producer_id, 9)).error is ErrorCode.PRODUCER_FENCED
    assert rig.ends(T0) == []


# -- markers that cannot be written


def test_a_marker_that_cannot_be_written_is_tried_again_and_its_answer_does_not_wait(
    caplog: pytest.LogCaptureFixture, rig: TransactionRig
) -> None:
    producer = rig.begun(T0, U0)
    log = rig.ports.logs.get("t", 0)
    log.refuse = ErrorCode.KAFKA_STORAGE_ERROR
    answer = rig.end(producer)
    markers = rig.transactions.markers
    assert (answer.error, rig.state(), markers.markers_to_retry, markers.commits) == (NONE, "PrepareCommit", 1, 0)
    assert caplog.messages == [
        "transactional id x, producer 100, epoch 1: no commit marker in t-0: KAFKA_STORAGE_ERROR"
    ]
    rig.ports.clock.advance(RETRY_MS)
    rig.ports.logs.flush()
    assert (rig.state(), markers.markers_to_retry, len(caplog.messages)) == ("PrepareCommit", 1, 2)
    log.refuse = NONE
    rig.ports.clock.advance(RETRY_MS - 1)
    assert rig.ends(T0) == []
    rig.ports.clock.advance(1)
    rig.ports.logs.flush()
    assert (rig.ends(T0), rig.ends(U0)) == ([("commit", 100, 1)], [("commit", 100, 1)])
    assert (rig.state(), markers.markers_to_retry, markers.commits) == ("CompleteCommit", 0, 1)


def test_a_marker_that_is_lost_is_tried_again(rig: TransactionRig, producer: ProducerEpoch) -> None:
    pending = rig.end_txn(producer, commit=False)
    rig.ports.logs.collect()
    rig.ports.logs.get(STATE, group_partition_for("x", 2)).make_durable()
    rig.ports.logs.get("t", 0).lose()
    assert (pending.value.error, rig.transactions.markers.markers_to_retry) == (NONE, 1)
    rig.ports.clock.advance(RETRY_MS)
    rig.ports.logs.flush()
    assert ([how for how, _, _ in rig.ends(T0)], rig.state()) == (["abort"], "CompleteAbort")


def test_nothing_is_tried_again_behind_the_stop(rig: TransactionRig, producer: ProducerEpoch) -> None:
    rig.ports.logs.get("t", 0).refuse = ErrorCode.KAFKA_STORAGE_ERROR
    rig.end(producer)
    rig.transactions.close()
    rig.ports.logs.get("t", 0).refuse = NONE
    rig.ports.clock.advance(10 * RETRY_MS)
    rig.ports.logs.flush()
    assert (rig.ends(T0), rig.transactions.markers.markers_to_retry) == ([], 1)


@pytest.mark.parametrize("error", [ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED])
def test_a_partition_whose_producer_has_got_further_has_nothing_to_end(
    error: ErrorCode, rig: TransactionRig, producer: ProducerEpoch
) -> None:
    rig.ports.logs.get("t", 0).refuse = error
    rig.end(producer)
    assert (rig.state(), rig.transactions.markers.markers_to_retry) == ("CompleteCommit", 0)


def test_a_partition_that_is_gone_has_nothing_to_end(caplog: pytest.LogCaptureFixture, rig: TransactionRig) -> None:
    producer = rig.begun(T0, U0)
    rig.ports.topics.delete("u")
    rig.end(producer)
    assert (rig.state(), rig.ends(T0)) == ("CompleteCommit", [("commit", 100, 1)])
    assert "no commit marker in u-0: UNKNOWN_TOPIC_OR_PARTITION" in caplog.text


def test_a_last_record_that_is_lost_is_tried_again(rig: TransactionRig, producer: ProducerEpoch) -> None:
    pending = rig.end_txn(producer)
    rig.ports.logs.collect()
    state_log = rig.ports.logs.get(STATE, group_partition_for("x", 2))
    state_log.make_durable()
    rig.ports.logs.get("t", 0).make_durable()
    rig.ports.logs.collect()
    state_log.lose()
    markers = rig.transactions.markers
    assert (pending.value.error, rig.state(), markers.ends_to_retry) == (NONE, "PrepareCommit", 1)
    rig.ports.clock.advance(RETRY_MS)
    rig.ports.logs.flush()
    assert (rig.state(), markers.ends_to_retry, markers.commits) == ("CompleteCommit", 0, 1)
    assert rig.ends(T0) == [("commit", 100, 1)], "the marker is not written again"


def test_a_last_record_of_a_partition_that_was_given_up_is_left_to_the_next_leader(
    rig: TransactionRig, producer: ProducerEpoch
) -> None:
    pending = rig.end_txn(producer)
    rig.ports.logs.collect()
    rig.ports.logs.get(STATE, group_partition_for("x", 2)).make_durable()
    rig.transactions.coordinator.partitions.resign()
    rig.ports.logs.flush()
    assert (pending.value.error, rig.transactions.markers.ends_to_retry) == (NONE, 0)
    assert rig.ports.clock.next_timer_ms() != rig.ports.clock.now_ms() + RETRY_MS


def test_the_answer_to_a_last_record_may_be_lost(rig: TransactionRig, producer: ProducerEpoch) -> None:
    """The record is noted again without harm: the coordinator answers INVALID_TXN_STATE."""
    rig.ports.logs.get("t", 0).refuse = ErrorCode.KAFKA_STORAGE_ERROR
    rig.end(producer)
    partition = rig.transactions.coordinator.partitions.get(group_partition_for("x", 2))
    (markers,) = partition.shard.unfinished()
    partition.schedule(lambda: partition.shard.complete(markers), lambda error: error)
    rig.ports.logs.flush()
    rig.ports.logs.get("t", 0).refuse = NONE
    rig.ports.clock.advance(RETRY_MS)
    rig.ports.logs.flush()
    assert (rig.transactions.markers.commits, rig.transactions.markers.ends_to_retry) == (1, 0)


# -- markers of groups


def test_what_is_committed_to_a_group_is_ended_by_its_coordinator() -> None:
    rig = TransactionRig(OFFSETS)
    at = TopicPartition(OFFSETS, 1)
    producer = rig.begun(at)
    marker = TransactionMarker(producer.producer_id, 1, 0, True, 2)
    pending = rig.transactions.markers.write(at, marker)
    assert (pending.done, rig.service.coordinator.partitions.get(1).waiting) == (False, 1)
    rig.ports.logs.flush()
    assert (pending.value, rig.ends(at)) == (NONE, [("commit", 100, 1)])


def test_a_marker_by_itself(rig: TransactionRig) -> None:
    write = rig.transactions.markers.write
    marker = TransactionMarker(7, 3, 0, False, 1)
    assert write(TopicPartition("t", 5), marker).value is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert rig.ports.answer(write(T0, marker)) is NONE
    assert rig.ends(T0) == [("abort", 7, 3)]
    assert write(T0, marker._replace(producer_epoch=2)).value is ErrorCode.INVALID_PRODUCER_EPOCH


# -- time


def test_a_transaction_that_lasts_too_long_is_aborted_and_its_producer_fenced(
    rig: TransactionRig, producer: ProducerEpoch
) -> None:
    rig.ports.clock.advance(60_000)
    rig.ports.logs.flush()
    assert rig.ends(T0) == []
    rig.ports.clock.advance(10_000)
    rig.ports.logs.flush()
    assert ([how for how, _, _ in rig.ends(T0)], rig.transactions.coordinator.timed_out) == (["abort"], 1)
    added = rig.transactions.coordinator.add_partitions("x", *producer, [T1], 2)
    assert added.value is ErrorCode.PRODUCER_FENCED
    rig.ports.clock.advance(10_000)
    due = rig.ports.clock.next_timer_ms()
    assert due is not None
    assert due > rig.ports.clock.now_ms() + 10_000, "nothing is under way: nobody looks every 10 seconds"


def test_the_look_for_long_transactions_goes_on_while_there_is_one_and_begins_again(
    rig: TransactionRig, producer: ProducerEpoch
) -> None:
    for _ in range(3):
        assert rig.ports.clock.next_timer_ms() == rig.ports.clock.now_ms() + 10_000
        rig.ports.clock.advance(10_000)
    rig.end(producer)
    rig.ports.clock.advance(10_000)
    rig.begun(T0, name="y")
    assert rig.ports.clock.next_timer_ms() == rig.ports.clock.now_ms() + 10_000


def test_a_timeout_that_cannot_be_written_is_decided_again_at_the_next_look(rig: TransactionRig) -> None:
    """The transaction is ongoing once more, and nothing else would end it."""
    rig.begun(T0)
    rig.ports.clock.advance(70_000)
    rig.ports.logs.lose_all()
    assert (rig.transactions.coordinator.timed_out, rig.state()) == (0, "Ongoing")
    rig.ports.clock.advance(10_000)
    rig.ports.logs.flush()
    assert (rig.transactions.coordinator.timed_out, [how for how, _, _ in rig.ends(T0)]) == (1, ["abort"])


def test_an_end_that_cannot_be_written_leaves_a_transaction_that_times_out(
    rig: TransactionRig, producer: ProducerEpoch
) -> None:
    """A check came while the end was being written, and found nothing ongoing."""
    pending = rig.end_txn(producer)
    rig.ports.clock.advance(10_000)
    rig.ports.logs.lose_all()
    assert (pending.value.error, rig.state()) == (LOST, "Ongoing")
    rig.ports.clock.advance(70_000)
    rig.ports.logs.flush()
    assert [how for how, _, _ in rig.ends(T0)] == ["abort"]


def test_an_expiry_that_cannot_be_written_is_decided_again_at_the_next_look(rig: TransactionRig) -> None:
    rig.begun()
    rig.ports.clock.advance(604_800_000 + 3_600_000)
    rig.ports.logs.lose_all()
    assert rig.state() == "Empty"
    rig.ports.clock.advance(3_600_000)
    rig.ports.logs.flush()
    assert rig.transactions.coordinator.describe("x").value.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND


def test_ids_that_nobody_uses_expire(rig: TransactionRig) -> None:
    rig.begun()
    week = 604_800_000
    rig.ports.clock.advance(week - 3_600_000)
    rig.ports.logs.flush()
    assert rig.state() == "Empty"
    rig.ports.clock.advance(2 * 3_600_000)
    rig.ports.logs.flush()
    described = rig.transactions.coordinator.describe("x").value
    assert described.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    rig.ports.clock.advance(3_600_000)
    assert rig.ports.clock.next_timer_ms() is None
    rig.begun(name="y")
    assert rig.ports.clock.next_timer_ms() == rig.ports.clock.now_ms() + 3_600_000


def test_what_is_lost_behind_the_close_sets_no_timer(rig: TransactionRig) -> None:
    rig.begun(T0)
    rig.ports.clock.advance(70_000)
    rig.transactions.close()
    rig.ports.logs.lose_all()
    assert (rig.state(), rig.ports.clock.next_timer_ms()) == ("Ongoing", None)
    rig = TransactionRig()
    rig.begun()
    rig.ports.clock.advance(604_800_000 + 3_600_000)
    rig.transactions.close()
    rig.ports.logs.lose_all()
    assert (rig.state(), rig.ports.clock.next_timer_ms()) == ("Empty", None)


def test_close_stops_all_timers(rig: TransactionRig) -> None:
    rig.begun(T0)
    rig.transactions.close()
    assert rig.ports.clock.next_timer_ms() is None
    TransactionRig().transactions.close()


# -- start and news


@pytest.mark.parametrize("written", [False, True])
def test_a_start_ends_what_was_decided(written: bool, rig: TransactionRig) -> None:
    producer = rig.begun(T0, U0)
    rig.ports.logs.get("t", 0).refuse = rig.ports.logs.get("u", 0).refuse = ErrorCode.KAFKA_STORAGE_ERROR
    if written:
        rig.ports.logs.get("t", 0).refuse = NONE
    rig.end(producer)
    rig.transactions.close()
    rig.ports.logs.get("t", 0).refuse = rig.ports.logs.get("u", 0).refuse = NONE
    rig.transactions = rig.make_transactions()
    rig.transactions.recover()
    rig.ports.logs.flush()
    assert (rig.ends(T0), rig.ends(U0)) == ([("commit", 100, 1)], [("commit", 100, 1)])
    assert (rig.state(), rig.transactions.markers.commits) == ("CompleteCommit", 1)


def test_a_start_looks_after_what_is_under_way(rig: TransactionRig) -> None:
    rig.begun(T0)
    rig.transactions.close()
    rig.transactions = rig.make_transactions()
    rig.transactions.recover()
    assert rig.ports.clock.next_timer_ms() == rig.ports.clock.now_ms() + 10_000
    rig.ports.clock.advance(70_000)
    rig.ports.logs.flush()
    assert [how for how, _, _ in rig.ends(T0)] == ["abort"]
    rig.transactions.close()
    rig.transactions = rig.make_transactions()
    rig.transactions.recover()
    assert rig.ports.clock.next_timer_ms() == rig.ports.clock.now_ms() + 3_600_000


def test_an_empty_start_looks_after_nothing(rig: TransactionRig) -> None:
    rig.transactions.recover()
    assert rig.ports.clock.next_timer_ms() is None


def test_without_its_topic_nothing_is_left(rig: TransactionRig, producer: ProducerEpoch) -> None:
    rig.transactions.topics_deleted([rig.ports.topics.delete("u")])
    assert rig.state() == "Ongoing"
    pending = rig.transactions.coordinator.add_partitions("x", *producer, [T1], 2)
    rig.transactions.topics_deleted([rig.ports.topics.delete(STATE)])
    assert (pending.value, list(rig.transactions.coordinator.partitions)) == (LOST, [])


def test_a_partition_that_moves_is_given_up(rig: TransactionRig, producer: ProducerEpoch) -> None:
    at = group_partition_for("x", 2)
    rig.ports.leaders.move(STATE, at, ELSEWHERE)
    rig.transactions.leader_moved("t", at)
    rig.transactions.leader_moved(STATE, 1 - at)
    assert rig.state() == "Ongoing"
    rig.transactions.leader_moved(STATE, at)
    assert rig.transactions.coordinator.add_partitions("x", *producer, [T1], 2).value is LOST


def test_settings_are_those_of_the_configuration() -> None:
    config = BrokerConfig.load({"transaction.max.timeout.ms": "7", "transactional.id.expiration.ms": "8"})
    assert transaction_coordinator_settings(config) == TransactionCoordinatorSettings(7, 8)


def test_a_producer_that_is_not_the_one_it_says_is_fenced(rig: TransactionRig) -> None:
    rig.begun()
    answer = rig.init("x", ExpectedProducer(100, 7)).value
    assert answer.error is ErrorCode.PRODUCER_FENCED


def test_a_description_that_fails_names_its_transactional_id(rig: TransactionRig) -> None:
    rig.ports.impossible_topics()
    assert rig.transactions.coordinator.describe("x").value.transactional_id == "x"


def test_everything_is_counted_by_transaction(rig: TransactionRig) -> None:
    for commit in (True, True, False, False):
        answer = rig.ports.answer(rig.init())
        producer = ProducerEpoch(answer.producer_id, answer.producer_epoch)
        rig.ports.answer(rig.transactions.coordinator.add_partitions("x", *producer, [U0], 2))
        rig.end(producer, commit=commit)
    markers = rig.transactions.markers
    assert (markers.commits, markers.aborts) == (2, 2)
    for _ in range(2):
        rig.begun(T0)
        rig.ports.clock.advance(70_000)
        rig.ports.logs.flush()
    assert rig.transactions.coordinator.timed_out == 2


def test_what_is_tried_again_is_counted_for_all_transactions_together(
    caplog: pytest.LogCaptureFixture, rig: TransactionRig
) -> None:
    one, two = rig.begun(T0, name="x0"), rig.begun(T1, name="x1")
    for number in (0, 1):
        rig.ports.logs.get("t", number).refuse = ErrorCode.KAFKA_STORAGE_ERROR
    rig.end(one, commit=False, name="x0")
    rig.end(two, name="x1")
    markers = rig.transactions.markers
    assert markers.markers_to_retry == 2
    assert [line.split(": ")[1] for line in caplog.messages] == ["no abort marker in t-0", "no commit marker in t-1"]
    for number in (0, 1):
        rig.ports.logs.get("t", number).refuse = NONE
    rig.ports.clock.advance(RETRY_MS)
    for number in (0, 1):
        rig.ports.logs.get("t", number).make_durable()
    rig.ports.logs.collect()
    for number in (0, 1):
        rig.ports.logs.get(STATE, number).lose()
    assert (markers.markers_to_retry, markers.ends_to_retry) == (0, 2)
    rig.ports.clock.advance(RETRY_MS)
    rig.ports.logs.flush()
    assert (markers.ends_to_retry, markers.commits, markers.aborts) == (0, 1, 1)
