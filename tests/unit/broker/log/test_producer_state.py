"""Checks of idempotent and transactional producers, with the results of Apache Kafka's ProducerStateManager."""

from __future__ import annotations

import struct
from random import Random

import pytest

from shareq.broker.log.producer_state import AppendedBatch, Producer, ProducerStates
from shareq.broker.log.segments.txn_index import AbortedTransaction
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.batch import BatchHeader, RecordData, build_batch, read_header
from shareq.protocol.records.checksum import crc32c
from shareq.protocol.records.control import ControlRecord, ControlType, build_end_transaction_marker
from tests.support.kafka.transactions import numbered

MAX = 2**31 - 1


def header_of(sequence: int, count: int = 1, *, epoch: int = 0, producer: int = 9, txn: bool = False) -> BatchHeader:
    values, of = [b""] * count, {"producer_id": producer, "epoch": epoch, "sequence": sequence}
    return read_header(numbered(*values, transactional=txn, timestamp_ms=1_000, **of))


def marker(*, epoch: int = 0, producer: int = 9, coordinator_epoch: int = 0) -> BatchHeader:
    return read_header(
        build_end_transaction_marker(
            commit=True,
            producer_id=producer,
            producer_epoch=epoch,
            coordinator_epoch=coordinator_epoch,
            timestamp_ms=1_000,
        )
    )


class Appended:
    def __init__(self) -> None:
        self.states = ProducerStates()
        self.end = 0

    def append(self, header: BatchHeader) -> int:
        assert self.states.check(header) in (None, ErrorCode.NONE)
        self.states.append(header, self.end, 1_000)
        self.end += header.records_count
        return self.end - header.records_count

    def end_transaction(self, header: BatchHeader, coordinator_epoch: int = 0, *, commit: bool = True) -> None:
        record = ControlRecord(0, ControlType.COMMIT if commit else ControlType.ABORT, coordinator_epoch)
        self.states.end_transaction(header, self.end, record, 1_000)
        self.end += 1

    def check(
        self, sequence: int, count: int = 1, *, epoch: int = 0, txn: bool = False
    ) -> ErrorCode | AppendedBatch | None:
        return self.states.check(header_of(sequence, count, epoch=epoch, txn=txn))


@pytest.fixture
def log() -> Appended:
    return Appended()


def test_a_producer_nobody_knows_may_start_with_any_sequence() -> None:
    """UNKNOWN_PRODUCER_ID is never returned: retention may have deleted the producer's earlier records."""
    assert ProducerStates().check(header_of(55)) is None


def test_sequences_go_on_without_gap(log: Appended) -> None:
    log.append(header_of(0, 3))
    assert log.check(3) is ErrorCode.NONE
    assert log.check(4) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert log.check(2) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_any_of_the_last_five_batches_is_recognised_with_its_offsets(log: Appended) -> None:
    offsets = [log.append(header_of(sequence, 2)) for sequence in range(0, 14, 2)]
    for back in range(1, 6):
        repeated = log.check(14 - 2 * back, 2)
        assert isinstance(repeated, AppendedBatch)
        assert (repeated.first_offset, repeated.last_offset) == (offsets[-back], offsets[-back] + 1)
    assert log.check(2, 2) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_part_of_an_earlier_batch_is_no_duplicate(log: Appended) -> None:
    log.append(header_of(0, 4))
    assert log.check(0, 3) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert log.check(1, 3) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_after_the_last_sequence_comes_zero(log: Appended) -> None:
    log.append(header_of(MAX - 1, 2))
    assert log.check(1) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    log.append(header_of(0))
    repeated = log.check(MAX - 1, 2)
    assert isinstance(repeated, AppendedBatch)
    assert repeated.first_sequence == MAX - 1


def test_a_batch_across_the_wrap_is_followed_and_recognised(log: Appended) -> None:
    log.append(header_of(MAX - 1, 5))  # MAX-1, MAX, 0, 1, 2
    repeated = log.check(MAX - 1, 5)
    assert isinstance(repeated, AppendedBatch)
    assert (repeated.first_sequence, repeated.last_sequence) == (MAX - 1, 2)
    assert log.check(3) is ErrorCode.NONE


def test_a_newer_epoch_starts_at_zero_and_fences_the_older(log: Appended) -> None:
    log.append(header_of(0, 3))
    assert log.check(3, epoch=1) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    log.append(header_of(0, epoch=1))
    assert log.check(3, epoch=0) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert log.check(0, 3, epoch=0) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert log.check(1, epoch=1) is ErrorCode.NONE


def test_a_plain_batch_inside_a_transaction_is_refused(log: Appended) -> None:
    log.append(header_of(0, txn=True))
    assert log.check(1) is ErrorCode.INVALID_TXN_STATE
    assert log.check(0, epoch=1) is ErrorCode.INVALID_TXN_STATE
    assert log.check(1, txn=True) is ErrorCode.NONE
    assert log.check(0, epoch=1, txn=True) is ErrorCode.NONE


def test_last_stable_offset_waits_for_the_first_open_transaction(log: Appended) -> None:
    log.append(header_of(0, 3))
    first = log.append(header_of(0, 2, producer=5, txn=True))
    second = log.append(header_of(0, 2, producer=6, txn=True))
    assert log.states.first_unstable_offset(log.end) == first
    log.end_transaction(marker(producer=5))
    assert log.states.first_unstable_offset(log.end) == second
    log.end_transaction(marker(producer=6))
    assert log.states.first_unstable_offset(log.end) == log.end


def test_a_transaction_is_open_until_readers_see_its_marker(log: Appended) -> None:
    first = log.append(header_of(0, 2, producer=5, txn=True))
    before_marker = log.end
    log.end_transaction(marker(producer=5))
    assert log.states.first_unstable_offset(before_marker) == first
    assert log.states.first_unstable_offset(log.end) == log.end


def test_markers_are_fenced_by_epochs(log: Appended) -> None:
    log.append(header_of(0, epoch=3, txn=True))
    assert log.states.check_marker(marker(epoch=2), 0) is ErrorCode.INVALID_PRODUCER_EPOCH
    log.end_transaction(marker(epoch=3), coordinator_epoch=7)
    assert log.states.check_marker(marker(epoch=3), 6) is ErrorCode.TRANSACTION_COORDINATOR_FENCED
    assert log.states.check_marker(marker(epoch=4), 7) is ErrorCode.NONE
    assert log.states.check_marker(marker(producer=1), 0) is ErrorCode.NONE


def test_a_marker_with_a_bumped_epoch_starts_sequences_again(log: Appended) -> None:
    log.append(header_of(0, 3, epoch=3, txn=True))
    log.end_transaction(marker(epoch=4))
    assert log.check(3, epoch=4, txn=True) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert log.check(0, epoch=4, txn=True) is ErrorCode.NONE
    assert log.check(0, 3, epoch=3, txn=True) is ErrorCode.INVALID_PRODUCER_EPOCH


def test_when_the_producer_of_the_first_open_transaction_was_last_heard_of() -> None:
    states = ProducerStates()
    assert states.oldest_open_timestamp() is None
    states.append(header_of(0, producer=9), 0, 1_000)
    assert states.oldest_open_timestamp() is None
    states.append(header_of(0, producer=5, txn=True), 1, 2_000)
    states.append(header_of(0, producer=1, txn=True), 2, 3_000)
    assert states.oldest_open_timestamp() == 2_000
    states.append(header_of(1, producer=5, txn=True), 3, 4_000)
    assert states.oldest_open_timestamp() == 4_000
    states.end_transaction(marker(producer=5), 4, ControlRecord(0, ControlType.COMMIT, 0), 5_000)
    assert states.oldest_open_timestamp() == 3_000


def marker_batch(*, commit: bool, producer: int = 9, epoch: int = 0, coordinator_epoch: int = 0) -> bytearray:
    return build_end_transaction_marker(
        commit=commit,
        producer_id=producer,
        producer_epoch=epoch,
        coordinator_epoch=coordinator_epoch,
        timestamp_ms=2_000,
    )


def test_only_what_was_aborted_is_remembered_with_the_offset_below_which_all_had_ended(log: Appended) -> None:
    first = log.append(header_of(0, 2, producer=5, txn=True))
    second = log.append(header_of(0, 2, producer=6, txn=True))
    third = log.append(header_of(0, 2, producer=7, txn=True))
    log.end_transaction(marker(producer=6), commit=False)
    log.end_transaction(marker(producer=5))
    log.end_transaction(marker(producer=7), commit=False)
    log.end_transaction(marker(producer=8), commit=False)  # no record of it is here
    assert list(log.states.aborted) == [
        AbortedTransaction(6, second, 6, first),
        AbortedTransaction(7, third, 8, 9),
    ]


def test_a_marker_keeps_the_sequences_of_its_epoch(log: Appended) -> None:
    log.append(header_of(0, 3, epoch=3, txn=True))
    log.end_transaction(marker(epoch=3))
    assert log.check(3, epoch=3, txn=True) is ErrorCode.NONE
    assert isinstance(log.check(0, 3, epoch=3, txn=True), AppendedBatch)


def test_a_marker_that_is_rolled_back_did_not_end_its_transaction(log: Appended) -> None:
    first = log.append(header_of(0, 2, producer=5, txn=True))
    log.end_transaction(marker(producer=5), commit=False)
    log.append(header_of(2, producer=5, txn=True))
    log.states.written()
    end, kept = log.end, list(log.states.aborted)
    log.end_transaction(marker(producer=5), commit=False)
    log.append(header_of(0, producer=6, txn=True))
    log.end_transaction(marker(producer=6), commit=False)
    log.end_transaction(marker(producer=7))  # of a producer that nobody knew
    log.states.roll_back(end)
    assert list(log.states.aborted) == kept == [AbortedTransaction(5, first, 2, 3)]
    assert log.states.producer_ids() == [5]
    assert log.states.is_open(5, 0)
    assert log.states.first_unstable_offset(2) == first  # nobody sees the first marker yet
    assert log.states.first_unstable_offset(end) == 3


def test_readers_do_not_wait_for_a_marker_that_was_rolled_back(log: Appended) -> None:
    log.append(header_of(0, 2, producer=5, txn=True))
    log.states.written()
    log.append(header_of(2, 3, producer=5, txn=True))
    log.end_transaction(marker(producer=5))
    log.states.roll_back(2)
    log.end = 2
    log.end_transaction(marker(producer=5), commit=False)
    log.append(header_of(0, 2))
    assert log.states.first_unstable_offset(4) == 4


def test_batches_are_checked_and_taken_over_by_what_they_are() -> None:
    states = ProducerStates()
    data = header_of(0, 2, txn=True)
    assert states.check_append(data, b"", trusted=False) is None
    states.appended(data, b"", 10, 1_000)
    assert states.check_append(data, b"", trusted=False) == AppendedBatch(1, 11, 1, 1_000)
    assert states.check_append(data, b"", trusted=True) is ErrorCode.NONE
    for epoch, error in ((0, ErrorCode.NONE), (-1, ErrorCode.INVALID_PRODUCER_EPOCH)):
        batch = marker_batch(commit=False, epoch=epoch)
        assert states.check_append(read_header(batch), batch, trusted=True) is error
    other = build_batch(
        [RecordData(struct.pack(">hh", 0, 2), b"")], timestamp_ms=0, producer_id=9, producer_epoch=0, control=True
    )
    assert states.check_append(read_header(other), other, trusted=False) is ErrorCode.NONE
    states.appended(read_header(other), other, 12, 1_500)  # it ends nothing
    assert states.is_open(9, 0)
    end = marker_batch(commit=False, coordinator_epoch=4)
    states.appended(read_header(end), end, 13, 2_500)
    assert state_of(states) == {9: (0, 4, 2_500, -1, (AppendedBatch(1, 11, 1, 1_000),))}
    assert list(states.aborted) == [AbortedTransaction(9, 10, 13, 14)]


def test_what_is_in_the_log_is_replayed_at_its_own_offset_and_time() -> None:
    states = ProducerStates()
    data = header_of(0, 2, txn=True)._replace(base_offset=10)
    states.replay(data, lambda: pytest.fail("it is no control batch"))
    end = marker_batch(commit=True, coordinator_epoch=4)
    states.replay(read_header(end)._replace(base_offset=12), lambda: bytes(end))
    assert state_of(states) == {9: (0, 4, 2_000, -1, (AppendedBatch(1, 11, 1, 1_000),))}
    assert not states.aborted


def test_a_transaction_is_open_or_ended_in_the_epoch_of_its_producer(log: Appended) -> None:
    assert not log.states.is_open(9, 0)
    assert not log.states.has_ended(9, 0)
    log.append(header_of(0, txn=True))
    assert [log.states.is_open(9, epoch) for epoch in (-1, 0, 1)] == [False, True, False]
    assert not log.states.has_ended(9, 0)
    log.end_transaction(marker())
    assert [log.states.has_ended(9, epoch) for epoch in (-1, 0, 1)] == [False, True, False]
    assert not log.states.is_open(9, 0)


def test_a_lost_batch_may_come_again_while_nothing_follows_it(log: Appended) -> None:
    plain, again = header_of(0), header_of(0, txn=True)
    log.append(plain)
    known = log.check(0)
    assert isinstance(known, AppendedBatch)
    assert log.states.may_come_again(plain, known)
    assert not log.states.may_come_again(again, known)  # its transaction is not under way
    assert not log.states.may_come_again(header_of(0, producer=1), known)
    log.append(header_of(1, txn=True))
    assert not log.states.may_come_again(plain, known)
    newest = log.check(1, txn=True)
    assert isinstance(newest, AppendedBatch)
    assert log.states.may_come_again(header_of(1, txn=True), newest)
    log.end_transaction(marker())
    assert not log.states.may_come_again(header_of(1, txn=True), newest)


def test_a_producer_that_has_been_silent_since_is_forgotten(log: Appended) -> None:
    log.append(header_of(0, producer=1))
    log.append(header_of(0, producer=2, txn=True))
    for producer_id, before in ((1, 1_000), (2, 1_001), (3, 1_001)):
        log.states.forget_silent(producer_id, before)
    assert log.states.producer_ids() == [1, 2]
    log.states.forget_silent(1, 1_001)
    assert log.states.producer_ids() == [2]


def test_silent_producers_are_forgotten_but_not_those_with_an_open_transaction(log: Appended) -> None:
    log.append(header_of(0, producer=1))
    log.append(header_of(0, producer=2, txn=True))
    log.states.remove_expired(1_999, 1_000)
    assert log.states.producer_ids() == [1, 2]
    log.states.remove_expired(2_000, 1_000)
    assert log.states.producer_ids() == [2]


def state_of(states: ProducerStates) -> dict[int, tuple[object, ...]]:
    def fields(producer: Producer | None) -> tuple[object, ...]:
        assert producer is not None
        return (
            producer.epoch,
            producer.coordinator_epoch,
            producer.last_timestamp,
            producer.transaction_first_offset,
            producer.batches,
        )

    return {producer_id: fields(states.get(producer_id)) for producer_id in states.producer_ids()}


def random_appends(log: Appended, rng: Random, count: int) -> None:
    for _ in range(count):
        producer_id = rng.randint(1, 3)
        known = log.states.get(producer_id)
        epoch = 0 if known is None else known.epoch + (rng.random() < 0.1)
        open_txn = known is not None and known.transaction_first_offset >= 0
        if open_txn and rng.random() < 0.3:
            log.end_transaction(marker(epoch=epoch, producer=producer_id), coordinator_epoch=rng.randint(0, 3))
            continue
        fresh = known is None or known.epoch != epoch or not known.batches
        sequence = 0 if fresh or known is None else known.batches[-1].last_sequence + 1
        txn = open_txn or rng.random() < 0.5
        log.append(header_of(sequence, rng.randint(1, 4), epoch=epoch, producer=producer_id, txn=txn))


@pytest.mark.parametrize("seed", range(20))
def test_rolling_back_is_as_if_nothing_had_happened(seed: int) -> None:
    rng = Random(seed)
    log = Appended()
    random_appends(log, rng, rng.randint(0, 12))
    log.states.written()
    before, end = state_of(log.states), log.end
    unstable = log.states.first_unstable_offset(end)
    random_appends(log, rng, rng.randint(1, 12))
    log.states.roll_back(end)
    log.end = end
    assert state_of(log.states) == before
    assert log.states.first_unstable_offset(end) == unstable
    random_appends(log, rng, 5)


@pytest.mark.parametrize("seed", range(10))
def test_a_snapshot_keeps_the_last_batch_of_each_producer(seed: int, log: Appended) -> None:
    random_appends(log, Random(seed), 15)
    restored = ProducerStates.from_snapshot(log.states.to_snapshot())
    assert restored is not None
    before = state_of(log.states)
    assert restored.producer_ids() == log.states.producer_ids()
    for producer_id, (epoch, coordinator_epoch, time, first, batches) in state_of(restored).items():
        assert (epoch, coordinator_epoch, time, first) == before[producer_id][:4]
        assert isinstance(batches, tuple)
        last = before[producer_id][4]
        assert isinstance(last, tuple)
        assert batches == last[-1:]
    assert restored.first_unstable_offset(log.end) == log.states.first_unstable_offset(log.end)


def test_snapshot_bytes_are_apache_kafkas_version_1(log: Appended) -> None:
    log.append(header_of(0, 4, epoch=2, txn=True))
    body = struct.pack(">i", 1) + struct.pack(">qhiqiqiq", 9, 2, 3, 3, 3, 1_000, -1, 0)
    assert log.states.to_snapshot() == struct.pack(">hI", 1, crc32c(body)) + body
    assert ProducerStates().to_snapshot() == struct.pack(">hIi", 1, crc32c(bytes(4)), 0)


def test_a_damaged_snapshot_is_not_believed(log: Appended) -> None:
    log.append(header_of(0, 4))
    sound = log.states.to_snapshot()
    assert ProducerStates.from_snapshot(sound) is not None
    for at in range(len(sound)):
        damaged = bytearray(sound)
        damaged[at] ^= 1
        assert ProducerStates.from_snapshot(bytes(damaged)) is None
        assert ProducerStates.from_snapshot(sound[:at]) is None
    assert ProducerStates.from_snapshot(sound + b"\0") is None
