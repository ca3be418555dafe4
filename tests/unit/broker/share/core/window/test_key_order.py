"""Order by key over a window that already has batches: keys learned later, holes, and records that become available."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from shareq.broker.share.core.window.batch import InFlightBatch
from shareq.broker.share.core.window.delivery_status import DeliveryStatus, settled
from shareq.broker.share.core.window.key_order import KeyOrder, all_free, is_finished, is_waiting, waiting
from shareq.broker.share.core.window.offset_batch import MOST_OFFSETS
from shareq.broker.share.core.window.window import GapWindow, InFlightWindow
from shareq.protocol.share import RecordState
from tests.support.models.key_hashes import key_hashes

A, B, C = 11, 22, 33
NOW_MS = 7
ACQUIRED = DeliveryStatus(RecordState.ACQUIRED, 1, "m1")
ACKNOWLEDGED = settled(RecordState.ACKNOWLEDGED, 1)


def available(count: int) -> DeliveryStatus:
    return settled(RecordState.AVAILABLE, count)


def window_of(*batches: tuple[int, list[DeliveryStatus]]) -> InFlightWindow:
    """Return a window with batches of these first offsets and a status for each offset."""
    window = InFlightWindow()
    for first, statuses in batches:
        batch = InFlightBatch(first, first + len(statuses) - 1, statuses[0])
        for offset, status in enumerate(statuses, first):
            batch.overwrite(offset, offset, [offset], [status])
        window.batches.add(batch)
        window.end_offset = batch.last_offset
    window.start_offset = batches[0][0] if batches else 0
    return window


def whole(first: int, last: int) -> Iterable[tuple[int, int]]:
    return [(first, last)]


def entered(window: InFlightWindow, first: int, last: int, keys: Mapping[int, int]) -> KeyOrder:
    order = KeyOrder(window.start_offset)
    order.enter(window, first, last, key_hashes(keys), NOW_MS, whole)
    return order


def waiting_in(window: InFlightWindow) -> list[int]:
    return [offset for offset, state, _ in seen(window) if state == "waiting"]


def seen(window: InFlightWindow) -> list[tuple[int, str, int]]:
    """Return each offset with its state, or `waiting`, and its delivery count."""
    return [
        (offset, "waiting" if is_waiting(status) else status.state.name.lower(), status.delivery_count)
        for first, last, status in window.runs(window.start_offset, window.end_offset)
        for offset in range(first, last + 1)
    ]


def finish(order: KeyOrder, window: InFlightWindow, *offsets: int) -> bool:
    for offset in offsets:
        batch = window.batches.floor(offset)
        assert batch is not None
        order.note(window.remap(batch, offset, offset, lambda _status: ACKNOWLEDGED))
    return order.settle(window)


def test_records_in_flight_wait_with_the_deliveries_they_had_when_their_keys_get_known() -> None:
    window = window_of((0, [available(1), available(2), ACKNOWLEDGED, ACQUIRED, available(3)]))
    entered(window, 0, 4, {0: A, 1: A, 2: B, 3: B, 4: B})
    assert seen(window) == [
        (0, "available", 1),
        (1, "waiting", 2),
        (2, "acknowledged", 1),
        (3, "acquired", 1),
        (4, "waiting", 3),
    ]


def test_only_what_was_read_gets_to_know_its_keys() -> None:
    window = window_of((0, [available(1)] * 4), (4, [available(1)] * 2))
    order = entered(window, 0, 2, dict.fromkeys(range(6), A))
    assert [state for _, state, _ in seen(window)] == ["available", "waiting", "waiting", *["available"] * 3]
    assert (len(order), order.known_until) == (3, 3)
    order.enter(window, 2, 5, key_hashes(dict.fromkeys(range(6), A)), 0, whole)
    assert [state for _, state, _ in seen(window)] == ["available", *["waiting"] * 5]
    assert (len(order), order.known_until) == (6, 6)


def test_keys_beyond_what_was_read_count_for_nothing_and_the_first_one_read_counts() -> None:
    window = window_of((0, [available(1)] * 8))
    assert len(entered(window, 1, 6, {0: A, 1: B, 2: B, 7: A})) == 2
    assert [offset for offset, state, _ in seen(window) if state == "waiting"] == [2]


def test_freed_records_keep_their_deliveries() -> None:
    window = window_of((0, [ACQUIRED, ACQUIRED, available(1), available(3), ACQUIRED, available(4)]))
    order = entered(window, 0, 5, {0: A, 1: B, 2: A, 3: B, 4: C, 5: C})
    assert finish(order, window, 0, 1)
    assert seen(window)[2:4] == [(2, "available", 1), (3, "available", 3)]
    assert seen(window)[5] == (5, "waiting", 4)
    assert window.first_available() == 2
    assert finish(order, window, 4)
    assert seen(window)[5] == (5, "available", 4)


def test_of_freed_neighbours_those_that_a_member_holds_stay_its_own() -> None:
    """The member acquired these records before their keys were known."""
    window = window_of((0, [ACQUIRED] * 3 + [available(2), ACQUIRED, available(2)]))
    order = entered(window, 0, 5, {0: A, 1: B, 2: C, 3: A, 4: B, 5: C})
    assert finish(order, window, 0, 1, 2)
    assert seen(window)[3:] == [(3, "available", 2), (4, "acquired", 1), (5, "available", 2)]


def test_all_changes_of_an_event_count() -> None:
    window = window_of((0, [ACQUIRED, ACQUIRED, available(0), available(0)]))
    order = entered(window, 0, 3, {0: A, 1: B, 2: A, 3: B})
    assert [state for _, state, _ in seen(window)[2:]] == ["waiting", "waiting"]
    assert finish(order, window, 0, 1)
    assert [state for _, state, _ in seen(window)[2:]] == ["available", "available"]


def test_the_frontier_is_the_lowest_unfinished_offset_that_is_not_known() -> None:
    window = window_of((0, [ACKNOWLEDGED, ACKNOWLEDGED, available(1)]), (3, [ACKNOWLEDGED, ACQUIRED]))
    order = KeyOrder(0)
    assert order.frontier(window) == 2
    order.enter(window, 2, 2, key_hashes({2: A}), 0, whole)
    assert order.frontier(window) == 4
    order.enter(window, 4, 4, key_hashes({4: A}), 0, whole)
    assert order.frontier(window) is None


def test_a_hole_of_a_reload_is_the_frontier_and_enters() -> None:
    window = window_of((0, [available(1)]), (3, [available(1), available(1)]))
    window.gap = GapWindow(0, window.end_offset)
    order = KeyOrder(0)
    order.enter(window, 0, 0, key_hashes({0: A}), 0, whole)
    assert order.frontier(window) == 1
    order.enter(window, 1, 4, key_hashes({1: A, 2: B, 3: A, 4: C}), NOW_MS, whole)
    assert [each.since_ms for each in window.batches] == [0, NOW_MS, 0]
    assert seen(window) == [
        (0, "available", 1),
        (1, "waiting", 0),
        (2, "available", 0),
        (3, "waiting", 1),
        (4, "available", 1),
    ]


def test_what_the_log_no_longer_has_does_not_enter() -> None:
    """Only later records enter when a compacted log begins behind the start offset."""
    window = InFlightWindow()
    entered(window, 5, 7, {5: A, 6: A, 7: B})
    assert (window.start_offset, window.end_offset, window.in_flight()) == (5, 7, 3)
    assert seen(window) == [(5, "available", 0), (6, "waiting", 0), (7, "available", 0)]


# -- what is known, and what is not


def test_finished_is_what_no_member_gets_again_whatever_becomes_of_writes() -> None:
    archiving = DeliveryStatus(RecordState.ACQUIRED, 1, "m1").moved(RecordState.ARCHIVING)
    pending = DeliveryStatus(RecordState.ACQUIRED, 1, "m1").pending(RecordState.ARCHIVING, 4)
    assert [is_finished(each) for each in (ACKNOWLEDGED, archiving, pending, ACQUIRED)] == [True, True, False, False]


def test_the_only_offset_of_a_window_may_be_the_frontier() -> None:
    assert KeyOrder(0).frontier(window_of((0, [available(1)]))) == 0


def test_nothing_is_missing_in_a_hole_of_the_log() -> None:
    window = window_of((0, [ACKNOWLEDGED]), (5, [available(1)]))
    assert KeyOrder(0).frontier(window) == 5
    window.gap = GapWindow(0, window.end_offset)
    assert KeyOrder(0).frontier(window) == 1


def test_where_all_is_finished_nothing_is_looked_for() -> None:
    for missing in (False, True):
        window = window_of((0, [ACKNOWLEDGED]), (1, [ACKNOWLEDGED] * 2))
        window.gap = GapWindow(0, window.end_offset) if missing else None
        order = KeyOrder(0)
        assert order.frontier(window) is None
        assert order.known_until == 3
    window = window_of((0, [ACKNOWLEDGED]), (1, [ACKNOWLEDGED, available(1)]))
    window.gap = GapWindow(0, window.end_offset)
    assert KeyOrder(0).frontier(window) == 2


def test_below_the_start_offset_nothing_enters() -> None:
    window = InFlightWindow()
    window.start_offset = window.end_offset = 7
    order = KeyOrder(0)
    order.enter(window, 5, 9, key_hashes(dict.fromkeys(range(5, 10), A)), NOW_MS, whole)
    assert (window.batches.first.first_offset, waiting_in(window), len(order)) == (7, [8, 9], 3)


def test_in_flight_a_record_without_a_key_waits_for_nothing() -> None:
    window = window_of((0, [available(1)] * 3))
    entered(window, 0, 2, {0: A, 2: B})
    assert waiting_in(window) == []
    for keys, waits in (({0: A, 1: A, 3: A, 4: A, 6: B}, [1, 3, 4]), ({0: A, 1: A, 4: A}, [1, 4])):
        window = window_of((0, [available(1)] * 7))
        entered(window, 0, 6, keys)
        assert waiting_in(window) == waits


def test_in_flight_all_may_be_the_first_of_their_keys() -> None:
    window = window_of((0, [available(1), available(1), available(2)]))
    entered(window, 0, 2, {0: A, 1: B, 2: C})
    assert list(window.runs(0, 2)) == [(0, 1, available(1)), (2, 2, available(2))]


# -- how it enters


def test_in_short_parts_a_status_is_kept_for_each_offset_and_runs_else() -> None:
    """Runs serve parts that can be delivered whole, at any offset; short parts have a status per offset."""
    eight = [*range(8)]
    for keys, by_offset in (
        ([1, 2] * 5, True),
        (eight + eight, False),
        (eight + eight[:-1], True),
        (eight[:5], False),
    ):
        for first in (0, 100_000):
            window = InFlightWindow()
            window.start_offset = window.end_offset = first
            entered(window, first, first + len(keys) - 1, dict(enumerate(keys, first)))
            assert (len(window.batches), window.batches.first.by_offset) == (1, by_offset)
            assert (window.batches.first.since_ms, window.batches.first.peak_count) == (NOW_MS, 0)
            assert waiting_in(window) == [first + at for at, key in enumerate(keys) if key in keys[:at]]


def test_what_waits_as_a_whole_has_a_status_for_each_offset() -> None:
    window = InFlightWindow()
    order = entered(window, 0, 0, {0: A})
    order.enter(window, 1, 5, key_hashes(dict.fromkeys(range(1, 6), A)), NOW_MS, whole)
    assert (window.batches.last.by_offset, waiting_in(window)) == (True, [1, 2, 3, 4, 5])


def test_a_batch_of_very_many_offsets_is_kept_as_runs() -> None:
    """The runs are split as the batch is split: in a compacted log most of the offsets may have no record."""
    for count in (MOST_OFFSETS, MOST_OFFSETS + 1):
        window, last = InFlightWindow(), 9 + count
        window.start_offset = window.end_offset = 10
        order, asked = KeyOrder(10), list[tuple[int, int]]()

        def cut(first: int, last: int, asked: list[tuple[int, int]] = asked) -> Iterable[tuple[int, int]]:
            asked.append((first, last))
            return [(first, 14), (15, 99), (100, last)]

        parted = {offset: offset if offset % 2 else 0 for offset in range(1_000, 1_000 + count // 2)}
        keys = {10: A, 12: A, 13: A, 50: B, 100: A, 101: C, **parted, last: C}
        order.enter(window, 10, last, key_hashes(keys), NOW_MS, cut)
        assert asked == [(10, last)]
        assert [(each.first_offset, each.last_offset) for each in window.batches] == [(10, 14), (15, 99), (100, last)]
        by_offset = count == MOST_OFFSETS  # where it is not all one run
        assert [each.by_offset for each in window.batches] == [by_offset, False, by_offset]
        assert [each.since_ms for each in window.batches] == [NOW_MS] * 3
        free, waits = available(0), waiting(0)
        assert list(window.runs(10, 101)) == [
            *((10, 11, free), (12, 13, waits), (14, 14, free)),
            (15, 99, free),
            *((100, 100, waits), (101, 101, free)),
        ]
        assert waiting_in(window) == [12, 13, 100, *range(1_002, 1_000 + count // 2, 2), last]
        assert (len(order), window.end_offset, window.first_available()) == (len(keys), last, 10)
        finish(order, window, 10)
        assert waiting_in(window)[:2] == [13, 100]


# -- who is freed, and who is not


def test_batches_of_runs_are_freed_each_by_its_own() -> None:
    window = window_of(
        (0, [ACQUIRED, ACQUIRED]), (2, [available(0), available(1)]), (4, [available(0)] * 2), (6, [available(2)])
    )
    order = entered(window, 0, 6, {0: A, 1: B, 2: A, 3: A, 4: C, 5: C, 6: B})
    assert waiting_in(window) == [2, 3, 5, 6]
    assert finish(order, window, 0, 1)
    assert waiting_in(window) == [3, 5]
    assert seen(window)[6] == (6, "available", 2)


def test_where_the_next_one_is_held_already_nobody_is_woken() -> None:
    window = window_of((0, [ACQUIRED, ACQUIRED, ACQUIRED]))
    order = entered(window, 0, 2, {0: A, 1: A})
    assert not finish(order, window, 0)
    assert not finish(order, window, 2)
    assert window.first_available() is None


def release(order: KeyOrder, window: InFlightWindow, first: int, last: int) -> bool:
    batch = window.batches.floor(first)
    assert batch is not None
    order.note(window.remap(batch, first, last, lambda _status: available(2)))
    return order.settle(window)


def test_what_was_acquired_before_its_key_was_known_waits_when_it_is_given_back() -> None:
    window = window_of((0, [ACQUIRED] * 3))
    order = entered(window, 0, 2, dict.fromkeys(range(3), A))
    assert not release(order, window, 0, 2)
    assert seen(window) == [(0, "available", 2), (1, "waiting", 2), (2, "waiting", 2)]
    assert finish(order, window, 0)
    assert seen(window)[1:] == [(1, "available", 2), (2, "waiting", 2)]


def test_so_it_does_among_many_without_a_key() -> None:
    window = window_of((0, [ACQUIRED] * 10))
    order = entered(window, 0, 9, {1: A, 7: A})
    release(order, window, 0, 9)
    assert waiting_in(window) == [7]


def test_what_was_acquired_again_meanwhile_is_left_alone() -> None:
    window = window_of((0, [ACQUIRED] * 2))
    order = entered(window, 0, 1, {0: A, 1: A})
    order.note([(1, 1, available(1))])
    order.settle(window)
    assert seen(window)[1] == (1, "acquired", 1)


def test_when_order_is_switched_off_nothing_waits() -> None:
    window = window_of((0, [ACQUIRED, available(3), available(0)]), (3, [ACQUIRED]))
    order = entered(window, 0, 5, {0: A, 1: A, 2: A, 3: B, 4: A, 5: C})
    assert waiting_in(window) == [1, 2, 4]
    assert len(order) == 6
    all_free(window)
    assert seen(window) == [
        (0, "acquired", 1),
        (1, "available", 3),
        (2, "available", 0),
        (3, "acquired", 1),
        (4, "available", 0),
        (5, "available", 0),
    ]
    assert window.first_available() == 1
