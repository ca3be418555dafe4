"""The results of the share coordinator's operations, and its errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from shareq.coordinator.share.delays import NO_DELAYS, Delay
from shareq.coordinator.share.share_state import UNSET
from shareq.coordinator.share.staged import NONE_STAGED, Staged
from shareq.coordinator.share.state_batches import StateBatch
from shareq.protocol.errors import ApiError, ErrorCode


@dataclass(frozen=True, slots=True)
class ReadResult:
    """A share partition's state. `batches` and `delays` (those in force) are ascending, do not overlap, and have no
    offset below `start_offset`. `staged` are the acknowledgements that wait for the end of a transaction.
    """

    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    state_epoch: int = 0
    start_offset: int = UNSET
    batches: tuple[StateBatch, ...] = ()
    delays: tuple[Delay, ...] = NO_DELAYS
    staged: Sequence[Staged] = NONE_STAGED


@dataclass(frozen=True, slots=True)
class SummaryResult:
    """A summary of a state.

    `first_offset` is the persisted start offset, even if `start_offset`, as in Apache Kafka, is -1: that of a share
    partition that has acquired records, but no finished one. `end` is the end of the partition's log, if another node
    has reported it; otherwise UNSET.
    """

    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    state_epoch: int = 0
    leader_epoch: int = 0
    start_offset: int = UNSET
    delivery_complete_count: int = UNSET
    first_offset: int = UNSET
    end: int = UNSET


NEGATIVE_PARTITION: Final = ApiError(ErrorCode.INVALID_REQUEST, "The partition index is negative.")
NEGATIVE_LEADER_EPOCH: Final = ApiError(ErrorCode.INVALID_REQUEST, "The leader epoch cannot be a negative number.")
NEGATIVE_STATE_EPOCH: Final = ApiError(ErrorCode.INVALID_REQUEST, "The state epoch cannot be a negative number.")
READ_UNINITIALIZED: Final = ApiError(
    ErrorCode.INVALID_REQUEST, "The share partition was not initialised: there is nothing to read."
)
WRITE_UNINITIALIZED: Final = ApiError(
    ErrorCode.INVALID_REQUEST, "The share partition was not initialised: it cannot be written."
)
BAD_START_OFFSET: Final = ApiError(ErrorCode.INVALID_REQUEST, "The start offset is neither an offset nor -1.")
BAD_BATCH: Final = ApiError(
    ErrorCode.INVALID_REQUEST,
    "A state batch needs first offset <= last offset, a delivery state of 0, 2, 3 or 4, and no negative number.",
)
FENCED_LEADER_EPOCH: Final = ApiError(
    ErrorCode.FENCED_LEADER_EPOCH, "The leader epoch in the request is older than the epoch on the broker."
)
FENCED_STATE_EPOCH: Final = ApiError(
    ErrorCode.FENCED_STATE_EPOCH, "The coordinator rejected the request because the state epoch did not match."
)
UNKNOWN_PARTITION: Final = ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The topic or the partition does not exist.")
TOO_LARGE: Final = ApiError(
    ErrorCode.UNKNOWN_SERVER_ERROR,
    "The share partition's state has too many separate ranges of offsets to fit into one record.",
)
