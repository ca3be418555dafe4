"""Order by key over a window that has batches already: keys that get known late, holes, and who is freed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from shareq.broker.share.core.window.batch import InFlightBatch
from shareq.broker.share.core.window.delivery_status import DeliveryStatus, settled
from shareq.broker.share.core.window.key_order import KeyOrder, is_waiting
from shareq.broker.share.core.window.record_state import RecordState
from shareq.broker.share.core.window.window import GapWindow, InFlightWindow
from tests.support.models.key_hashes import key_hashes

A, B, C = 11, 22, 33
ACQUIRED = DeliveryStatus(RecordState.ACQUIRED, 1, "m1")
ACKNOWLEDGED = settled(RecordState.ACKNOWLEDGED, 1)


def available(count: int) -> DeliveryStatus:
    return settled(RecordState.AVAILABLE, count)


def window_of(*batches: tuple[int, list[DeliveryStatus]]) -> InFlightWindow:
    """A window with batches of these first offsets, and a status for each offset."""
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
    order.enter(window, first, last, key_hashes(keys), 0, whole)
    return order


def seen(window: InFlightWindow) -> list[tuple[int, str, int]]:
    """Each offset with its state, or `waiting`, and its delivery count."""
    return [
        (offset, "waiting" if is_waiting(status) else status.state.name.lower(), status.delivery_count)
        for first, last, status in window.runs(window.start_offset, window.end_offset)
        for offset in range(first, last + 1)
    ]


def finish(order: KeyOrder, window: InFlightWindow, *offsets: int) -> bool:
    """These are acknowledged one by one, in one event."""
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
    """They were acquired before their keys were known."""
    window = window_of((0, [ACQUIRED] * 3 + [available(2), ACQUIRED, available(2)]))
    order = entered(window, 0, 5, {0: A, 1: B, 2: C, 3: A, 4: B, 5: C})
    assert finish(order, window, 0, 1, 2)
    assert seen(window)[3:] == [(3, "available", 2), (4, "acquired", 1), (5, "available", 2)]


def test_all_changes_of_an_event_count() -> None:
    """Also when they were noted one after the other."""
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
    order.enter(window, 1, 4, key_hashes({1: A, 2: B, 3: A, 4: C}), 0, whole)
    assert seen(window) == [
        (0, "available", 1),
        (1, "waiting", 0),
        (2, "available", 0),
        (3, "waiting", 1),
        (4, "available", 1),
    ]


def test_what_the_log_no_longer_has_does_not_enter() -> None:
    """A compacted log begins behind the start offset."""
    window = InFlightWindow()
    entered(window, 5, 7, {5: A, 6: A, 7: B})
    assert (window.start_offset, window.end_offset, window.in_flight()) == (5, 7, 3)
    assert seen(window) == [(5, "available", 0), (6, "waiting", 0), (7, "available", 0)]
