"""The code around a share partition's core, on fakes of its ports: events that wake waiting fetches, and deadlines."""

from __future__ import annotations

from shareq.coordinator.ports import ShareGroupSettings
from shareq.protocol.errors import ErrorCode
from shareq.protocol.share import AcknowledgeType, RecordState
from tests.support.fakes.share_leaders import Waiter, filled, state, with_two_groups
from tests.support.fakes.share_rig import LOCK_MS

RELEASE, ACCEPT, RENEW = AcknowledgeType.RELEASE, AcknowledgeType.ACCEPT, AcknowledgeType.RENEW


# -- who waits


def test_new_records_wake_the_partitions_own_waiters_at_once() -> None:
    rig = with_two_groups()
    waiters = [Waiter(), Waiter(), Waiter()]
    other_group = rig.manager.get(rig.key(0, "h"))
    assert other_group is not None
    for waiter, leader in zip(waiters, (rig.leader(0), rig.leader(1), other_group), strict=True):
        rig.manager.purgatory.park(waiter, [leader])
    rig.manager.on_high_watermark(rig.source(0))
    assert [waiter.looks for waiter in waiters] == [1, 0, 1]
    rig.manager.group_empty("g")
    rig.manager.group_empty("h")
    rig.manager.on_high_watermark(rig.source(0))
    assert [waiter.looks for waiter in waiters] == [1, 0, 1]


def test_waiters_look_in_the_order_they_came_and_not_after_they_have_left() -> None:
    rig = filled()
    leader, order = rig.leader(), list[str]()
    first, second, third = Waiter(), Waiter(), Waiter()
    for name, waiter in (("1", first), ("2", second), ("3", third)):
        waiter.on_look = lambda name=name: order.append(name)  # type: ignore[misc]
        rig.manager.purgatory.park(waiter, [leader])

    def take_second_out() -> None:
        order.append("1")
        rig.manager.purgatory.unpark(second, [leader])

    first.on_look = take_second_out
    assert len(rig.manager.purgatory) == 3
    rig.manager.on_high_watermark(rig.source())
    assert (order, len(rig.manager.purgatory)) == (["1", "3"], 2)
    assert [rig.manager.purgatory.is_parked(each) for each in (first, second, third)] == [True, False, True]
    rig.manager.purgatory.unpark(second, [leader])
    rig.manager.purgatory.finish_all()
    assert [each.finished for each in (first, second, third)] == [1, 0, 1]


def test_several_reasons_of_one_tick_wake_once_and_every_share_partition() -> None:
    rig = filled()
    one, two = Waiter(), Waiter()
    rig.manager.purgatory.park(one, [rig.leader(0)])
    rig.manager.purgatory.park(two, [rig.leader(1)])
    for partition in (0, 1, 0):
        rig.manager.purgatory.wake(rig.leader(partition))
    rig.clock.run_until_idle()
    assert (one.looks, two.looks) == (1, 1)
    rig.manager.purgatory.wake(rig.leader(0))
    rig.clock.run_until_idle()
    assert (one.looks, two.looks) == (2, 1)


# -- time


def test_locks_expire_at_their_time_and_the_records_are_given_out_again() -> None:
    rig = filled()
    rig.acquire()
    waiter = Waiter()
    rig.manager.purgatory.park(waiter, [rig.leader()])
    rig.clock.advance(LOCK_MS - 1)
    assert state(rig) == (RecordState.ACQUIRED, 1)
    rig.clock.advance(1)
    assert (state(rig), waiter.looks) == ((RecordState.AVAILABLE, 1), 1)
    assert rig.acquire(member="other") == [(0, 2, 2)]


def test_one_timer_serves_all_share_partitions() -> None:
    rig = filled()
    rig.acquire(0)
    rig.clock.advance(300)
    rig.acquire(1)
    assert rig.clock.next_timer_ms() == 1_000 + LOCK_MS
    rig.clock.advance(LOCK_MS - 300)
    assert [state(rig, partition=each)[0] for each in (0, 1)] == [RecordState.AVAILABLE, RecordState.ACQUIRED]
    assert rig.clock.next_timer_ms() == 1_300 + LOCK_MS
    rig.clock.advance(300)
    assert state(rig, partition=1)[0] is RecordState.AVAILABLE
    assert rig.clock.next_timer_ms() is None


def test_an_earlier_deadline_of_another_share_partition_moves_the_timer_forward() -> None:
    rig = filled()
    rig.acquire(0)
    rig.settings.share = ShareGroupSettings(record_lock_duration_ms=100)
    rig.acquire(1)
    rig.clock.advance(100)
    assert [state(rig, partition=each)[0] for each in (0, 1)] == [RecordState.ACQUIRED, RecordState.AVAILABLE]
    rig.clock.advance(LOCK_MS - 100)
    assert state(rig)[0] is RecordState.AVAILABLE


def test_a_renewed_lock_is_looked_at_at_the_old_deadline_and_kept() -> None:
    rig = filled()
    rig.acquire()
    rig.clock.advance(600)
    rig.acknowledge(0, 2, RENEW)
    rig.clock.advance(400)
    assert state(rig)[0] is RecordState.ACQUIRED
    assert rig.clock.next_timer_ms() == 1_600 + LOCK_MS
    rig.clock.advance(600)
    assert state(rig)[0] is RecordState.AVAILABLE


def test_a_renewed_lock_leaves_the_timer_to_an_earlier_deadline() -> None:
    """In simulation seed 20285 the timer moved past the earlier deadline to the renewed lock's."""
    rig = filled()
    rig.acquire(0)
    rig.clock.advance(500)
    rig.acquire(1)
    rig.clock.advance(400)
    rig.acknowledge(0, 2, RENEW)
    rig.clock.advance(600)
    assert [state(rig, partition=each)[0] for each in (0, 1)] == [RecordState.ACQUIRED, RecordState.AVAILABLE]


def test_an_expiry_goes_by_the_settings_of_the_moment() -> None:
    rig = filled()
    rig.acquire()
    rig.settings.share_by_group["g"] = ShareGroupSettings(delivery_count_limit=1)
    rig.clock.advance(LOCK_MS)
    assert rig.leader().core.start_offset == 3


def test_a_rollback_goes_by_the_settings_of_the_moment() -> None:
    """The lock expired during the write, and with the new limit the restored record has used up its one delivery."""
    rig = filled()
    rig.acquire()
    rig.states.holds = True
    rig.acknowledge(0, 2)
    rig.clock.advance(2 * LOCK_MS)
    rig.settings.share_by_group["g"] = ShareGroupSettings(delivery_count_limit=1)
    rig.states.errors["write"] = ErrorCode.NOT_COORDINATOR
    rig.states.answer()
    assert state(rig) == (RecordState.ARCHIVED, 1)


def test_a_dropped_share_partition_has_no_deadline_and_holds_up_no_other() -> None:
    rig = filled()
    rig.acquire(0)
    rig.acquire(1)
    gone = rig.leader(0)
    rig.manager.state_replaced([rig.key(0)])
    rig.clock.advance(LOCK_MS)
    assert gone.core.snapshot()[0].state is RecordState.ACQUIRED
    assert state(rig, partition=1)[0] is RecordState.AVAILABLE


def test_close_stops_the_timer() -> None:
    rig = filled()
    rig.acquire()
    rig.manager.close()
    rig.clock.advance(10 * LOCK_MS)
    assert state(rig)[0] is RecordState.ACQUIRED
    rig.manager.close()


def test_deadlines_of_many_share_partitions_are_met_whatever_their_order() -> None:
    rig = filled()
    for lock_ms, partition in ((500, 0), (200, 1)):
        rig.settings.share = ShareGroupSettings(record_lock_duration_ms=lock_ms)
        rig.acquire(partition)
    rig.clock.advance(200)
    assert [state(rig, partition=each)[0] for each in (0, 1)] == [RecordState.ACQUIRED, RecordState.AVAILABLE]
    assert rig.clock.next_timer_ms() == 1_500
    rig.acknowledge(0, 2, ACCEPT)
    rig.clock.advance(300)
    assert rig.clock.next_timer_ms() is None


def test_a_share_partition_is_armed_once_for_one_deadline() -> None:
    rig = filled()
    rig.acquire()
    leader = rig.leader()
    for _ in range(3):
        rig.manager.arm(leader)
    assert (len(rig.manager._deadlines), leader.armed_at) == (1, 1_000 + LOCK_MS)


def test_two_that_are_due_at_once_are_both_looked_at_although_one_was_dropped() -> None:
    rig = filled()
    rig.acquire(0)
    rig.acquire(1)
    rig.manager.state_replaced([rig.key(0)])
    rig.clock.advance(LOCK_MS)
    assert (state(rig, partition=1)[0], rig.clock.next_timer_ms()) == (RecordState.AVAILABLE, None)
