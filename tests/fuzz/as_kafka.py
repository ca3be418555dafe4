"""UNKNOWN_SERVER_ERROR as a deliberate answer, where Apache Kafka gives it, so that all others count as bugs.

Each has a place in the product that answers so, without a line in the log, which a bug would cause.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from shareq.protocol.generated.join_group import JoinGroupRequest
from shareq.protocol.generated.offset_commit import OffsetCommitRequest
from shareq.protocol.generated.share_acknowledge import ShareAcknowledgeRequest, ShareAcknowledgeResponse
from shareq.protocol.generated.share_fetch import ShareFetchRequest, ShareFetchResponse
from shareq.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest
from shareq.protocol.generated.sync_group import SyncGroupRequest
from shareq.protocol.generated.txn_offset_commit import TxnOffsetCommitRequest
from shareq.protocol.primitives import Message

ACQUIRE_MODES: Final = (0, 1)
LARGE_BYTES: Final = 100_000  # of a request whose content may not fit into a record

IsOdd = Callable[[str, bytes, int], bool]
"""A function that returns True if the state of a group's share partition (by topic id, partition) was not made by its
leader: it does not exist yet, or requests have written or removed it.
"""


def fails_as_in_kafka(request: Message, response: Message, size: int, state_is_odd: IsOdd) -> bool:
    match request:
        case ShareFetchRequest():
            if request.share_acquire_mode not in ACQUIRE_MODES or request.max_bytes < 0:
                return True
            return all(state_is_odd(request.group_id or "", *place) for place in _failed(response))
        case ShareAcknowledgeRequest():
            return all(state_is_odd(request.group_id or "", *place) for place in _failed(response))
        case JoinGroupRequest() | SyncGroupRequest() | ConsumerGroupHeartbeatRequest() | ShareGroupHeartbeatRequest():
            return size > LARGE_BYTES
        case OffsetCommitRequest() | TxnOffsetCommitRequest():
            return _committed_bytes(request) > LARGE_BYTES
        case _:
            return False


def _committed_bytes(request: OffsetCommitRequest | TxnOffsetCommitRequest) -> int:
    """Return a lower bound of the records' bytes: each has group, topic and metadata."""
    return sum(
        len(request.group_id) + len(topic.name) + len(partition.committed_metadata or "")
        for topic in request.topics
        for partition in topic.partitions
    )


def _failed(response: Message) -> Iterator[tuple[bytes, int]]:
    assert isinstance(response, (ShareFetchResponse, ShareAcknowledgeResponse))
    for topic in response.responses:
        for partition in topic.partitions:
            errors = (partition.error_code, getattr(partition, "acknowledge_error_code", 0))
            if ErrorCode.UNKNOWN_SERVER_ERROR in errors:
                yield topic.topic_id, partition.partition_index
