"""The records of a share session: acknowledgements in requests, renewals, losses."""

from __future__ import annotations

from typing import Any

from shareq.client.aio.consumer.held import HeldRecords, batches_of
from shareq.client.aio.consumer.records import ACCEPT, REJECT, RELEASE, RENEW, LockLost, ShareRecord, State
from shareq.client.errors import BrokerError, ClientError
from shareq.client.share.session import MAX_BATCHES
from shareq.protocol.errors import ErrorCode
from shareq.protocol.share import AcknowledgeType

T = b"t" * 16
TP = (T, 0)


class Nobody:
    async def settle(self, record: ShareRecord, kind: AcknowledgeType, reason: str = "") -> None:
        raise NotImplementedError


class Answers:
    """The outcomes of acknowledgements, by offset."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, ClientError | None]] = []

    def of(self, offset: int) -> Any:
        return lambda error: self.seen.append((offset, error))


def record(offset: int, *, deadline: float = 30.0, in_hand: bool = True, partition: int = 0) -> ShareRecord:
    found = ShareRecord(Nobody(), "t", T, partition, offset, -1, None, b"", (), 1, deadline)
    if in_hand:
        found.state, found.held_since = State.IN_HAND, 1.0
    return found


def holding(*offsets: int, **more: Any) -> tuple[HeldRecords, dict[int, ShareRecord]]:
    held = HeldRecords()
    held.lock_s = 30.0
    records = {offset: record(offset, **more) for offset in offsets}
    for one in records.values():
        held.add(one)
    return held, records


def sent(held: HeldRecords) -> list[tuple[int, int, list[int]]]:
    return [(one.first_offset, one.last_offset, one.acknowledge_types) for one in batches_of(held.take()).get(TP, [])]


def test_neighbours_that_are_acknowledged_alike_are_one_batch() -> None:
    held, records = holding(0, 1, 2, 3, 5)
    answers = Answers()
    for offset, kind in ((5, ACCEPT), (1, ACCEPT), (0, ACCEPT), (3, RELEASE), (2, REJECT)):
        held.acknowledge(records[offset], kind, answers.of(offset))
    held.acknowledge_range(TP, 6, 9, ACCEPT)
    assert sent(held) == [(0, 1, [1]), (2, 2, [3]), (3, 3, [2]), (5, 9, [1])]
    assert held.take() == {}


def test_what_is_written_down_is_no_longer_held_and_a_renewed_lock_begins_again() -> None:
    held, records = holding(0, 1)
    answers = Answers()
    held.acknowledge(records[0], ACCEPT, answers.of(0))
    held.acknowledge(records[1], RENEW, answers.of(1))
    assert (records[0].state, records[1].state) == (State.SETTLING, State.IN_HAND)
    for tp, waiting in held.take().items():
        held.done(tp, waiting, 100.0)
    assert answers.seen == [(0, None), (1, None)]
    assert records[0].state is State.DONE
    assert list(held) == [records[1]]
    assert records[1].deadline == 130.0


def test_a_renewal_that_waits_gives_way_to_what_ends_the_lock_and_both_are_answered() -> None:
    held, records = holding(0)
    answers = Answers()
    for kind in (RENEW, ACCEPT):
        held.acknowledge(records[0], kind, answers.of(int(kind)))
    [waiting] = (portion := held.take())[TP]
    assert waiting.kind is ACCEPT
    held.done(TP, portion[TP], 1.0)
    assert answers.seen == [(4, None), (1, None)]


def test_a_refused_acknowledgement_leaves_the_record_in_hand_and_a_lost_lock_does_not() -> None:
    held, records = holding(0, 1)
    answers = Answers()
    for offset in (0, 1):
        held.acknowledge(records[offset], ACCEPT, answers.of(offset))
    waiting = held.take()[TP]
    held.failed(TP, waiting[:1], BrokerError(ErrorCode.UNKNOWN_SERVER_ERROR, "x"))
    held.failed(TP, waiting[1:], LockLost("gone"))
    assert (records[0].state, records[1].state) == (State.IN_HAND, State.LOST)
    assert list(held) == [records[0]]
    assert [type(error) for _, error in answers.seen] == [BrokerError, LockLost]


def test_halves_are_sent_one_after_the_other_before_all_else() -> None:
    held, records = holding(0, 1, 2, 3)
    answers = Answers()
    for offset in (0, 1, 2):
        held.acknowledge(records[offset], ACCEPT, answers.of(offset))
    waiting = held.take()[TP]
    held.acknowledge(records[3], ACCEPT, answers.of(3))
    held.halve(TP, waiting)
    assert [sent(held) for _ in range(3)] == [[(0, 0, [1])], [(1, 2, [1])], [(3, 3, [1])]]
    assert not held.has_waiting


def test_a_request_has_so_many_batches_at_most() -> None:
    held, _ = holding()
    for offset in range(MAX_BATCHES + 10):
        held.acknowledge_range(TP, 2 * offset, 2 * offset, ACCEPT)
    assert [len(sent(held)) for _ in range(3)] == [MAX_BATCHES, 10, 0]


def test_a_session_that_ends_loses_all_and_answers_what_waits() -> None:
    held, records = holding(0, 1)
    answers = Answers()
    held.acknowledge(records[0], ACCEPT, answers.of(0))
    lost = held.lose(LockLost("the session ended"))
    assert set(lost) == set(records.values())
    assert [type(error) for _, error in answers.seen] == [LockLost]
    assert not held
    assert not held.has_waiting


def test_one_partition_is_lost_alone() -> None:
    held, records = holding(0)
    other = record(0, partition=1)
    held.add(other)
    assert held.lose(LockLost("moved"), [TP]) == [records[0]]
    assert list(held) == [other]


def test_locks_are_renewed_half_way_while_they_may_be() -> None:
    held, records = holding(0, deadline=30.0)

    def due(now: float, longest: float = 600.0) -> list[ShareRecord]:
        return held.to_renew(now, longest, 0.0)

    assert held.next_renewal(1.0) == 15.0
    assert due(14.9) == []
    assert due(15.0) == [records[0]]
    held.acknowledge(records[0], RENEW, lambda _: None)
    assert due(15.0) == [], "it waits to be sent already"
    held.take()
    assert due(15.0, 14.0) == [], "held for too long"
    assert due(30.0) == [], "too late"


def test_records_that_nobody_took_are_renewed_while_someone_asks_and_lapse_then() -> None:
    held, records = holding(0, deadline=30.0, in_hand=False)
    assert held.to_renew(20.0, 10.0, 15.0) == [records[0]]
    assert held.to_renew(20.0, 10.0, 5.0) == []
    assert held.lapsed(29.0) == []
    assert held.lapsed(30.0) == [records[0]]
    assert records[0].state is State.LOST
    assert not held


def test_records_in_hand_do_not_lapse_by_our_clock() -> None:
    """The broker says when a lock has ended: an acknowledgement may still be in time."""
    held, records = holding(0, deadline=30.0)
    assert held.lapsed(31.0) == []
    assert list(held) == list(records.values())


def test_a_record_that_comes_again_shows_that_its_lock_had_ended() -> None:
    held, records = holding(0)
    answers = Answers()
    held.acknowledge(records[0], ACCEPT, answers.of(0))
    again = record(0)
    assert held.add(again) is records[0]
    assert records[0].state is State.LOST
    assert [type(error) for _, error in answers.seen] == [LockLost]
    assert list(held) == [again]
    assert not held.has_waiting
