"""ConsumerGroupHeartbeat: requests that every group refuses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from shareq.coordinator.group.consumer.member import JOIN_EPOCH, LEAVE_EPOCH, LEAVE_STATIC_EPOCH
from shareq.coordinator.shard import RecordsTooLarge
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)

MEMBER_ID_FROM_CLIENT_VERSION: Final = 1
"""The first version in which members choose their ids (KIP-1082); before, the broker replaces an empty one."""


class Refused(Exception):
    """The refusal of a request: it gets this error, and nothing changes."""

    def __init__(self, error: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.error = error
        self.message = message

    @property
    def response(self) -> ConsumerGroupHeartbeatResponse:
        return refusal(self.error, self.message)


def refusal(error: ErrorCode, message: str) -> ConsumerGroupHeartbeatResponse:
    """Return an answer with an error only."""
    return ConsumerGroupHeartbeatResponse(error_code=error, error_message=message)


def check_size(request: ConsumerGroupHeartbeatRequest, most_bytes: int) -> None:
    """Check the names in the request, before any other work. Raises RecordsTooLarge if they are too long for a record
    of the log.
    """
    if sum(map(len, request.subscribed_topic_names or ())) > most_bytes:
        raise RecordsTooLarge


def check(request: ConsumerGroupHeartbeatRequest, version: int, assignors: Sequence[str]) -> None:
    """Check the request by itself. Raises Refused: INVALID_REQUEST, UNSUPPORTED_ASSIGNOR."""
    problem = _problem(request, version)
    if problem is not None:
        raise Refused(ErrorCode.INVALID_REQUEST, problem)
    if request.server_assignor is not None and request.server_assignor not in assignors:
        supported = ", ".join(assignors)
        message = f"There is no assignor {request.server_assignor} here, only {supported}."
        raise Refused(ErrorCode.UNSUPPORTED_ASSIGNOR, message)


def _problem(request: ConsumerGroupHeartbeatRequest, version: int) -> str | None:
    epoch = request.member_epoch
    needs_id = version >= MEMBER_ID_FROM_CLIENT_VERSION or epoch > JOIN_EPOCH or epoch == LEAVE_EPOCH
    if needs_id and not request.member_id.strip():
        return "The member id is empty."
    for what, text in (
        ("group id", request.group_id),
        ("instance id", request.instance_id),
        ("rack id", request.rack_id),
    ):
        if text is not None and not text.strip():
            return f"The {what} is empty."
    if epoch == JOIN_EPOCH:
        return _join_problem(request)
    if epoch == LEAVE_STATIC_EPOCH and request.instance_id is None:
        return "Only a member with an instance id can leave for a while."
    if epoch < LEAVE_STATIC_EPOCH:
        return f"There is no member epoch {epoch}."
    return None


def _join_problem(request: ConsumerGroupHeartbeatRequest) -> str | None:
    if request.rebalance_timeout_ms == -1:
        return "A member that joins has to give its rebalance timeout."
    if request.topic_partitions is None or request.topic_partitions:
        return "A member that joins owns no partitions, and has to say so."
    if request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
        return "A member that joins has to say what it subscribes to, be it nothing."
    return None
