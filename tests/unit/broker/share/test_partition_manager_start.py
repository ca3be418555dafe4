"""The share-partition leader's shell on fakes of its ports: where a share partition begins."""

from __future__ import annotations

import pytest

from shareq.broker.share.core.effects import StateBatch
from shareq.broker.share.leader import LeaderState
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


def test_a_resolved_start_offset_is_written_once_before_anything_is_acquired() -> None:
    rig = filled()
    rig.states.states[rig.key()] = KeptState(1, -1)
    rig.settings.share = ShareGroupSettings(auto_offset_reset=AutoOffsetReset("earliest"))
    leader, waiter = rig.leader(), Waiter()
    rig.manager.park(waiter, [leader])
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
    """A power loss took the records; others will get their offsets."""
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
