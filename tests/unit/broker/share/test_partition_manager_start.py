"""The code around a share partition's core, on fakes of its ports: the start offset of a share partition."""

from __future__ import annotations

import pytest

from shareq.broker.log.segments.reader import ReadResult
from shareq.broker.share.core.effects import StateBatch
from shareq.broker.share.leader import LeaderState
from shareq.broker.share.ordered.kept_reads import LEAST_BYTES
from shareq.coordinator.ports import AutoOffsetReset, ShareGroupSettings
from shareq.protocol.errors import ErrorCode
from tests.support.fakes.share_leaders import Waiter, filled
from tests.support.fakes.share_states import KeptState

NONE = ErrorCode.NONE


# -- where it begins


@pytest.mark.parametrize(("strategy", "start"), [("earliest", 1), ("latest", 3), ("by_duration", 2)])
def test_without_a_start_offset_the_groups_reset_resolves_it(strategy: str, start: int) -> None:
    rig = filled()
    rig.states.states[rig.key()] = KeptState(1, -1)
    rig.source().log_start_offset = 1
    rig.source().times = {rig.clock.wall_ms() - 5_000: 2, rig.clock.wall_ms() - 5_001: 0}
    rig.settings.share = ShareGroupSettings(auto_offset_reset=AutoOffsetReset(strategy, 5_000))
    leader = rig.leader()
    assert (leader.core.start_offset, leader.core.start_is_durable) == (start, False)


def test_a_reset_by_duration_that_finds_no_record_is_reported() -> None:
    rig = filled()
    rig.states.states[rig.key()] = KeptState(1, -1)
    rig.settings.share = ShareGroupSettings(auto_offset_reset=AutoOffsetReset("by_duration", 5_000))
    assert rig.leader().error is ErrorCode.OFFSET_NOT_AVAILABLE
    assert rig.manager.get(rig.key()) is None


@pytest.mark.parametrize(("strategy", "start"), [("earliest", 1), ("latest", 4), ("by_duration", 2)])
def test_a_reset_whose_source_has_to_ask_is_waited_for(strategy: str, start: int) -> None:
    """The source's log counts as it is when the source answers."""
    rig = filled()
    rig.states.states[rig.key()] = KeptState(1, -1)
    rig.source().times = {rig.clock.wall_ms(): 2}
    rig.source().holds = True
    rig.settings.share = ShareGroupSettings(auto_offset_reset=AutoOffsetReset(strategy, 5_000))
    leader, waiter = rig.leader(), Waiter()
    rig.manager.purgatory.park(waiter, [leader])
    rig.source().log_start_offset = 1
    rig.source().fill(b"3")
    assert leader.state is LeaderState.LOADING
    rig.source().answer()
    assert (leader.is_active, leader.core.start_offset) == (True, start)
    rig.clock.run_until_idle()
    assert waiter.looks == 1


@pytest.mark.parametrize("strategy", ["earliest", "latest", "by_duration"])
def test_a_reset_that_fails_is_reported_and_the_next_fetch_tries_again(strategy: str) -> None:
    rig = filled()
    rig.states.states[rig.key()] = KeptState(1, -1)
    rig.source().times = {rig.clock.wall_ms(): 2}
    rig.source().holds = True
    rig.settings.share = ShareGroupSettings(auto_offset_reset=AutoOffsetReset(strategy, 5_000))
    leader = rig.leader()
    rig.source().answer(ErrorCode.REQUEST_TIMED_OUT)
    assert (leader.state, leader.error) == (LeaderState.FAILED, ErrorCode.OFFSET_NOT_AVAILABLE)
    rig.source().holds = False
    assert rig.leader().is_active


def test_a_reset_that_is_answered_after_its_leader_was_dropped_revives_nothing() -> None:
    rig = filled()
    rig.states.states[rig.key()] = KeptState(1, -1)
    rig.source().holds = True
    leader = rig.leader()
    rig.manager.group_empty("g")
    rig.source().answer()
    assert (leader.state, rig.manager.get(rig.key())) == (LeaderState.FENCED, None)


def test_a_reset_that_the_disk_fails_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """A load that never ended would keep its members waiting for ever."""
    rig = filled()
    rig.states.states[rig.key()] = KeptState(1, -1)
    rig.states.holds = True
    rig.settings.share = ShareGroupSettings(auto_offset_reset=AutoOffsetReset("by_duration", 5_000))

    def fail(timestamp_ms: int) -> None:
        raise OSError(5, "I/O error")

    monkeypatch.setattr(rig.source(), "offset_for_timestamp", fail)
    leader = rig.leader()
    rig.states.answer()
    assert (leader.state, leader.error) == (LeaderState.FAILED, ErrorCode.KAFKA_STORAGE_ERROR)


def test_a_resolved_start_offset_is_written_once_before_anything_is_acquired() -> None:
    rig = filled()
    rig.states.states[rig.key()] = KeptState(1, -1)
    rig.settings.share = ShareGroupSettings(auto_offset_reset=AutoOffsetReset("earliest"))
    leader, waiter = rig.leader(), Waiter()
    rig.manager.purgatory.park(waiter, [leader])
    rig.clock.run_until_idle()
    rig.states.holds = True
    assert not rig.manager.start_is_durable(leader)
    assert not rig.manager.start_is_durable(leader)
    assert [(write.start_offset, write.batches) for write in rig.states.writes] == [(0, ())]
    looks = waiter.looks
    rig.states.answer()
    rig.clock.run_until_idle()
    assert rig.manager.start_is_durable(leader)
    assert (leader.start_write_id, waiter.looks) == (None, looks + 1)
    assert len(rig.states.writes) == 1


def test_a_start_offset_that_could_not_be_written_is_tried_again() -> None:
    rig = filled()
    rig.states.states[rig.key()] = KeptState(1, -1)
    rig.states.errors["write"] = ErrorCode.COORDINATOR_NOT_AVAILABLE
    leader = rig.leader()
    assert not rig.manager.start_is_durable(leader)
    assert leader.start_write_id is None
    rig.states.errors.clear()
    assert not rig.manager.start_is_durable(leader)
    assert rig.manager.start_is_durable(leader)
    assert len(rig.states.writes) == 2


def test_a_state_that_reaches_beyond_the_log_is_replaced_before_anything_is_given_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A power loss removed the records, and new records will get their offsets."""
    rig = filled()
    rig.states.states[rig.key()] = KeptState(4, 0, [StateBatch(0, 0, 0, 2), StateBatch(1, 9, 2, 1)])
    rig.states.holds = True
    leader = rig.leader()
    rig.states.answer()
    assert leader.state is LeaderState.LOADING
    assert rig.states.calls[-1] == (
        "replace", rig.key(), 4, 0, (StateBatch(0, 0, 0, 2), StateBatch(1, 2, 2, 1))
    )  # fmt: skip
    assert "(start offset 0) reaches beyond the log end 3" in caplog.text
    rig.states.answer()
    assert leader.is_active


@pytest.mark.parametrize("dropped", [False, True])
def test_a_state_that_cannot_be_replaced_is_not_used(dropped: bool) -> None:
    rig = filled()
    rig.states.states[rig.key()] = KeptState(4, 0, [StateBatch(1, 9, 2, 1)])
    rig.states.errors["replace"] = ErrorCode.NOT_COORDINATOR
    rig.states.holds = True
    leader = rig.leader()
    rig.states.answer()
    if dropped:
        rig.manager.group_empty("g")
    rig.states.answer()
    expected = (LeaderState.FENCED, NONE) if dropped else (LeaderState.FAILED, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    assert (leader.state, leader.error) == expected


def test_a_state_that_was_replaced_after_its_leader_was_dropped_revives_nothing() -> None:
    rig = filled()
    rig.states.states[rig.key()] = KeptState(4, 0, [StateBatch(1, 9, 2, 1)])
    rig.states.holds = True
    leader = rig.leader()
    rig.states.answer()
    rig.manager.group_empty("g")
    rig.states.answer()
    assert (leader.state, rig.manager.counters.loads.count) == (LeaderState.FENCED, 0)


# -- where records that are missing may be elsewhere


BEYOND = {
    "records in flight": KeptState(4, 0, [StateBatch(0, 0, 0, 2), StateBatch(1, 3, 2, 1)]),
    "the start offset": KeptState(4, 4),
}
"""Persisted states with offset 3, although the log ends there."""


@pytest.mark.parametrize("beyond", BEYOND.values(), ids=BEYOND)
def test_a_state_beyond_the_end_is_kept_until_the_end_is_known(
    beyond: KeptState, caplog: pytest.LogCaptureFixture
) -> None:
    """Dropping it while the log end may only be unknown would deliver confirmed records again."""
    rig = filled(believes_absence=False)
    rig.states.states[rig.key()] = beyond
    leader, waiter = rig.leader(), Waiter()
    rig.manager.purgatory.park(waiter, [leader])
    rig.manager.on_high_watermark(rig.source())
    assert leader.state is LeaderState.LOADING
    assert "reaches to offset 3, the log is known up to 3: waiting for the rest" in caplog.text
    rig.source().fill(b"3")
    rig.manager.on_high_watermark(rig.source())
    assert (leader.is_active, leader.core.known_until) == (True, 3)
    rig.clock.run_until_idle()
    assert waiter.looks > 0
    assert [name for name, *_ in rig.states.calls] == ["read"], "nothing was replaced"


@pytest.mark.parametrize(
    "error",
    [
        ErrorCode.INVALID_REQUEST,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ],
)
def test_a_state_that_is_not_here_is_another_leaders(error: ErrorCode) -> None:
    """A deposed node lacks the state that its successor has, or will have; it answers NOT_LEADER_OR_FOLLOWER."""
    rig = filled(believes_absence=False)
    rig.states.errors["read"] = error
    leader = rig.leader()
    assert (leader.state, leader.error) == (LeaderState.FAILED, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    rig.states.errors.clear()
    assert rig.leader().is_active


def test_the_source_is_asked_for_the_end_first() -> None:
    rig = filled(believes_absence=False)
    rig.states.states[rig.key()] = KeptState(4, 4)
    rig.source().holds = True
    leader = rig.leader()
    rig.source().fill(b"3")
    assert leader.state is LeaderState.LOADING
    rig.source().answer()
    assert leader.is_active


def test_a_source_that_cannot_find_its_end_fails_the_load() -> None:
    rig = filled(believes_absence=False)
    rig.states.states[rig.key()] = KeptState(4, 4)
    rig.source().holds = True
    leader = rig.leader()
    rig.source().answer(ErrorCode.REQUEST_TIMED_OUT)
    assert (leader.state, leader.error) == (LeaderState.FAILED, ErrorCode.OFFSET_NOT_AVAILABLE)


def test_a_load_that_waits_for_the_end_is_dropped_with_its_group() -> None:
    rig = filled(believes_absence=False)
    rig.states.states[rig.key()] = KeptState(4, 4)
    leader = rig.leader()
    rig.manager.group_empty("g")
    rig.source().fill(b"3")
    rig.manager.on_high_watermark(rig.source())
    assert (leader.state, rig.manager.get(rig.key())) == (LeaderState.FENCED, None)
    assert rig.leader().is_active


def test_a_log_that_was_cut_cuts_the_state_that_waits_for_its_end() -> None:
    rig = filled(believes_absence=False)
    rig.states.states[rig.key()] = BEYOND["records in flight"]
    leader = rig.leader()
    rig.manager.on_truncated(rig.source())
    assert (leader.is_active, leader.core.known_until) == (True, 2)
    assert rig.states.calls[-1] == (
        "replace", rig.key(), 4, 0, (StateBatch(0, 0, 0, 2), StateBatch(1, 2, 2, 1))
    )  # fmt: skip


def test_a_log_that_was_cut_and_grew_again_cuts_the_state_where_it_was_cut() -> None:
    """The new records at the lost offsets were never delivered."""
    rig = filled(believes_absence=False)
    rig.states.states[rig.key()] = KeptState(4, 0, [StateBatch(0, 3, 2, 1)])
    rig.states.holds = True
    leader = rig.leader()
    rig.manager.on_truncated(rig.source())
    rig.source().fill(b"another 3")
    rig.states.answer()
    rig.states.holds = False
    rig.states.answer()
    assert (leader.is_active, leader.core.start_offset) == (True, 3)
    assert rig.acquire() == [(3, 3, 1)]


def test_what_is_in_flight_beyond_the_cut_is_loaded_again() -> None:
    rig = filled(believes_absence=False)
    assert rig.acquire() == [(0, 2, 1)]
    rig.acknowledge(0, 2)
    rig.states.states[rig.key()] = KeptState(1, 3)
    fresh, lost = rig.leader(1), rig.leader(0)
    rig.source().contents.truncate(2)
    rig.manager.on_truncated(rig.source())
    assert (lost.state, rig.leader() is lost, rig.leader(1) is fresh) == (LeaderState.FENCED, False, True)
    assert rig.leader().core.start_offset == 2
    rig.source().fill(b"another 2")
    assert rig.acquire() == [(2, 2, 1)]


def test_what_ends_before_the_cut_goes_on_and_forgets_what_it_has_read() -> None:
    rig = filled(believes_absence=False)
    rig.settings.share = rig.settings.share._replace(order_by_key=True)
    rig.source().fill(bytes(LEAST_BYTES))
    leader = rig.leader()
    read = rig.source().read(3, 100_000, upto=4)
    assert isinstance(read, ReadResult)
    rig.manager.kept_reads().put(rig.key(), read)
    assert rig.manager.kept_reads().known_until(rig.key()) == 3
    rig.source().contents.truncate(2)
    rig.manager.on_truncated(rig.source())
    assert (leader.is_active, rig.leader() is leader) == (True, True)
    assert rig.manager.kept_reads().known_until(rig.key()) == -1
