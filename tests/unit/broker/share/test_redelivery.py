"""Delayed redelivery around a share partition's core: the timer, waiting fetches, the wall clock and restarts."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from shareq.broker.share.core.effects import StateBatch
from shareq.broker.share.partitions import SharePartitionManager
from shareq.coordinator.ports import RedeliveryBackoff
from shareq.coordinator.share.delays import Delay
from shareq.protocol.errors import ErrorCode
from shareq.protocol.share import AcknowledgeType
from tests.support.fakes.share_leaders import filled
from tests.support.fakes.share_rig import LOCK_MS, ShareRig, ranges
from tests.support.fakes.share_states import KeptState

RELEASE = AcknowledgeType.RELEASE
BACKOFF = RedeliveryBackoff(initial_ms=5_000, max_ms=60_000)
MANY = 30_000


def delaying(records: int = 3) -> ShareRig:
    rig = filled(records)
    rig.settings.share = rig.settings.share._replace(redelivery=BACKOFF)
    return rig


def with_kept(*delays: Delay, batches: tuple[StateBatch, ...] = (StateBatch(0, 2, 0, 1),)) -> ShareRig:
    """Return a leader that finds these delays, in wall-clock time, in the persisted state."""
    rig = delaying()
    rig.states.states[rig.key()] = KeptState(1, 0, batches, delays)
    return rig


# -- waking


def test_a_waiting_fetch_is_answered_at_the_records_time() -> None:
    rig = delaying()
    rig.acquire()
    rig.acknowledge(0, 2, RELEASE)
    answered: list[tuple[int, list[tuple[int, int, int]]]] = []
    pending = rig.start(member="n", wait_ms=60_000)
    pending.on_complete(lambda fetched: answered.append((rig.clock.now_ms(), ranges(fetched))))
    begin = rig.clock.now_ms()
    rig.clock.advance(4_999)
    assert answered == []
    rig.clock.advance(1)
    assert answered == [(begin + 5_000, [(0, 2, 2)])]


@pytest.mark.parametrize(("waits", "others"), [(200, 0), (20, MANY)], ids=["alone", "beside 30,000 that wait"])
def test_each_wait_ends_a_waiting_fetch_at_its_millisecond(waits: int, others: int) -> None:
    """The times of the other waits are later and all different."""
    rig, chance = ShareRig(), Random(1)
    rig.source().fill(*[b""] * (waits + others))
    rig.settings.share = rig.settings.share._replace(partition_max_record_locks=1_000_000)
    wall = rig.clock.wall_ms()
    times = sorted(chance.sample(range(wall + 1, wall + 20_000), waits))
    delays = [Delay(at, at, time, 1) for at, time in enumerate(times)]
    delays += [Delay(at, at, wall + 50_000 + at, 1) for at in range(waits, waits + others)]
    rig.states.states[rig.key()] = KeptState(1, 0, [StateBatch(0, waits + others - 1, 0, 1)], delays)
    rig.leader()
    came: list[tuple[int, list[tuple[int, int, int]]]] = []

    def ask() -> None:
        rig.start(member="n", wait_ms=1_000_000).on_complete(
            lambda fetched: came.append((rig.clock.wall_ms(), ranges(fetched)))
        )

    for at, time in enumerate(times):
        ask()
        rig.clock.advance(time - 1 - rig.clock.wall_ms())
        assert len(came) == at
        rig.clock.advance(1)
        assert came[at:] == [(time, [(at, at, 2)])]
        rig.acknowledge(at, at, AcknowledgeType.ACCEPT, member="n")


def test_a_record_whose_lock_ran_out_comes_to_a_waiting_fetch_a_wait_later() -> None:
    rig = delaying()
    rig.acquire()
    begin = rig.clock.now_ms()
    pending = rig.start(member="n", wait_ms=60_000)
    rig.clock.advance(LOCK_MS + 4_999)
    assert not pending.done
    rig.clock.advance(1)
    assert (rig.clock.now_ms(), ranges(pending.value)) == (begin + LOCK_MS + 5_000, [(0, 2, 2)])


def test_an_earlier_lock_does_not_take_the_timer_with_it() -> None:
    """The timer serves the locks and waits of every share partition."""
    rig = delaying()
    rig.acquire(0)
    rig.acknowledge(0, 2, RELEASE)
    assert rig.acquire(1) == [(0, 2, 1)]
    pending = rig.start(0, member="n", wait_ms=60_000)
    rig.clock.advance(5_000)
    assert ranges(pending.value) == [(0, 2, 2)]


def test_new_records_are_handed_out_meanwhile() -> None:
    rig = delaying()
    rig.acquire()
    rig.acknowledge(0, 2, RELEASE)
    pending = rig.start(member="n", wait_ms=60_000)
    rig.source().fill(b"new")
    rig.manager.on_high_watermark(rig.source())
    assert ranges(pending.value) == [(3, 3, 1)]


# -- what is kept


def test_times_are_kept_by_the_wall_clock() -> None:
    rig = delaying()
    rig.acquire()
    rig.clock.step_wall(123_000)
    rig.acknowledge(0, 1, RELEASE)
    (write,) = rig.states.writes
    assert write.delays == (Delay(0, 1, rig.clock.wall_ms() + 5_000, 1),)


def waited(rig: ShareRig) -> int:
    """Return how long a fetch waits for all three records, in milliseconds."""
    begin = rig.clock.now_ms()
    rig.leader()
    while rig.acquire(member="n") != [(0, 2, 2)]:
        assert rig.clock.advance_to_next_timer()
    return rig.clock.now_ms() - begin


def test_a_leader_that_loads_goes_on_waiting() -> None:
    rig = with_kept()
    rig.states.states[rig.key()].delays = [Delay(0, 2, rig.clock.wall_ms() + 1_700, 1)]
    assert waited(rig) == 1_700


@pytest.mark.parametrize(("step_ms", "waits_ms"), [(1_000, 700), (1_700, 0), (9_999_999, 0), (-2_000, 3_700)])
def test_a_clock_that_was_set_brings_the_record_earlier_or_later(step_ms: int, waits_ms: int) -> None:
    rig = with_kept()
    rig.states.states[rig.key()].delays = [Delay(0, 2, rig.clock.wall_ms() + 1_700, 1)]
    rig.clock.step_wall(step_ms)
    assert waited(rig) == waits_ms


def test_a_clock_that_was_set_back_hides_no_record_longer_than_the_most() -> None:
    rig = with_kept()
    rig.states.states[rig.key()].delays = [Delay(0, 2, rig.clock.wall_ms() + 1_700, 1)]
    rig.clock.step_wall(-365 * 86_400_000)
    assert waited(rig) == BACKOFF.max_ms


def test_times_hold_also_when_the_group_has_no_backoff_any_more() -> None:
    rig = with_kept()
    rig.states.states[rig.key()].delays = [Delay(0, 2, rig.clock.wall_ms() + 1_700, 1)]
    rig.settings.share = rig.settings.share._replace(redelivery=RedeliveryBackoff())
    assert waited(rig) == 1_700


def test_a_clock_that_is_set_while_the_broker_runs_changes_nothing() -> None:
    rig = delaying()
    rig.acquire()
    rig.acknowledge(0, 2, RELEASE)
    rig.clock.step_wall(-1_000_000)
    assert waited(rig) == 5_000


def test_a_state_that_is_written_again_keeps_its_times() -> None:
    """The part beyond the log's end is dropped, and the rest written."""
    rig = with_kept(batches=(StateBatch(0, 9, 0, 1),))
    wall = rig.clock.wall_ms()
    rig.states.states[rig.key()].delays = [Delay(0, 0, wall + 500, 1), Delay(1, 9, wall + 1_700, 1)]
    rig.leader()
    kept = rig.states.states[rig.key()]
    assert list(kept.delays) == [Delay(0, 0, wall + 500, 1), Delay(1, 2, wall + 1_700, 1)]
    assert list(kept.batches) == [StateBatch(0, 0, 0, 1), StateBatch(1, 2, 0, 1)]


# -- cost


def test_many_records_that_wait_make_no_call_while_they_do(monkeypatch: pytest.MonkeyPatch, rig: ShareRig) -> None:
    """One timer serves 30,000 ranges with times of their own."""
    wall = rig.clock.wall_ms()
    rig.source().fill(*[b""] * MANY)
    rig.settings.share = rig.settings.share._replace(partition_max_record_locks=1_000_000)
    delays = [Delay(offset, offset, wall + 50_000 + offset % 1_000, 1) for offset in range(MANY)]
    rig.states.states[rig.key()] = KeptState(1, 0, [StateBatch(0, MANY - 1, 0, 1)], delays)
    calls = Counter[str]()
    manager = type(rig.manager)
    original = manager._on_timer

    def counted(self: SharePartitionManager) -> None:
        calls["timer"] += 1
        original(self)

    monkeypatch.setattr(manager, "_on_timer", counted)
    rig.leader()
    pending = rig.start(member="n", wait_ms=1_000_000)
    begin = rig.clock.now_ms()
    while rig.clock.now_ms() < begin + 49_999:
        due = rig.clock.next_timer_ms()
        assert due is not None
        rig.clock.advance(min(due - rig.clock.now_ms(), begin + 49_999 - rig.clock.now_ms()))
    assert (calls["timer"], pending.done) == (0, False)
    assert rig.clock.next_timer_ms() == begin + 50_000
    rig.clock.advance(1)
    assert pending.done
    assert (calls["timer"], pending.value[0].error) == (1, ErrorCode.NONE)
