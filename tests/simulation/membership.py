"""The ledger of a share group's members, kept apart from the broker: every heartbeat's answer is entered.

The invariants: epochs of the group and its members never go back; a restart finds every member with its answered epoch
and partitions; no member expires before its session ends, or stays much longer; a refused heartbeat has a reason, and
the matching error.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from shareq.coordinator.group.assignment import Assignment
from shareq.coordinator.group.share.group import ShareGroup
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatResponse
from tests.simulation.ledger import InvariantBroken

Partitions = frozenset[tuple[bytes, int]]  # topic id, partition

JOIN, LEAVE = 0, -1

# What a heartbeat, or another operation on groups, is answered when the log could not be written.
LOG_FAILED: Final = frozenset(
    (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.KAFKA_STORAGE_ERROR)
)
GONE: Final = frozenset((ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.GROUP_ID_NOT_FOUND))


def partitions_of(assignment: Assignment) -> Partitions:
    return frozenset((topic_id, partition) for topic_id, found in assignment.items() for partition in found)


def expected_error(group: ShareGroup | None, member_id: str, epoch: int, max_size: int) -> ErrorCode:
    """Return the required answer to a heartbeat, by the group's state on arrival."""
    members: Collection[str] = () if group is None else group.members
    if epoch == LEAVE:
        if group is None:
            return ErrorCode.GROUP_ID_NOT_FOUND
        return ErrorCode.NONE if member_id in members else ErrorCode.UNKNOWN_MEMBER_ID
    if group is None:
        return ErrorCode.NONE if epoch == JOIN else ErrorCode.GROUP_ID_NOT_FOUND
    if member_id not in members:
        if len(members) >= max_size:
            return ErrorCode.GROUP_MAX_SIZE_REACHED
        return ErrorCode.NONE if epoch == JOIN else ErrorCode.UNKNOWN_MEMBER_ID
    current = group.current_of(member_id)
    known = (JOIN, current.member_epoch, current.previous_member_epoch)
    return ErrorCode.NONE if epoch in known else ErrorCode.FENCED_MEMBER_EPOCH


@dataclass
class Known:
    """The last answer to a member. `certain`: nothing it sent since has an unknown outcome."""

    epoch: int
    assigned: Partitions
    certain: bool = True
    leaving: bool = False  # it said so, and the outcome is not known
    joining: bool = False  # the same, or an answer was lost; what it is assigned since it has not received


@dataclass
class Session:
    may_go_ms: int
    must_go_ms: int


class MembershipLedger:
    """One share group's members, from its creation to its deletion."""

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.group_epoch = 0
        self.members: dict[str, Known] = {}
        self.sessions: dict[str, Session] = {}
        self._under_way: Counter[str] = Counter()  # heartbeats that have no answer yet, by member
        self._leaves_under_way: Counter[str] = Counter()  # those of them that leave
        self._shard: object = None

    def successor(self) -> MembershipLedger:
        ledger = MembershipLedger(self.group_id)
        ledger._under_way, ledger._leaves_under_way = self._under_way, self._leaves_under_way
        return ledger

    # -- heartbeats

    def on_sent(self, member_id: str, epoch: int, deadline_ms: int) -> None:
        """Record a valid heartbeat: if it takes effect, the session lasts to `deadline_ms`."""
        known = self.members.get(member_id)
        if known is not None:
            known.certain = False
            known.leaving = known.leaving or epoch == LEAVE
            known.joining = known.joining or epoch == JOIN
        session = self.sessions.setdefault(member_id, Session(0, 0))
        session.must_go_ms = max(session.must_go_ms, deadline_ms)
        self._under_way[member_id] += 1
        self._leaves_under_way[member_id] += epoch == LEAVE

    def on_answered(
        self,
        member_id: str,
        epoch: int,
        deadline_ms: int,
        response: ShareGroupHeartbeatResponse,
        group: ShareGroup | None,
    ) -> None:
        """Record the answer to an accepted heartbeat with `epoch`; `group` is the live one."""
        self._ended(member_id, epoch)
        if epoch == LEAVE:
            self.members.pop(member_id, None)
            self.sessions.pop(member_id, None)
            return
        session = self.sessions.setdefault(member_id, Session(0, deadline_ms))
        session.may_go_ms = max(session.may_go_ms, deadline_ms)
        if response.member_id != member_id:
            raise InvariantBroken(f"{member_id} was answered as {response.member_id}")
        if epoch == JOIN and response.assignment is None:
            raise InvariantBroken(f"{member_id} joined and did not get its assignment")
        known = self.members.get(member_id)
        self.group_epoch = max(self.group_epoch, response.member_epoch)
        if known is not None and response.member_epoch < known.epoch:
            raise InvariantBroken(f"{member_id}: member epoch {known.epoch} became {response.member_epoch}")
        if group is not None and response.member_epoch > group.group_epoch:
            raise InvariantBroken(f"{member_id} is at epoch {response.member_epoch}, the group at {group.group_epoch}")
        reported = known.assigned if known is not None else frozenset()
        if response.assignment is not None:
            reported = frozenset((t.topic_id, p) for t in response.assignment.topic_partitions for p in t.partitions)
        joining = known is not None and known.joining and response.assignment is None
        certain = not self._under_way[member_id] and not joining
        # The coordinator answers in the order of its log, when it has taken later requests: a leave that was sent after
        # this heartbeat has perhaps happened, also of a member that was not known when it was sent.
        leaving = (known is not None and known.leaving) or self._leaves_under_way[member_id] > 0
        self.members[member_id] = Known(response.member_epoch, reported, certain, leaving, joining)
        if certain and group is not None and member_id in group.members:
            self._check_member(group, member_id)

    def on_refused(self, member_id: str, epoch: int) -> None:
        """Record the refusal of a valid heartbeat with `epoch`."""
        self._ended(member_id, epoch)

    def _ended(self, member_id: str, epoch: int) -> None:
        self._under_way[member_id] -= 1
        self._leaves_under_way[member_id] -= epoch == LEAVE
        if self._leaves_under_way[member_id] < 0 or self._under_way[member_id] < self._leaves_under_way[member_id]:
            raise InvariantBroken(f"{member_id} was answered at epoch {epoch}, and sent nothing")

    def on_gone(self, member_id: str) -> None:
        self.members.pop(member_id, None)

    def on_broker_start(self, now_ms: int, timeout_ms: int) -> None:
        """Give every member a full session; heartbeats in progress have no answer."""
        for member_id, known in self.members.items():  # its session was over when the broker died
            known.joining = known.joining or self._under_way[member_id] > 0
            session = self.sessions.get(member_id)
            known.leaving = known.leaving or session is None or now_ms >= session.may_go_ms
        self._under_way.clear()
        self._leaves_under_way.clear()
        self.sessions = {
            member_id: Session(now_ms + timeout_ms, now_ms + timeout_ms)
            for member_id in self.sessions.keys() | self.members.keys()
        }

    # -- looking inside

    def check(self, group: ShareGroup | None, shard: object, now_ms: int, timeout_ms: int) -> None:
        if shard is not self._shard:  # its log was replayed: everybody has a whole session again
            self._shard = shard
            for session in self.sessions.values():
                session.must_go_ms = now_ms + timeout_ms
        if group is None:
            if self.group_epoch:
                raise InvariantBroken(f"group {self.group_id} is gone, it was at epoch {self.group_epoch}")
            return
        if group.group_epoch < self.group_epoch:
            raise InvariantBroken(f"epoch of group {self.group_id}: {self.group_epoch} became {group.group_epoch}")
        if group.assignment_epoch > group.group_epoch:
            raise InvariantBroken(f"group {self.group_id}: assignment epoch {group.assignment_epoch} of the future")
        for member_id in list(self.members):
            if member_id in group.members:
                self._check_member(group, member_id)
            else:
                self._check_gone(member_id, now_ms)
        for member_id in group.members:
            member_session = self.sessions.setdefault(member_id, Session(now_ms, now_ms + timeout_ms))
            if now_ms > member_session.must_go_ms:
                raise InvariantBroken(f"{member_id} was silent, and is a member still at {now_ms}")

    def on_durable(self, group: ShareGroup) -> None:
        self.group_epoch = max(self.group_epoch, group.group_epoch)

    def _check_member(self, group: ShareGroup, member_id: str) -> None:
        known, current = self.members[member_id], group.current_of(member_id)
        if not known.epoch <= current.member_epoch <= group.group_epoch:
            raise InvariantBroken(
                f"{member_id} was answered epoch {known.epoch}, it has {current.member_epoch}, "
                f"the group {group.group_epoch}"
            )
        if known.certain and known.epoch == current.member_epoch:
            assigned = partitions_of(current.assigned)
            if assigned != known.assigned:
                raise InvariantBroken(f"{member_id} was answered {sorted(known.assigned)}, it has {sorted(assigned)}")

    def _check_gone(self, member_id: str, now_ms: int) -> None:
        known = self.members.pop(member_id)
        session = self.sessions.pop(member_id, None)
        if not known.leaving and session is not None and now_ms < session.may_go_ms:
            raise InvariantBroken(
                f"{member_id} is gone at {now_ms}: it did not leave, and had time until {session.may_go_ms}"
            )
