"""Audits of an idle broker: its memory must agree with its logs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from shareq.broker.share.core.partition import RangeView, SharePartition
from shareq.broker.share.leader import LeaderState
from shareq.coordinator.share.share_state import ShareState
from shareq.coordinator.share.state_batches import combine
from shareq.protocol.errors import ErrorCode
from shareq.protocol.share import TERMINAL, RecordState
from tests.simulation.audit_coordinators import check_groups, check_nothing_left, share_states
from tests.simulation.ledger import GroupLedger, InvariantBroken
from tests.simulation.reading import contents
from tests.simulation.replayed import ReplayedGroups
from tests.simulation.topics import Slot
from tests.simulation.waits import check_persisted

if TYPE_CHECKING:
    from tests.simulation.group import Group
    from tests.simulation.world import World


_OVER = TERMINAL | {RecordState.ARCHIVING}  # no member gets it any more


def audit(world: World, replayed: Sequence[ReplayedGroups]) -> None:
    """Check all invariants of an idle broker. `replayed`: the group coordinator's shards beside their logs."""
    world.seen["audits"] += 1
    for slot in world.topics.live:
        _check_log(world, slot)
    states = share_states(world)
    check_groups(world, replayed, states)
    for group in world.groups:
        if group.administered:
            continue  # by an operation that failed: its outcome is known after the next start
        for slot in world.initialized(group):
            state = states.get(world.key(group, slot))
            if state is not None:
                group.ledger.on_persisted_start(slot.index, state.start_offset)
            _check_leader(world, group, slot, state)
    check_nothing_left(world)


# -- the topics


def _check_log(world: World, slot: Slot) -> None:
    log = world.log(slot)
    if log.refusal is ErrorCode.NONE:  # else offline after a failed sync; the next start shows it
        reported: list[tuple[int, int]] = []

        def skip(offset: int, error: ErrorCode) -> int:
            reported.append((offset, world.storage.skip(slot, log, offset, error)))
            return reported[-1][1]

        found = contents(log, skip)
        world.topics.records.on_read(slot.index, log.log_start_offset, log.high_watermark, found, reported)
        world.storage.check_end(slot, log)


# -- the leaders


def _check_leader(world: World, group: Group, slot: Slot, state: ShareState | None) -> None:
    leader, index = world.services.share.partitions.get(world.key(group, slot)), slot.index
    if leader is None or leader.state is not LeaderState.ACTIVE:
        return
    core = leader.core
    ranges = core.snapshot()
    check_locks(ranges, world.clock.now_ms(), index)
    _check_counts(core, ranges, index)
    if state is None:
        return
    if core.start_offset < state.start_offset:
        raise InvariantBroken(f"slot {index} starts at {core.start_offset}, persisted {state.start_offset}")
    durable = {
        offset: batch.delivery_state
        for batch in combine(state.batches, state.start_offset)
        for offset in range(batch.first_offset, batch.last_offset + 1)
    }
    _check_acknowledged(core, ranges, durable, index)
    check_persisted(world, ranges, state, index)
    passed = range(max(state.start_offset, leader.log.log_start_offset), core.start_offset)
    _check_passed(group.ledger, durable, passed, index)


def check_locks(ranges: list[RangeView], now_ms: int, index: int) -> None:
    for view in ranges:
        if view.state is RecordState.ACQUIRED and (view.deadline_ms is None or view.deadline_ms <= now_ms):
            raise InvariantBroken(f"slot {index}: at {now_ms} there is still {view}")


def _check_counts(core: SharePartition, ranges: list[RangeView], index: int) -> None:
    for view in ranges:
        if view.pending:
            raise InvariantBroken(f"slot {index}: the outcome of a state write was never reported to {view}")
    terminal = sum(view.last_offset - view.first_offset + 1 for view in ranges if view.state in TERMINAL)
    if core.delivery_complete_count != terminal:
        raise InvariantBroken(
            f"slot {index}: delivery complete count {core.delivery_complete_count}, there are {terminal}"
        )


def _check_acknowledged(core: SharePartition, ranges: list[RangeView], durable: Mapping[int, int], index: int) -> None:
    """Check that an acknowledgement's effect is durable. (Expiry and the log start act in memory first.)"""
    for view in ranges:
        if view.state is not RecordState.ACKNOWLEDGED:
            continue
        for offset in range(view.first_offset, view.last_offset + 1):
            if offset >= core.start_offset and durable.get(offset) != RecordState.ACKNOWLEDGED:
                raise InvariantBroken(f"{(index, offset)} is acknowledged in memory, persisted {durable}")


def _check_passed(ledger: GroupLedger, durable: Mapping[int, int], passed: range, index: int) -> None:
    """Check that the start offset in memory has passed no record whose end was answered but is not durable. The next
    crash would bring such a record back.
    """
    for offset in passed:
        if (index, offset) in ledger.finished and durable.get(offset) not in _OVER:
            raise InvariantBroken(f"{(index, offset)} is finished and passed, persisted is {durable.get(offset)}")
