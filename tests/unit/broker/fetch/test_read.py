"""One pass over the partitions of a fetch, on logs in memory: limits, refusals, counters."""

from __future__ import annotations

import pytest

from shareq.broker.fetch.large_reads import LARGE_READ, LargeReads
from shareq.broker.fetch.read import FetchRead
from shareq.broker.fetch.sessions import SessionPartition
from shareq.broker.fetch.wait import FetchLimits
from shareq.broker.log.append import Origin
from shareq.broker.network.answer_budget import LEAST_BYTES, AnswerBudget
from shareq.broker.network.write_share import WriteShare
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.fetch import AbortedTransaction
from shareq.protocol.records.control import build_end_transaction_marker
from tests.support.fakes.host import FakeHost
from tests.support.fakes.memory_log import MemoryLog

NONE = ErrorCode.NONE


class Rig:
    """Topics t (2 partitions) and u (1 partition)."""

    def __init__(self) -> None:
        self.ports = FakeHost(t=2, u=1)
        self.budget = AnswerBudget(self.ports.clock)
        self.answers = WriteShare(self.ports.clock)
        self.large_reads = LargeReads(self.ports.clock, self.answers)
        self.refused: dict[tuple[str | bytes, int], ErrorCode] = {}

    def log(self, topic: str = "t", partition: int = 0) -> MemoryLog:
        return self.ports.logs.get(topic, partition)

    def read(
        self,
        *partitions: SessionPartition,
        max_bytes: int = 100_000,
        min_bytes: int = 1,
        committed: bool = False,
    ) -> FetchRead:
        self.limits = FetchLimits(0, min_bytes, max_bytes, committed)
        refuse = (lambda each: self.refused.get(each.key, NONE)) if self.refused else None
        read = FetchRead(self.ports.logs.lookup(), self.budget, self.large_reads, self.limits, refuse)
        read.go_on(partitions)
        return read


@pytest.fixture
def rig() -> Rig:
    return Rig()


def at(partition: int, offset: int = 0, topic: str | bytes = "t", max_bytes: int = 100_000) -> SessionPartition:
    return SessionPartition(topic, partition, offset, max_bytes)


def sizes(read: FetchRead) -> list[int]:
    return [len(data.records or b"") for _, data in read.results]


def errors(read: FetchRead) -> list[ErrorCode]:
    return [ErrorCode(data.error_code) for _, data in read.results]


def test_what_is_durable_is_read_with_the_offsets_around_it(rig: Rig) -> None:
    rig.log().fill(b"0", b"1")
    rig.log().fill(b"2")
    rig.log().log_start_offset = 1
    asked = at(0, 1)
    read = rig.read(asked)
    ((partition, data),) = read.results
    assert partition is asked
    assert (data.partition_index, data.error_code, data.high_watermark) == (0, NONE, 3)
    assert (data.last_stable_offset, data.log_start_offset, data.aborted_transactions) == (3, 1, None)
    assert bytes(data.records or b"") == b"".join(rig.log().contents.batches)
    assert (read.bytes_read, read.has_error) == (sizes(read)[0], False)
    assert read.logs == {rig.log(): asked}


def test_bytes_count_as_sent_only_when_the_answer_is(rig: Rig) -> None:
    rig.log("t", 0).fill(b"0")
    rig.log("t", 1).fill(b"1")
    read = rig.read(at(0), at(1))
    assert rig.log().traffic.bytes_out == 0
    read.answered()
    assert [rig.log("t", each).traffic.bytes_out for each in (0, 1)] == sizes(read)


def test_at_the_end_there_is_nothing_and_no_error(rig: Rig) -> None:
    rig.log().fill(b"0")
    read = rig.read(at(0, 1))
    assert (errors(read), sizes(read), read.bytes_read) == ([NONE], [0], 0)
    assert not read.is_enough(rig.limits)
    read.answered()
    assert rig.log().traffic.bytes_out == 0


@pytest.mark.parametrize("offset", [0, 3])
def test_what_the_log_does_not_have(offset: int, rig: Rig) -> None:
    rig.log().fill(b"0", b"1")
    rig.log().log_start_offset = 1
    read = rig.read(at(0, offset))
    assert (errors(read), read.has_error) == ([ErrorCode.OFFSET_OUT_OF_RANGE], True)
    ((_, data),) = read.results
    assert (data.high_watermark, data.records, data.aborted_transactions) == (-1, b"", None)
    assert read.is_enough(rig.limits)


def test_records_that_have_to_be_fetched_first_are_no_error_and_not_enough(rig: Rig) -> None:
    rig.log("t", 0).fill(b"0")
    rig.log("t", 0).missing_from = 0
    rig.log("t", 1).fill(b"1")
    read = rig.read(at(0))
    assert (errors(read), sizes(read), read.is_enough(rig.limits)) == ([NONE], [0], False)
    assert (read.not_here, list(read.logs)) == ({rig.log("t", 0)}, [rig.log("t", 0)])
    read = rig.read(at(0), at(1), max_bytes=1)
    assert (errors(read), read.is_enough(rig.limits)) == ([NONE, NONE], True)
    assert sizes(read) == [0, len(rig.log("t", 1).contents.batches[0])], "the first batch that is here comes through"


def test_beyond_the_end_of_a_log_that_grows_elsewhere_is_nothing_yet(rig: Rig) -> None:
    """On OFFSET_OUT_OF_RANGE a consumer would restart where `auto.offset.reset` says, so the answer has no records."""
    rig.log().fill(b"0")
    rig.log().missing_from = 1
    read = rig.read(at(0, 7))
    assert (errors(read), sizes(read), read.not_here) == ([NONE], [0], {rig.log()})


def test_partitions_that_cannot_be_read_are_reported_beside_the_others(rig: Rig) -> None:
    rig.log("t", 0).fill(b"0")
    rig.log("u", 0).fill(b"0")
    rig.log("u", 0).unreadable_with = ErrorCode.KAFKA_STORAGE_ERROR
    rig.refused = {("t", 1): ErrorCode.TOPIC_AUTHORIZATION_FAILED}
    old = at(0)
    old.current_leader_epoch = 4
    read = rig.read(at(0), at(1), at(7), at(0, topic=b"x" * 16), at(0, topic="u"), old)
    assert errors(read) == [
        NONE,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
    ]
    assert list(read.logs) == [rig.log("t"), rig.log("u")]


def test_the_first_batch_comes_whatever_its_size_and_the_others_fit(rig: Rig) -> None:
    for number in (0, 1):
        rig.log("t", number).fill(b"v")
        rig.log("t", number).fill(b"v")
    size = len(rig.log().contents.batches[0])
    assert sizes(rig.read(at(0), at(1), max_bytes=1)) == [size, 0]
    assert sizes(rig.read(at(0), at(1), max_bytes=size)) == [size, 0]
    assert sizes(rig.read(at(0), at(1), max_bytes=3 * size)) == [2 * size, size]
    assert sizes(rig.read(at(0), at(1), max_bytes=3 * size - 1)) == [2 * size, 0]
    assert sizes(rig.read(at(0, max_bytes=0), at(1, max_bytes=0))) == [size, 0]
    assert sizes(rig.read(at(0, max_bytes=size), at(1, max_bytes=size))) == [size, size]
    assert sizes(rig.read(at(0, 2), at(1), max_bytes=-5)) == [0, size]


def test_an_answer_is_no_larger_than_the_brokers_budget_and_counts_in_it(rig: Rig) -> None:
    rig.budget = AnswerBudget(rig.ports.clock, 4 * LEAST_BYTES)
    for number in (0, 1):
        rig.log("t", number).fill(bytes(LEAST_BYTES + 10))
    read = rig.read(at(0), at(1), max_bytes=10 * LEAST_BYTES)
    assert (len([size for size in sizes(read) if size]), rig.budget.held) == (1, read.bytes_read)


def test_without_room_in_memory_nothing_is_read_and_it_is_not_enough(rig: Rig) -> None:
    rig.budget = AnswerBudget(rig.ports.clock, 4 * LEAST_BYTES)
    rig.log().fill(b"0")
    rig.budget.note_read(3 * LEAST_BYTES)
    read = rig.read(at(0))
    assert (sizes(read), read.is_enough(rig.limits), read.has_room) == ([0], False, False)
    rig.ports.clock.run_until_idle()
    read = rig.read(at(0))
    assert sizes(read) != [0]
    assert read.is_enough(rig.limits)


@pytest.mark.parametrize(("missing", "enough"), [(0, True), (1, False)])
def test_there_is_enough_with_the_least_bytes(missing: int, enough: bool, rig: Rig) -> None:
    rig.log().fill(b"v")
    size = len(rig.log().contents.batches[0])
    assert rig.read(at(0), min_bytes=size + missing).is_enough(rig.limits) is enough
    assert rig.read(at(0), min_bytes=size + missing, max_bytes=size).is_enough(rig.limits), "no more would fit"


def test_with_nothing_to_read_there_is_enough(rig: Rig) -> None:
    assert rig.read().is_enough(rig.limits)


def test_committed_records_end_at_the_last_stable_offset_and_come_with_what_was_aborted(rig: Rig) -> None:
    log = rig.log()
    log.fill(b"0", producer_id=7, epoch=0)
    now = rig.ports.clock.wall_ms()
    marker = build_end_transaction_marker(
        commit=False, producer_id=7, producer_epoch=0, coordinator_epoch=0, timestamp_ms=now
    )
    log.append(marker, origin=Origin.COORDINATOR, now_wall_ms=now)
    log.make_durable()
    log.fill(b"2")
    log.fill(b"3", producer_id=8, epoch=0)
    log.fill(b"4")
    read = rig.read(at(0), committed=True)
    ((_, data),) = read.results
    assert (data.high_watermark, data.last_stable_offset) == (5, 3)
    assert bytes(data.records or b"") == b"".join(log.contents.batches[:3])
    assert data.aborted_transactions == [AbortedTransaction(7, 0)]
    ((_, data),) = rig.read(at(0, 2), committed=True).results
    assert data.aborted_transactions == []
    ((_, data),) = rig.read(at(0, 3), committed=True).results
    assert (data.records, data.aborted_transactions) == (b"", [])
    ((_, data),) = rig.read(at(0)).results
    assert len(data.records or b"") == sum(map(len, log.contents.batches))
    assert data.aborted_transactions is None


def test_much_is_read_behind_a_short_request_and_little_at_once(rig: Rig) -> None:
    rig.log("t", 0).fill(b"0")
    rig.log("t", 1).fill(bytes(LARGE_READ))
    rig.log("u", 0).fill(b"1")
    rig.answers.requests += 1
    partitions = [at(0), at(1, max_bytes=2 * LARGE_READ), at(0, topic="u")]
    read = rig.read(*partitions, max_bytes=4 * LARGE_READ)
    assert (len(read.results), read.wants_turn) == (1, True)
    waiting = read.turn()
    turn = waiting.send(None)
    assert not turn.done
    rig.ports.clock.run_until_idle()
    assert turn.done
    with pytest.raises(StopIteration):
        waiting.send(None)
    assert (list(read.go_on(partitions[1:])), read.wants_turn) == ([], False)
    assert [size > 0 for size in sizes(read)] == [True] * 3


def test_a_client_that_takes_little_does_not_wait_however_much_there_is(rig: Rig) -> None:
    rig.log().fill(bytes(LARGE_READ))
    rig.answers.requests += 1
    assert not rig.read(at(0, max_bytes=LARGE_READ), max_bytes=4 * LARGE_READ).wants_turn
