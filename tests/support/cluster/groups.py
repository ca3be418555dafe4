"""Classic groups: JoinGroup, SyncGroup, Heartbeat, LeaveGroup, DescribeGroups.

The state machine is shareq's (`coordinator/group/classic_groups.py`), which interop tests compare with Apache Kafka's:
an unchanged member gets its old generation, a changed one begins a rebalance, the first members wait for each other.
This module adds its surroundings: the coordinating broker, timers, and what a new coordinator loads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shareq.broker.foundation.environment import TimerHandle
from shareq.broker.foundation.pending import Pending
from shareq.coordinator.group.classic.describe import classic_group_error_entry
from shareq.coordinator.group.classic.rpc.join import Joining
from shareq.coordinator.group.classic.turn import ClassicGroupSettings
from shareq.coordinator.group.classic_groups import ClassicGroups
from shareq.coordinator.group.counters import GroupCounters
from shareq.coordinator.shard import AmpleRoom, CoordinatorResult, at_once
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.describe_groups import (
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from shareq.protocol.generated.group_metadata import GroupMetadataKey, GroupMetadataValue
from shareq.protocol.generated.heartbeat import HeartbeatRequest, HeartbeatResponse
from shareq.protocol.generated.join_group import JoinGroupRequest, JoinGroupResponse
from shareq.protocol.generated.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from shareq.protocol.generated.sync_group import SyncGroupRequest, SyncGroupResponse
from shareq.protocol.primitives import Message
from tests.support.cluster.broker import Led
from tests.support.cluster.call import Answer, Call
from tests.support.cluster.coordinators import CoordinatorKind
from tests.support.cluster.rights import Operation, Resource

if TYPE_CHECKING:
    from tests.support.cluster.cluster import SimulatedCluster
    from tests.support.cluster.controller import LogKey

_SEVERAL_FROM = 3


class _Slot:
    """The groups of one partition, as its leader of one epoch has them. `written` outlives the leader."""

    def __init__(self, cluster: SimulatedCluster, led: Led, written: dict[str, GroupMetadataValue]) -> None:
        self._cluster = cluster
        self.epoch = led.state.epoch
        self._leader = led.state.leader
        self.written = written
        clock, settings = cluster.env.clock, cluster.settings
        self.groups = ClassicGroups(
            {},
            clock.wall_ms,
            ClassicGroupSettings(
                settings.min_session_timeout_ms, settings.max_session_timeout_ms, settings.initial_rebalance_delay_ms
            ),
            GroupCounters(),
            AmpleRoom(),
        )
        self._tokens: dict[int, tuple[Pending[Message | None], Message]] = {}
        self._last_token = 0
        self._is_over = False
        self._timer: TimerHandle | None = None
        for group_id, value in written.items():
            self.groups.replay(GroupMetadataKey(group_id), value)
        at_once(self.groups.on_loaded(clock.now_ms()))
        self._set_timer()

    def waiting(self, refusal: Message) -> tuple[int, Pending[Message | None]]:
        """Return a token and the pending answer, completed with `refusal` when another broker coordinates."""
        self._last_token += 1
        pending: Pending[Message | None] = Pending()
        self._tokens[self._last_token] = pending, refusal
        return self._last_token, pending

    def apply(self, result: CoordinatorResult[object]) -> None:
        """Persist the result for the next coordinator, and answer waiting requests."""
        for record in result.records:
            if isinstance(record.key, GroupMetadataKey):
                value = record.value
                if value is None:
                    self.written.pop(record.key.group, None)
                else:
                    assert isinstance(value, GroupMetadataValue)
                    self.written[record.key.group] = value
        for answer in result.answers:
            self._tokens.pop(answer.token)[0].complete(answer.response)
        self._set_timer()

    def resign(self) -> None:
        """Close the slot: another broker coordinates, and waiting requests are refused."""
        self._is_over = True
        waiting, self._tokens = self._tokens, {}
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for pending, refusal in waiting.values():
            pending.complete(refusal)

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        due = self.groups.next_deadline_ms()
        if due is not None:
            self._timer = self._cluster.env.clock.call_at(due, self._due)

    def _due(self) -> None:
        self._timer = None
        self._cluster.when_running(self._leader, self._expire)

    def _expire(self) -> None:
        if not self._is_over:  # a broker that was paused may go on when another one coordinates
            self.apply(self.groups.on_deadline(self._cluster.env.clock.now_ms()))


class Groups:
    def __init__(self, cluster: SimulatedCluster) -> None:
        self._cluster = cluster
        self._slots: dict[LogKey, _Slot] = {}
        self._written: dict[LogKey, dict[str, GroupMetadataValue]] = {}

    def slot(self, call: Call, group_id: str, right: Operation = Operation.READ) -> _Slot | ErrorCode:
        """Return the group's partition, loading it if this broker has not led it before in this epoch."""
        if error := self._cluster.rights.error(Resource.GROUP, group_id, right):
            return error
        led = self._cluster.coordinators.led(call.broker, CoordinatorKind.GROUP, group_id)
        if isinstance(led, ErrorCode):
            return led
        if call.broker.is_stranded(led.key):
            return ErrorCode.NOT_COORDINATOR  # what it would write is never replicated
        slot = self._slots.get(led.key)
        if slot is None or slot.epoch != led.state.epoch:
            if slot is not None:
                slot.resign()
            written = self._written.setdefault(led.key, {})
            slot = self._slots[led.key] = _Slot(self._cluster, led, written)
        return slot

    def changed(self) -> None:
        """Close slots whose broker no longer coordinates: their state in memory is lost."""
        image = self._cluster.controller.image
        for key, slot in list(self._slots.items()):
            topic = image.by_id(key[0])
            if topic is None or topic.partitions[key[1]].epoch != slot.epoch:
                del self._slots[key]
                slot.resign()


def join_group(call: Call, request: JoinGroupRequest) -> Answer:
    """Add a member, or let it rejoin; the answer is sent when the generation begins."""
    groups, clock = call.broker.cluster.groups, call.broker.cluster.env.clock
    slot = groups.slot(call, request.group_id)
    if isinstance(slot, ErrorCode):
        return JoinGroupResponse(error_code=slot, member_id=request.member_id)
    refusal = JoinGroupResponse(error_code=ErrorCode.NOT_COORDINATOR, member_id=request.member_id)
    token, pending = slot.waiting(refusal)
    new_id = call.broker.cluster.env.rng.randbytes(8).hex()
    slot.apply(slot.groups.join(Joining(request, call.version, call.client, token, new_id), clock.now_ms()))
    return pending


def sync_group(call: Call, request: SyncGroupRequest) -> Answer:
    groups, clock = call.broker.cluster.groups, call.broker.cluster.env.clock
    slot = groups.slot(call, request.group_id)
    if isinstance(slot, ErrorCode):
        return SyncGroupResponse(error_code=slot)
    token, pending = slot.waiting(SyncGroupResponse(error_code=ErrorCode.NOT_COORDINATOR))
    slot.apply(slot.groups.sync(request, token, clock.now_ms()))
    return pending


def heartbeat(call: Call, request: HeartbeatRequest) -> Answer:
    groups, clock = call.broker.cluster.groups, call.broker.cluster.env.clock
    slot = groups.slot(call, request.group_id)
    if isinstance(slot, ErrorCode):
        return HeartbeatResponse(error_code=slot)
    result = slot.groups.heartbeat(request, clock.now_ms())
    slot.apply(result)
    return result.response


def leave_group(call: Call, request: LeaveGroupRequest) -> Answer:
    groups, clock = call.broker.cluster.groups, call.broker.cluster.env.clock
    slot = groups.slot(call, request.group_id)
    if isinstance(slot, ErrorCode):
        return LeaveGroupResponse(error_code=slot)
    if call.version < _SEVERAL_FROM:
        request = LeaveGroupRequest(request.group_id, members=[MemberIdentity(request.member_id)])
    result = slot.groups.leave(request, clock.now_ms())
    slot.apply(result)
    if call.version < _SEVERAL_FROM:
        error = result.response.error_code or result.response.members[0].error_code
        return LeaveGroupResponse(error_code=error)
    return result.response


def describe_groups(call: Call, request: DescribeGroupsRequest) -> Answer:
    groups = call.broker.cluster.groups
    rows: list[DescribedGroup] = []
    for group_id in request.groups:
        slot = groups.slot(call, group_id, Operation.DESCRIBE)
        if isinstance(slot, ErrorCode):
            rows.append(classic_group_error_entry(group_id, slot))
        else:
            rows.append(slot.groups.describe(group_id, call.version).response)
    return DescribeGroupsResponse(groups=rows)
