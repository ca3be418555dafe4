"""Records that wait for their delivery time: due ones, ones that crowd the window, and their replacements."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from shareq.client.aio.again import GROUP, SINCE, headers_again, is_for_another, may_move_s
from shareq.client.aio.consumer.records import ShareRecord, State
from shareq.client.aio.early import EarlyRecords, not_before_s
from shareq.protocol.names import NOT_BEFORE

TP = b"t" * 16, 0


def record(offset: int, headers: Any = (), value: bytes = b"v", count: int = 1) -> ShareRecord:
    owner: Any = None
    return ShareRecord(owner, "t", *TP, offset, 5, b"k", value, headers, count, 0.0)


def offsets(found: list[tuple[ShareRecord, float]]) -> list[tuple[int, float]]:
    return [(each.offset, due) for each, due in found]


def test_records_are_taken_out_when_they_are_due_in_the_order_of_their_times() -> None:
    early = EarlyRecords(100)
    times = list(range(50))
    Random(1).shuffle(times)
    for offset, due in enumerate(times):
        early.keep(record(offset), float(due))
    assert early.next_due == 0.0
    assert early.pop_due(-1.0) is None
    assert [found.offset for _ in range(50) if (found := early.pop_due(49.0))] == [times.index(at) for at in range(50)]
    assert len(early) == 0
    assert EarlyRecords(100).next_due is None


def test_a_record_crowds_when_the_log_goes_on_for_half_of_the_window_behind_it() -> None:
    early = EarlyRecords(100)
    for offset in (3, 10, 40):
        early.keep(record(offset), 1_000.0 + offset)
    early.reached(TP, 53)
    assert early.crowding(0.0, 10) == []
    early.reached(TP, 61)
    early.reached(TP, 20)
    assert offsets(early.crowding(0.0, 10)) == [(3, 1003.0), (10, 1010.0)]
    assert early.partitions() == {TP: "t"}
    early.reached(TP, 500)
    assert offsets(early.crowding(0.0, 10)) == [(40, 1040.0)]
    assert early.partitions() == {}
    assert len(early) == 0


def test_a_record_that_was_sent_again_just_now_stays_and_no_more_go_at_once_than_may() -> None:
    early = EarlyRecords(10)
    for offset in range(5):
        early.keep(record(offset), 1_000.0, may_move=100.0 if offset == 3 else 0.0)
    early.reached(TP, 1_000)
    assert offsets(early.crowding(50.0, 2)) == [(0, 1000.0), (1, 1000.0)]
    assert offsets(early.crowding(50.0, 9)) == [(2, 1000.0)]
    assert offsets(early.crowding(100.0, 9)) == [(3, 1000.0), (4, 1000.0)]


def test_without_a_window_nothing_crowds() -> None:
    early = EarlyRecords(0)
    early.keep(record(0), 1_000.0)
    early.reached(TP, 10**9)
    assert early.crowding(0.0, 9) == []
    assert early.partitions() == {}


def test_what_was_lost_is_dropped() -> None:
    early = EarlyRecords(10)
    kept = [record(offset) for offset in range(4)]
    for each in kept:
        early.keep(each, 10.0)
    early.reached(TP, 100)
    kept[0].state = kept[1].state = State.LOST
    early.drop_lost()
    assert len(early) == 2
    kept[2].state = State.LOST
    assert [each.offset for each, _ in early.crowding(0.0, 9)] == [3]
    early.keep(kept[3], 10.0)
    kept[3].state = State.LOST
    assert early.pop_due(11.0) is None
    assert early.take_all() == []


def test_the_record_in_its_place_has_its_time_and_is_for_its_group() -> None:
    own = ((NOT_BEFORE, b"1"), ("trace", None), ("trace", b"2"))
    made = headers_again(own, "g", 1234.5, 1000.0)
    assert made == (("trace", None), ("trace", b"2"), (NOT_BEFORE, b"1234500"), (SINCE, b"1000000"), (GROUP, b"g"))
    assert headers_again(made, "g", 1234.5, 1000.0) == made
    assert not_before_s(made) == 1234.5
    assert not is_for_another(made, "g")
    assert is_for_another(made, "h")
    assert not is_for_another(own, "g")


@pytest.mark.parametrize(("size", "pause_s"), [(1, 60.0), (600_000, 600.001)])
def test_a_large_record_stays_longer_than_a_small_one(size: int, pause_s: float) -> None:
    assert may_move_s(record(0, (), b"x" * size)) == 0.0
    assert may_move_s(record(0, ((SINCE, b"1000000"),), b"x" * size)) == pytest.approx(1000.0 + pause_s)
    assert may_move_s(record(0, ((SINCE, b"soon"),), b"x" * size)) == 0.0


@pytest.mark.parametrize(("limit", "worn_at"), [(None, 3), (5, 3), (3, 2), (2, 2), (10, 3)])
def test_a_record_that_was_delivered_often_is_sent_again_before_the_group_gives_it_up(
    limit: int | None, worn_at: int
) -> None:
    """Each stop of a worker is a delivery, so after five stops an unstarted task was once dead."""
    early = EarlyRecords(1_000, limit)
    for count in (4, 3, 2, 1):
        early.keep(record(count, count=count), 100.0, may_move=50.0 if count == 4 else 0.0)
    assert [each.offset for each, _ in early.crowding(0.0, 9)] == list(range(3, worn_at - 1, -1))
    assert [each.offset for each, _ in early.crowding(50.0, 9)] == [4]
    assert early.crowding(50.0, 9) == []
    assert len(early) == worn_at - 1
    ordered = EarlyRecords(0, limit)
    ordered.keep(record(0, count=9), 100.0)
    assert ordered.crowding(0.0, 9) == []
