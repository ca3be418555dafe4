from __future__ import annotations

import pytest

from shareq.client.share.session_errors import Meaning, meaning_of
from shareq.protocol.errors import ErrorCode

MOVED = Meaning.PASSES | Meaning.MOVED


@pytest.mark.parametrize(
    ("error", "meaning"),
    [
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, MOVED),
        (ErrorCode.FENCED_LEADER_EPOCH, MOVED),
        (ErrorCode.LEADER_NOT_AVAILABLE, MOVED),
        (ErrorCode.KAFKA_STORAGE_ERROR, MOVED),
        (ErrorCode.INCONSISTENT_TOPIC_ID, MOVED),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, MOVED | Meaning.KEPT_ENTRY),
        (ErrorCode.UNKNOWN_TOPIC_ID, MOVED | Meaning.KEPT_ENTRY),
        (ErrorCode.UNKNOWN_SERVER_ERROR, Meaning.PASSES),
        (ErrorCode.FENCED_STATE_EPOCH, Meaning.PASSES),
        (ErrorCode.SHARE_SESSION_NOT_FOUND, Meaning.PASSES),
        (ErrorCode.SHARE_SESSION_LIMIT_REACHED, Meaning.PASSES),
        (ErrorCode.INVALID_SHARE_SESSION_EPOCH, Meaning.PASSES | Meaning.STILL_OPEN),
        (ErrorCode.INVALID_RECORD_STATE, Meaning.LOCK_GONE),
        (ErrorCode.COORDINATOR_NOT_AVAILABLE, Meaning.PASSES),  # retriable in Kafka
        (ErrorCode.REQUEST_TIMED_OUT, Meaning.PASSES),
        (ErrorCode.GROUP_AUTHORIZATION_FAILED, Meaning(0)),
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, Meaning(0)),
        (ErrorCode.INVALID_REQUEST, Meaning(0)),
    ],
)
def test_an_error_means(error: ErrorCode, meaning: Meaning) -> None:
    assert meaning_of(error) == meaning
    assert meaning_of(int(error)) == meaning


def test_what_has_moved_passes() -> None:
    meanings = [meaning_of(error) for error in ErrorCode]
    assert all(Meaning.PASSES in each for each in meanings if each & (Meaning.MOVED | Meaning.STILL_OPEN))
