"""Membership in a share group: which request is due when, and the meaning of an answer (KIP-932). Sans-IO.

The member chooses its id and keeps it for its life. Epoch 0 joins, -1 leaves. An answer has the assignment only when
it changed or the member asked for it, so the last one received holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto
from typing import Final, NamedTuple

from shareq.client.share.session import TopicIdPartition
from shareq.protocol.errors import ErrorCode, error_of, is_retriable
from shareq.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from shareq.protocol.share import JOIN_EPOCH, LEAVE_EPOCH

EAGER_INTERVAL_MS: Final = 500
EAGER_HEARTBEATS: Final = 20

_REJOIN: Final = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH})
_MOVED: Final = frozenset({ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE})


class Verdict(Enum):
    """The driver's next step after an answer."""

    STEADY = auto()
    """Nothing until the next heartbeat is due."""
    AGAIN = auto()
    """Send another heartbeat at once (to join again)."""
    LATER = auto()
    """Try again after a pause."""
    MOVED = auto()
    """Look the coordinator up again, then try again after a pause."""
    REFUSED = auto()
    """The group does not take this member; trying again would not help."""


class ShareGroupMetadata(NamedTuple):
    """A member as a transaction names it that acknowledges the member's records."""

    group_id: str
    member_id: str
    member_epoch: int


class ShareMember:
    """One member. `assignment` is None until an answer has one, which may be an empty one."""

    __slots__ = ("_eager", "_rack", "_told", "assignment", "due_ms", "epoch", "group_id", "member_id", "topics")

    def __init__(self, group_id: str, member_id: str, topics: Sequence[str], rack: str | None = None) -> None:
        self.group_id = group_id
        self.topics = list(topics)
        self._rack = rack
        self._told: list[str] | None = None  # the topics that the coordinator knows, or was sent last
        self._eager = EAGER_HEARTBEATS
        self.member_id = member_id
        self.epoch = JOIN_EPOCH
        self.assignment: frozenset[TopicIdPartition] | None = None
        self.due_ms = 0
        """The time at which the next heartbeat is to be sent, on the driver's clock."""

    def request(self) -> ShareGroupHeartbeatRequest:
        """Return the next heartbeat: a full one to join, else only the epoch, and topics that are new."""
        before, self._told = self._told, self.topics
        if self.epoch == JOIN_EPOCH:
            return ShareGroupHeartbeatRequest(self.group_id, self.member_id, JOIN_EPOCH, self._rack, self.topics)
        topics = None if before is self.topics else self.topics
        return ShareGroupHeartbeatRequest(self.group_id, self.member_id, self.epoch, None, topics)

    def subscribe(self, topics: Sequence[str]) -> None:
        """Change to other topics from the next heartbeat on, which is due at once."""
        self.topics = list(topics)
        self.due_ms = 0

    def unanswered(self) -> None:
        """Note that the last request has no valid answer: its content is sent again."""
        self._told = None

    def leave_request(self) -> ShareGroupHeartbeatRequest:
        """Return the last heartbeat."""
        return ShareGroupHeartbeatRequest(self.group_id, self.member_id, LEAVE_EPOCH)

    def answered(self, answer: ShareGroupHeartbeatResponse, now_ms: int) -> Verdict:
        """Take in the answer to `request`."""
        error = error_of(answer.error_code)
        if error is not ErrorCode.NONE:
            self.unanswered()
        if error in _REJOIN:
            if self.epoch == JOIN_EPOCH:
                return Verdict.LATER
            self.epoch = JOIN_EPOCH
            self.due_ms = now_ms
            return Verdict.AGAIN
        if error in _MOVED:
            return Verdict.MOVED
        if error is not ErrorCode.NONE:
            return Verdict.LATER if is_retriable(error) else Verdict.REFUSED
        self.epoch = answer.member_epoch
        if self._told is None:
            self._told = self.topics
        if answer.assignment is not None:
            self.assignment = frozenset(
                (topic.topic_id, partition)
                for topic in answer.assignment.topic_partitions
                for partition in topic.partitions
            )
        self.due_ms = now_ms + self._interval(answer.heartbeat_interval_ms)
        return Verdict.STEADY

    def _interval(self, asked_ms: int) -> int:
        """Return the interval that the coordinator asks for, or less while a new member has no partition.

        Apache Kafka 4.3.1 initialises share partitions after a group's first heartbeat and assigns them with a later
        one, by default five seconds on.
        """
        if self.assignment or not self._eager:
            return asked_ms
        self._eager -= 1
        return min(asked_ms, EAGER_INTERVAL_MS)
