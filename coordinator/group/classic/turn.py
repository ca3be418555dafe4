"""One operation on a classic group: its inputs, its records, and its answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from shareq.coordinator.group.classic.group import ClassicGroup, ClassicMember
from shareq.coordinator.group.counters import GroupCounters
from shareq.coordinator.group.deadlines import Deadlines
from shareq.coordinator.shard import CoordinatorRecord, CoordinatorResult, LateAnswer, LogRoom
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.join_group import JoinGroupResponse
from shareq.protocol.generated.sync_group import SyncGroupResponse
from shareq.protocol.primitives import Message

TimerKey = tuple[str, str, str]
"""The timer's name, the group's id, and the member's id, which is empty for a timer of the group."""

HEARTBEAT: Final = "heartbeat"
JOIN: Final = "join"
SYNC: Final = "sync"

_REASON_LENGTH: Final = 255

NEW_MEMBER_JOIN_TIMEOUT_MS: Final = 300_000
"""The longest time that a new member's JoinGroup waits for a rebalance; Apache Kafka has no property for it either."""


@dataclass(frozen=True, slots=True)
class ClassicGroupSettings:
    """The settings `group.min.session.timeout.ms`, `group.max.session.timeout.ms`, `group.initial.rebalance.delay.ms`
    and `group.max.size`, with Apache Kafka's defaults.
    """

    min_session_timeout_ms: int = 6_000
    max_session_timeout_ms: int = 1_800_000
    initial_rebalance_delay_ms: int = 3_000
    max_size: int = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Turn:
    """One operation. `now_ms` is monotonic, `wall_ms` the time of day. `timers` belong to all classic groups of the
    shard, `counters` to all groups of the coordinator; `records` and `answers` are this operation's, `room` says how
    much it may append.
    """

    settings: ClassicGroupSettings
    timers: Deadlines[TimerKey]
    counters: GroupCounters
    now_ms: int
    wall_ms: int
    room: LogRoom
    records: list[CoordinatorRecord] = field(default_factory=list)
    answers: list[LateAnswer] = field(default_factory=list)

    def result(self) -> CoordinatorResult[None]:
        return CoordinatorResult(None, tuple(self.records), tuple(self.answers))

    # -- timers

    def expect_heartbeat(self, group: ClassicGroup, member: ClassicMember, timeout_ms: int | None = None) -> None:
        """Set the member's session timer to its session timeout, or to `timeout_ms`, from now."""
        timeout_ms = member.session_timeout_ms if timeout_ms is None else timeout_ms
        self.timers.set((HEARTBEAT, group.group_id, member.member_id), self.now_ms + timeout_ms)

    def forget_heartbeat(self, group: ClassicGroup, member_id: str) -> None:
        self.timers.clear((HEARTBEAT, group.group_id, member_id))

    def set_timer(self, what: str, group: ClassicGroup, after_ms: int) -> None:
        """Set the group's timer `what`, JOIN or SYNC. A group has one of each."""
        self.timers.set((what, group.group_id, ""), self.now_ms + after_ms)

    def clear_timer(self, what: str, group: ClassicGroup) -> None:
        self.timers.clear((what, group.group_id, ""))

    # -- answers

    def answer(self, token: int, response: Message) -> None:
        self.answers.append(LateAnswer(token, response))

    def answer_join(self, group: ClassicGroup, member_id: str, response: JoinGroupResponse) -> None:
        token = group.joining.pop(member_id, None)
        if token is not None:
            self.answer(token, response)

    def answer_sync(self, group: ClassicGroup, member_id: str, response: SyncGroupResponse) -> bool:
        """Answer the member's SyncGroup; return False if none waits."""
        token = group.syncing.pop(member_id, None)
        if token is not None:
            self.answer(token, response)
        return token is not None

    def await_join(self, group: ClassicGroup, member_id: str, token: int) -> None:
        """Let the member's JoinGroup wait for the rebalance.

        An earlier one that still waits is answered REBALANCE_IN_PROGRESS: the client has repeated it, and every request
        is answered.
        """
        self.answer_join(group, member_id, join_refusal(ErrorCode.REBALANCE_IN_PROGRESS, member_id))
        group.joining[member_id] = token

    def await_sync(self, group: ClassicGroup, member_id: str, token: int) -> None:
        """Let the member's SyncGroup wait for the assignment; see `await_join`."""
        self.answer_sync(group, member_id, sync_refusal(ErrorCode.REBALANCE_IN_PROGRESS))
        group.syncing[member_id] = token

    # -- members

    def remove_member(self, group: ClassicGroup, member_id: str) -> None:
        """Remove a member. Its waiting requests are answered UNKNOWN_MEMBER_ID, so that it joins again if it is still
        alive.
        """
        self.answer_join(group, member_id, join_refusal(ErrorCode.UNKNOWN_MEMBER_ID))
        self.answer_sync(group, member_id, sync_refusal(ErrorCode.UNKNOWN_MEMBER_ID))
        self.forget_heartbeat(group, member_id)
        group.remove(member_id)


def join_refusal(error: ErrorCode, member_id: str = "") -> JoinGroupResponse:
    """Return a JoinGroup answer with an error."""
    return JoinGroupResponse(error_code=error, protocol_name=None, member_id=member_id)


def sync_refusal(error: ErrorCode) -> SyncGroupResponse:
    """Return a SyncGroup answer with an error."""
    return SyncGroupResponse(error_code=error)


def loggable_reason(reason: str | None) -> str:
    """Return a client's reason (KIP-800) for the log, as a single line of limited length."""
    return repr(reason[:_REASON_LENGTH]) if reason else "not provided"


def member_error(group: ClassicGroup, member_id: str, instance_id: str | None) -> ErrorCode:
    """Return the error for ids that are not a member's, or NONE.

    Errors: UNKNOWN_MEMBER_ID; FENCED_INSTANCE_ID if the instance id now belongs to another member id.
    """
    if instance_id is not None:
        known = group.static_members.get(instance_id)
        if known is not None and known != member_id:
            return ErrorCode.FENCED_INSTANCE_ID
        if known is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
    return ErrorCode.NONE if member_id in group.members else ErrorCode.UNKNOWN_MEMBER_ID
