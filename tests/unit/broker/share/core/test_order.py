from __future__ import annotations

from collections.abc import Sequence

import pytest

from shareq.broker.share.core.effects import WakeFetches
from shareq.broker.share.core.in_flight_limit import enter_until
from shareq.broker.share.core.partition import SharePartition
from shareq.broker.share.core.window.batch import InFlightBatch
from shareq.broker.share.core.window.delivery_status import DeliveryStatus
from shareq.broker.share.core.window.window import InFlightWindow
from shareq.protocol.share import AcquireMode, RecordState
from tests.support.models.key_hashes import key_hashes
from tests.support.models.share_partition import (
    ACCEPT,
    BATCHES,
    FAILED,
    KEY,
    RECORDS,
    RELEASE,
    Span,
    ack,
    batches,
    settings,
    settle,
    share_partition,
    written,
)

A, B, C = 11, 22, 33


class Ordered:
    """A share partition with order by key over a log of the given keys, in record batches of `size`."""

    def __init__(
        self,
        keys: Sequence[int | None],
        *,
        size: int = 5,
        limit: int = 2_000,
        max_deliveries: int = 5,
        per_key: int = 1,
        ahead: int = 0,
    ) -> None:
        self.keys, self.size = keys, size
        group = settings(limit=limit, max_deliveries=max_deliveries, lock_ms=1_000)._replace(
            order_by_key=True, order_records_per_key=per_key, order_look_ahead=ahead
        )
        self.core = SharePartition(KEY, 1, group)
        self.core.load(1, 0, (), log_start_offset=0, log_end_offset=len(keys))
        self.asked: list[tuple[int, int] | None] = []

    def fetch(self, member: str = "m1", *, most: int = 500, mode: int = RECORDS, at_ms: int = 0) -> list[int]:
        """Return the offsets acquired by a fetch that reads everything from the next fetch offset on."""
        core, offset = self.core, self.core.next_fetch_offset()
        read = [span for span in batches(0, len(self.keys) - 1, self.size) if span.last_offset >= offset]
        if not read or not core.can_acquire():
            return []
        return self._acquired(read, offset, member, most, mode, at_ms)

    def _acquired(self, read: Sequence[Span], offset: int, member: str, most: int, mode: int, at_ms: int) -> list[int]:
        wanted = self.core.keys_wanted(read)
        self.asked.append(wanted)
        first, last = wanted or (1, 0)
        keys = {each: key for each in range(first, last + 1) if (key := self.keys[each]) is not None}
        modes = {int(each): each for each in (BATCHES, RECORDS)}
        acquired = self.core.acquire(member, modes[mode], self.size, most, offset, read, at_ms, keys=key_hashes(keys))
        return [each for low, high, _ in acquired for each in range(low, high + 1)]

    def waiting(self) -> list[int]:
        views = [view for view in self.core.snapshot() if view.waits_for_key]
        return [each for view in views for each in range(view.first_offset, view.last_offset + 1)]


def test_one_record_of_each_key_and_all_without() -> None:
    world = Ordered([A, B, A, None, B, None])
    assert world.fetch() == [0, 1, 3, 5]
    assert world.waiting() == [2, 4]
    assert world.core.next_fetch_offset() == 6
    settle(world.core, 1, 1, ACCEPT)
    assert world.core.next_fetch_offset() == 4
    assert world.fetch() == [4]


def test_a_key_has_as_many_records_in_hand_as_it_may() -> None:
    world = Ordered([A, A, A, B, A, None], per_key=2)
    assert world.fetch() == [0, 1, 3, 5]
    assert world.waiting() == [2, 4]
    settle(world.core, 1, 1, ACCEPT)
    assert world.fetch("other") == [2]
    settle(world.core, 0, 0, RELEASE)
    assert world.fetch() == [0], "what was given back keeps its place"


def test_members_keep_what_is_beyond_a_lower_number_and_the_key_waits_for_them() -> None:
    world = Ordered([A] * 6, per_key=3)
    assert world.fetch() == [0, 1, 2]
    world.core.settings = world.core.settings._replace(order_records_per_key=1)
    for offset in (0, 1):
        settle(world.core, offset, offset, ACCEPT)
        assert world.fetch() == []
    settle(world.core, 2, 2, ACCEPT)
    assert world.fetch() == [3]
    world.core.settings = world.core.settings._replace(order_records_per_key=2)
    assert world.fetch() == [4]


def test_a_window_looks_past_what_waits_for_its_key() -> None:
    """Without a look-ahead, a key that fills the window holds up all others; with one, others are delivered as far as
    it reaches.
    """
    keys = [*[A] * 8, B, C]
    for ahead, came in ((0, [0]), (6, [0]), (7, [0, 8]), (100, [0, 8])):
        world = Ordered(keys, size=1, limit=2, ahead=ahead)
        found = [each for _ in range(10) for each in world.fetch()]
        assert found == came, ahead


def test_what_is_finished_behind_a_held_record_makes_room_and_wakes_fetches() -> None:
    for ahead, woken in ((0, False), (1, True)):
        world = Ordered([None] * 4, size=1, limit=2, ahead=ahead)
        assert world.fetch() == [0, 1]
        assert not world.core.can_acquire()
        effects = written(world.core, ack(world.core, 1, 1, ACCEPT).effects)
        assert (WakeFetches() in effects) is woken
        assert world.core.can_acquire() is woken


def test_a_window_without_order_never_looks_ahead() -> None:
    world = Ordered([None] * 4, size=1, limit=2, ahead=100)
    world.core.settings = world.core.settings._replace(order_by_key=False)
    assert world.fetch() == [0, 1]
    settle(world.core, 1, 1, ACCEPT)
    assert world.fetch() == []


def test_a_pending_acknowledgement_blocks_until_it_is_durable() -> None:
    world = Ordered([A, A])
    assert world.fetch() == [0]
    outcome = ack(world.core, 0, 0, ACCEPT)
    assert world.fetch("other") == []
    assert WakeFetches() in written(world.core, outcome.effects)
    assert world.fetch("other") == [1]


def test_a_failed_acknowledgement_keeps_the_key() -> None:
    world = Ordered([A, A])
    assert world.fetch() == [0]
    written(world.core, ack(world.core, 0, 0, ACCEPT).effects, FAILED)
    assert world.fetch("other") == []
    assert world.waiting() == [1]


def test_a_record_given_up_by_its_lock_frees_its_key_when_that_is_durable() -> None:
    world = Ordered([A, A], max_deliveries=2)
    assert world.fetch() == [0]
    written(world.core, world.core.on_deadline(1_000), now_ms=1_000)
    assert world.fetch(at_ms=1_000) == [0]
    effects = world.core.on_deadline(2_000)
    assert world.fetch(at_ms=2_000) == []
    assert world.waiting() == [1]
    assert WakeFetches() in written(world.core, effects, now_ms=2_000)
    assert world.fetch(at_ms=2_000) == [1]


def test_when_that_cannot_be_written_the_key_is_free_all_the_same() -> None:
    world = Ordered([A, A], max_deliveries=2)
    assert world.fetch() == [0]
    written(world.core, world.core.on_deadline(1_000), now_ms=1_000)
    assert world.fetch(at_ms=1_000) == [0]
    assert WakeFetches() in written(world.core, world.core.on_deadline(2_000), FAILED, now_ms=2_000)
    assert world.fetch(at_ms=2_000) == [1]


def test_what_leaves_the_log_frees_its_key_and_says_so() -> None:
    world = Ordered([A, A, A, B])
    assert world.fetch(most=1) == [0]
    settle(world.core, 0, 0, RELEASE)
    assert not world.core.take_freed()
    world.core.on_log_start_moved(2, 0)
    assert world.core.take_freed()
    assert not world.core.take_freed()
    assert world.fetch() == [2, 3]


def test_the_window_is_full_of_what_waits() -> None:
    world = Ordered([A] * 30, limit=12)
    assert world.fetch() == [0]
    assert world.core.in_flight_records == 15  # the record batch that reaches the limit enters whole
    assert not world.core.can_acquire()


def test_no_new_record_batch_is_opened_for_its_keys_at_the_limit() -> None:
    world = Ordered([A, B] * 15, size=2, limit=6)
    assert world.fetch() == [0, 1]
    assert world.core.in_flight_records == 6
    settle(world.core, 1, 1, RELEASE)
    assert world.fetch() == [1]
    assert world.asked == [(0, 5), None]
    assert world.fetch() == []
    assert not world.core.can_acquire()


def test_at_the_limit_a_read_ends_with_the_window() -> None:
    """Records behind the window could not enter."""
    world = Ordered([A] * 30, size=2, limit=6)
    assert world.core.next_read(AcquireMode.RECORD_LIMIT, 500)[1] == 5
    assert world.fetch() == [0]
    assert world.core.in_flight_records == 6
    assert world.core.next_read(AcquireMode.RECORD_LIMIT, 500)[1] == 5


def test_with_a_full_window_at_hand_nothing_is_looked_for() -> None:
    world = Ordered([A, B] * 15, size=2, limit=6)
    assert world.core.next_read(AcquireMode.RECORD_LIMIT, 1, known_until=29)[1] == 0  # nothing has entered
    assert world.fetch() == [0, 1]
    settle(world.core, 1, 1, RELEASE)
    assert world.core.next_read(AcquireMode.RECORD_LIMIT, 1)[1] == 1
    assert world.core.next_read(AcquireMode.RECORD_LIMIT, 1, known_until=4)[1] == 1
    assert world.core.next_read(AcquireMode.RECORD_LIMIT, 1, known_until=5)[1] == 5


def test_the_key_of_a_single_record_is_asked_for() -> None:
    world = Ordered([A, A], size=1, limit=1)
    assert world.fetch() == [0]
    settle(world.core, 0, 0, RELEASE)
    world.core.settings = world.core.settings._replace(partition_max_record_locks=10)
    assert world.fetch() == [0]
    assert world.asked == [(0, 0), (1, 1)]
    assert world.waiting() == [1]


def test_behind_a_single_record_there_is_room_up_to_the_limit() -> None:
    world = Ordered([A, B, C, A], size=1, limit=1)
    assert world.fetch() == [0]
    world.core.settings = world.core.settings._replace(partition_max_record_locks=3)
    settle(world.core, 0, 0, RELEASE)
    assert world.fetch() == [0, 1, 2]
    assert world.asked == [(0, 0), (1, 2)]


def test_an_aborted_record_frees_its_key_at_once() -> None:
    world = Ordered([A, A, B], size=1)
    read = batches(0, 2, 1)
    offset = world.core.next_fetch_offset()
    keys = key_hashes(dict(enumerate([A, A, B])))
    acquired = world.core.acquire("m1", AcquireMode.RECORD_LIMIT, 1, 500, offset, read, 0, aborted=[(0, 0)], keys=keys)
    assert acquired == [(1, 1, 1), (2, 2, 1)]
    assert world.core.take_freed()
    settle(world.core, 1, 1, ACCEPT)
    assert world.core.start_offset == 2


def test_the_modes_hand_out_by_record_and_by_what_is_in_flight_together() -> None:
    keys = list(range(100, 120))
    assert Ordered(keys).fetch(most=3) == [0, 1, 2]
    assert Ordered(keys).fetch(most=3, mode=BATCHES) == [0, 1, 2, 3, 4]


def test_of_a_batch_in_flight_no_more_is_handed_out_than_was_read() -> None:
    """Only the record batches that were read are acquired, although the in-flight batch spans several."""
    world = Ordered(list(range(10)), size=5)
    read = [Span(0, 4), Span(5, 9)]
    keys = key_hashes(dict(enumerate(range(10))))
    assert world.core.next_fetch_offset() == 0
    assert world.core.acquire("", BATCHES, 500, 0, 0, read, 0, keys=keys) == []
    acquired = world.core.acquire("m1", BATCHES, 500, 500, 5, read[1:], 0)
    assert [(first, last) for first, last, _ in acquired] == [(5, 9)]


def test_a_batch_that_keeps_failing_is_handed_out_in_parts_also_by_what_is_in_flight_together() -> None:
    world = Ordered(list(range(10)), size=10)
    for _ in range(3):
        assert world.fetch(mode=BATCHES) == [*range(10)]
        settle(world.core, 0, 9, RELEASE)
    assert world.fetch(mode=BATCHES) == [*range(5)]


def test_a_read_reaches_behind_a_single_record_whose_key_is_not_known() -> None:
    """The record was acquired before order by key was enabled, so its key is unknown."""
    world = Ordered([A, B, C, A], size=1)
    world.core.settings = world.core.settings._replace(order_by_key=False)
    assert world.core.next_fetch_offset() == 0
    world.core.acquire("m2", RECORDS, 1, 1, 0, [Span(0, 0)], 0)
    world.core.settings = world.core.settings._replace(order_by_key=True)
    assert world.core.next_fetch_offset() == 0
    assert world.core.next_read(RECORDS, 2)[1] == 2
    assert world.fetch(most=2) == [1, 2]
    assert world.waiting() == [3]


@pytest.mark.parametrize(("limit", "last"), [(4, 4), (5, 4), (6, 9), (11, 12)])
def test_what_enters_ends_with_the_record_batch_that_reaches_the_limit(limit: int, last: int) -> None:
    """No part of a record batch enters when the window is full, even if the window ends inside the batch."""
    window = InFlightWindow()
    window.batches.add(InFlightBatch(0, 4, DeliveryStatus(RecordState.ACQUIRED, 1, "m1")))
    window.end_offset = 4
    assert enter_until(window, limit, [Span(0, 9), Span(10, 12), Span(13, 15)]) == last


def test_without_order_no_key_is_asked_for() -> None:
    assert share_partition().keys_wanted(batches(0, 9)) is None


def test_records_without_keys_stay_ranges() -> None:
    world = Ordered([None] * 1_000, size=1_000)
    assert len(world.fetch()) == 500
    settle(world.core, 0, 499, ACCEPT)
    assert len(world.core.snapshot()) == 1


def test_what_a_read_has_not_any_more_waits_for_nothing_and_keeps_nothing_waiting() -> None:
    """The next record of a key is delivered when compaction removed the available one before it."""
    world = Ordered([A, B, A, A])
    assert world.fetch() == [0, 1]
    settle(world.core, 0, 1, RELEASE)
    read = [Span(1, 3)]
    offset = world.core.next_fetch_offset()
    assert offset == 0
    assert world.core.keys_wanted(read) is None
    acquired = world.core.acquire("m1", RECORDS, 5, 500, offset, read, 0)
    assert [(first, last) for first, last, _ in acquired] == [(1, 1), (2, 2)]
    assert world.waiting() == [3]


@pytest.mark.parametrize(("limit", "until"), [(100, 13), (5, 4)])
def test_a_read_goes_beyond_the_window_while_there_is_room(limit: int, until: int) -> None:
    core = Ordered([A] * 5 + [B] * 15, limit=limit).core
    core.next_fetch_offset()
    assert core.acquire("m1", RECORDS, 5, 1, 0, [Span(0, 4)], 0, keys=key_hashes(dict.fromkeys(range(5), A))) == [
        (0, 0, 1)
    ]
    written(core, ack(core, 0, 0, RELEASE).effects)
    assert core.next_fetch_offset() == 0
    assert core.next_read(RECORDS, 10)[1] == until


@pytest.mark.parametrize("hole", [3_000, 1 << 40])
def test_a_hole_of_a_compacted_log_takes_no_memory_for_its_offsets(hole: int) -> None:
    """Chains once had an entry for each of the hole's offsets."""
    core = SharePartition(KEY, 1, settings(limit=2_000)._replace(order_by_key=True))
    core.load(1, 0, (), log_start_offset=0, log_end_offset=2 * hole)
    acquired = []
    for first, keys in ((0, {0: A, 1: B, 2: A}), (hole, {hole: A, hole + 1: B, hole + 2: C})):
        read = [Span(first, first + 2)]
        offset = core.next_fetch_offset()
        assert core.keys_wanted(read) == (first, first + 2)
        acquired += core.acquire("m1", AcquireMode.BATCH_OPTIMIZED, 500, 500, offset, read, 0, keys=key_hashes(keys))
    assert [row[:2] for row in acquired] == [(0, 1), (hole + 2, hole + 2)]
    settle(core, 0, 1, ACCEPT)
    assert core.next_fetch_offset() == 2
    acquired = core.acquire("m1", AcquireMode.BATCH_OPTIMIZED, 500, 500, 2, [Span(0, 2), Span(hole, hole + 2)], 0)
    assert [row[:2] for row in acquired] == [(2, 2), (hole + 1, hole + 1)]
