"""The records held by a share session: acknowledgements in requests, renewals, losses."""

from __future__ import annotations

from typing import Any

from shareq.client.aio.consumer.ack_batches import batches_of, delay_tags, delays_of, reasons_of
from shareq.client.aio.consumer.held import HeldRecords
from shareq.client.aio.consumer.records import ACCEPT, REJECT, RELEASE, RENEW, LockLost, ShareRecord, State
from shareq.client.errors import BrokerError, ClientError
from shareq.client.share.session import MAX_BATCHES
from shareq.protocol import ack_delays
from shareq.protocol.ack_reasons import tags_of
from shareq.protocol.errors import ErrorCode
from shareq.protocol.share import AcknowledgeType

T = b"t" * 16
TP = (T, 0)


class Nobody:
    async def settle(self, record: ShareRecord, kind: AcknowledgeType, reason: str = "") -> None:
        raise NotImplementedError


class Answers:
    def __init__(self) -> None:
        self.seen: list[tuple[int, ClientError | None]] = []

    def of(self, offset: int) -> Any:
        return (lambda _, error: self.seen.append((offset, error)),)


def record(offset: int, *, deadline: float = 30.0, in_hand: bool = True, partition: int = 0) -> ShareRecord:
    found = ShareRecord(Nobody(), "t", T, partition, offset, -1, None, b"", (), 1, deadline)
    if in_hand:
        found.state, found.held_since = State.IN_HAND, 1.0
    return found


def holding(*offsets: int, **more: Any) -> tuple[HeldRecords, dict[int, ShareRecord]]:
    held = HeldRecords()
    held.lock_s = 30.0
    records = {offset: record(offset, **more) for offset in offsets}
    held.add(list(records.values()))
    return held, records


def sent(held: HeldRecords) -> list[tuple[int, int, list[int]]]:
    return [(one.first_offset, one.last_offset, one.acknowledge_types) for one in batches_of(held.take()).get(TP, [])]


def test_neighbours_that_are_acknowledged_alike_are_one_batch() -> None:
    held, records = holding(0, 1, 2, 3, 5)
    answers = Answers()
    for offset, kind in ((5, ACCEPT), (1, ACCEPT), (0, ACCEPT), (3, RELEASE), (2, REJECT)):
        held.acknowledge([records[offset]], kind, answers.of(offset))
    held.acknowledge_range(TP, 6, 9, ACCEPT)
    assert sent(held) == [(0, 1, [1]), (2, 2, [3]), (3, 3, [2]), (5, 9, [1])]
    assert held.take() == {}


def test_what_is_written_down_is_no_longer_held_and_a_renewed_lock_begins_again() -> None:
    held, records = holding(0, 1)
    answers = Answers()
    held.acknowledge([records[0]], ACCEPT, answers.of(0))
    held.acknowledge([records[1]], RENEW, answers.of(1))
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
        held.acknowledge([records[0]], kind, answers.of(int(kind)))
    [waiting] = (portion := held.take())[TP]
    assert waiting.kind is ACCEPT
    held.done(TP, portion[TP], 1.0)
    assert answers.seen == [(4, None), (1, None)]


def test_a_refused_acknowledgement_leaves_the_record_in_hand_and_a_lost_lock_does_not() -> None:
    held, records = holding(0, 1)
    answers = Answers()
    for offset in (0, 1):
        held.acknowledge([records[offset]], ACCEPT, answers.of(offset))
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
        held.acknowledge([records[offset]], ACCEPT, answers.of(offset))
    waiting = held.take()[TP]
    held.acknowledge([records[3]], ACCEPT, answers.of(3))
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
    held.acknowledge([records[0]], ACCEPT, answers.of(0))
    lost = held.lose(LockLost("the session ended"))
    assert set(lost) == set(records.values())
    assert [type(error) for _, error in answers.seen] == [LockLost]
    assert not held
    assert not held.has_waiting


def test_one_partition_is_lost_alone() -> None:
    held, records = holding(0)
    other = record(0, partition=1)
    held.add([other])
    assert held.lose(LockLost("moved"), [TP]) == [records[0]]
    assert list(held) == [other]


def test_locks_are_renewed_half_way_while_they_may_be() -> None:
    held, records = holding(0, deadline=30.0)

    def due(now: float, longest: float = 600.0) -> list[ShareRecord]:
        return held.to_renew(now, longest, 0.0)

    assert held.next_renewal(1.0) == 15.0
    assert due(14.9) == []
    assert due(15.0) == [records[0]]
    held.acknowledge([records[0]], RENEW, ())
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
    """Only the broker knows when a lock has expired, and an acknowledgement may still be in time."""
    held, records = holding(0, deadline=30.0)
    assert held.lapsed(31.0) == []
    assert list(held) == list(records.values())


def test_a_record_that_comes_again_shows_that_its_lock_had_ended() -> None:
    held, records = holding(0)
    answers = Answers()
    held.acknowledge([records[0]], ACCEPT, answers.of(0))
    again = record(0)
    assert held.add([again]) == [records[0]]
    assert records[0].state is State.LOST
    assert [type(error) for _, error in answers.seen] == [LockLost]
    assert list(held) == [again]
    assert not held.has_waiting


def test_a_record_whose_offset_comes_again_without_it_is_lost_and_its_acknowledgement_answered() -> None:
    held, records = holding(44, 45, 90)
    answers = Answers()
    held.acknowledge([records[44]], RELEASE, answers.of(44))
    assert held.acknowledge_range(TP, 44, 60, AcknowledgeType.GAP) == [records[44], records[45]]
    assert [(offset, type(error)) for offset, error in answers.seen] == [(44, LockLost)]
    assert (records[44].state, records[45].state, list(held)) == (State.LOST, State.LOST, [records[90]])
    assert sent(held) == [(44, 60, [0])]


def test_neighbours_with_one_answer_wait_as_one() -> None:
    held, records = holding(*range(100))
    seen: list[tuple[int, int, ClientError | None]] = []
    answered = (lambda waiting, error: seen.append((waiting.first, waiting.last, error)),)
    for half in (range(50), range(50, 100)):
        held.acknowledge([records[at] for at in half], ACCEPT, answered)
    [waiting] = held.take()[TP]
    assert (waiting.first, waiting.last, len(waiting.records)) == (0, 99, 100)
    held.done(TP, [waiting], 1.0)
    assert seen == [(0, 99, None)]
    assert not held


def test_a_range_that_is_refused_is_halved_down_to_single_records() -> None:
    held, records = holding(*range(8))
    answers = Answers()
    held.acknowledge(records.values(), ACCEPT, answers.of(0))
    taken = []
    while portion := held.take():
        if not held.halve(TP, portion[TP]):
            taken += portion[TP]
    assert [(one.first, one.last, [record.offset for record in one.records]) for one in taken] == [
        (at, at, [at]) for at in range(8)
    ]


def test_a_renewal_within_a_range_is_answered_with_the_record_that_it_was_of() -> None:
    held, records = holding(*range(5))
    answers = Answers()
    held.acknowledge([records[2]], RENEW, answers.of(2))
    held.acknowledge(records.values(), ACCEPT, answers.of(0))
    waiting = held.take()[TP]
    assert [(one.first, one.last, one.kind) for one in waiting] == [(0, 1, ACCEPT), (2, 2, ACCEPT), (3, 4, ACCEPT)]
    held.failed(TP, waiting[1:2], LockLost("gone"))
    assert [(offset, type(error)) for offset, error in answers.seen] == [(2, LockLost), (0, LockLost)]


def test_a_record_that_comes_again_within_a_range_costs_its_neighbours_nothing() -> None:
    held, records = holding(*range(5))
    answers = Answers()
    held.acknowledge(records.values(), ACCEPT, answers.of(0))
    assert held.add([record(2)]) == [records[2]]
    assert [type(error) for _, error in answers.seen] == [LockLost]
    assert sent(held) == [(0, 1, [1]), (3, 4, [1])]


def test_each_record_of_a_range_has_its_reason() -> None:
    held, records = holding(0, 1)
    held.acknowledge(records.values(), REJECT, (), "no glue")
    assert reasons_of(held.take())[TP] == tags_of({0: "no glue", 1: "no glue"})


def test_neighbours_that_are_released_with_one_delay_are_one_range() -> None:
    held, records = holding(*range(6))
    for offset, later_ms in ((0, 700), (1, 700), (2, 0), (3, 700), (4, 5)):
        records[offset].later_ms = later_ms
    held.acknowledge([records[at] for at in range(5)], RELEASE, ())
    held.acknowledge([records[5]], ACCEPT, ())
    portion = held.take()
    ranges = [ack_delays.Later(0, 1, 700), ack_delays.Later(3, 3, 700), ack_delays.Later(4, 4, 5)]
    assert delay_tags(delays_of(portion))[TP] == ack_delays.tags_of(ranges)
    assert delays_of({TP: [one for one in portion[TP] if one.kind is ACCEPT]}) == {}


def test_what_was_refused_with_a_delay_is_released_without_it() -> None:
    held, records = holding(0)
    records[0].later_ms = 700
    held.acknowledge([records[0]], RELEASE, ())
    held.failed(TP, held.take()[TP], BrokerError(ErrorCode.INVALID_REQUEST, "t-0"))
    assert (records[0].state, records[0].later_ms) == (State.IN_HAND, 0)


def test_a_lock_is_looked_after_when_that_which_ended_before_it_is_finished() -> None:
    held, records = holding(0, deadline=30.0)
    later = record(1, deadline=40.0)
    held.add([later])
    held.acknowledge([records[0]], ACCEPT, ())
    held.done(TP, held.take()[TP], 1.0)
    assert held.to_renew(20.0, 600.0, 0.0) == []
    assert held.next_renewal(20.0) == 25.0
    assert held.to_renew(25.0, 600.0, 0.0) == [later]
