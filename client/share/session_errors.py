"""The errors of share sessions and of their partitions, and the meaning of each for a member (KIP-932). Pure."""

from __future__ import annotations

from enum import Flag, auto
from typing import Final

from shareq.protocol.errors import ErrorCode, is_retriable


class Meaning(Flag):
    """The meanings of an error, of which several may apply. An error with none of them is permanent."""

    PASSES = auto()
    """A later fetch may succeed."""
    MOVED = auto()
    """The partition has another leader; the old one releases its acquired records."""
    KEPT_ENTRY = auto()
    """The broker keeps in the session what it found when the partition entered it: it has to enter again."""
    STILL_OPEN = auto()
    """The broker may hold the session. Replacing one releases nothing, so it is closed before another is opened."""
    LOCK_GONE = auto()
    """One of the locks that are acknowledged is no longer the member's. The broker undoes all of the partition's."""


_MOVED: Final = Meaning.PASSES | Meaning.MOVED

_MEANINGS: Final[dict[int, Meaning]] = {
    ErrorCode.NOT_LEADER_OR_FOLLOWER: _MOVED,
    ErrorCode.FENCED_LEADER_EPOCH: _MOVED,
    ErrorCode.LEADER_NOT_AVAILABLE: _MOVED,
    ErrorCode.KAFKA_STORAGE_ERROR: _MOVED,
    ErrorCode.INCONSISTENT_TOPIC_ID: _MOVED,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: _MOVED | Meaning.KEPT_ENTRY,
    ErrorCode.UNKNOWN_TOPIC_ID: _MOVED | Meaning.KEPT_ENTRY,
    ErrorCode.UNKNOWN_SERVER_ERROR: Meaning.PASSES,
    ErrorCode.FENCED_STATE_EPOCH: Meaning.PASSES,
    ErrorCode.SHARE_SESSION_NOT_FOUND: Meaning.PASSES,
    ErrorCode.SHARE_SESSION_LIMIT_REACHED: Meaning.PASSES,
    ErrorCode.INVALID_SHARE_SESSION_EPOCH: Meaning.PASSES | Meaning.STILL_OPEN,
    ErrorCode.INVALID_RECORD_STATE: Meaning.LOCK_GONE,
}


def meaning_of(error: int) -> Meaning:
    """Return the meaning of an error of ShareFetch or ShareAcknowledge. An error that is not listed here passes if
    Kafka calls it retriable.
    """
    known = _MEANINGS.get(error)
    if known is None:
        return Meaning.PASSES if is_retriable(error) else Meaning(0)
    return known
