"""A committed offset."""

from __future__ import annotations

from typing import Final, NamedTuple

from shareq.protocol.primitives import ZERO_UUID

NO_EXPIRY: Final = -1
NO_PRODUCER: Final = -1
"""The producer id of a commit that belongs to no transaction."""


class CommittedOffset(NamedTuple):
    """A group's committed offset in a partition.

    `offset` is the next one to consume; `leader_epoch` is that of the last consumed record, -1 if unknown. `commit_ms`
    and `expire_ms` are times of day, the latter only for commits that name their own retention (OffsetCommit 2 to 4),
    otherwise NO_EXPIRY. `topic_id` is zero if the record is of an earlier release or has an expiry. `record_offset`:
    the offset of the commit's record in the coordinator's log.
    """

    offset: int
    leader_epoch: int = -1
    metadata: str = ""
    commit_ms: int = 0
    expire_ms: int = NO_EXPIRY
    topic_id: bytes = ZERO_UUID
    record_offset: int = -1
