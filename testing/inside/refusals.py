"""Answers that refuse a request with an error code, in the field that such answers have for it."""

from __future__ import annotations

import copy
from typing import Final

from shareq.broker.dispatch.route import BoundRoute
from shareq.broker.foundation.pending import Pending, completed
from shareq.protocol.errors import ErrorCode, text_of
from shareq.protocol.generated import share_acknowledge as acks
from shareq.protocol.generated import share_fetch as fetches
from shareq.protocol.generated.fetch import FetchRequest, FetchResponse
from shareq.protocol.primitives import Message

_OF_REQUESTS: Final = frozenset(
    {
        ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.UNSUPPORTED_VERSION,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
        ErrorCode.INVALID_FETCH_SESSION_EPOCH,
        ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
        ErrorCode.SHARE_SESSION_NOT_FOUND,
        ErrorCode.INVALID_SHARE_SESSION_EPOCH,
        ErrorCode.SHARE_SESSION_LIMIT_REACHED,
    }
)
"""The errors that Fetch, ShareFetch and ShareAcknowledge return for the whole request; all others are a partition's."""


def can_refuse(bound: BoundRoute) -> bool:
    """Return True if an answer of this kind has a field for an error."""
    return bound.route.failed is not None


def must_ask_again(request: Message, code: ErrorCode) -> bool:
    """Return True if the request does not name the refused partitions: the client has to name them again first."""
    return isinstance(request, FetchRequest) and request.session_id != 0 and code not in _OF_REQUESTS


def refused(bound: BoundRoute, request: Message, code: ErrorCode) -> Pending[Message]:
    """Return the answer to a refused request, which has no effect, except that a share session continues."""
    if isinstance(request, fetches.ShareFetchRequest) and code not in _OF_REQUESTS:
        return _share_fetch(bound, request, code)
    if isinstance(request, acks.ShareAcknowledgeRequest) and code not in _OF_REQUESTS:
        return _share_acknowledge(bound, request, code)
    assert bound.route.failed is not None
    response = bound.route.failed(request, code)
    if isinstance(response, FetchResponse) and code not in _OF_REQUESTS:
        response.error_code = ErrorCode.NONE
    return completed(response)


def _handled(bound: BoundRoute, request: Message) -> Pending[Message]:
    answer = bound.route.handle(bound.context, request)
    if isinstance(answer, Pending):
        return answer
    assert answer is not None
    return completed(answer)


def _share_fetch(bound: BoundRoute, request: fetches.ShareFetchRequest, code: ErrorCode) -> Pending[Message]:
    """Open the session or continue it, and refuse each partition and each acknowledgement."""
    asked = copy.copy(request)
    acked = {
        (topic.topic_id, row.partition_index)
        for topic in request.topics
        for row in topic.partitions
        if row.acknowledgement_batches
    }
    asked.max_wait_ms = asked.min_bytes = asked.max_records = 0
    if request.is_renew_ack:
        asked.max_bytes = 0
    asked.topics = [
        fetches.FetchTopic(
            topic.topic_id, [fetches.FetchPartition(partition_index=row.partition_index) for row in topic.partitions]
        )
        for topic in request.topics
    ]

    def respond(answer: Message) -> Message:
        assert isinstance(answer, fetches.ShareFetchResponse)
        if answer.error_code:
            return answer
        group_id, member_id = request.group_id or "", request.member_id or ""
        session = bound.context.services.share.sessions.get(group_id, member_id)
        fetched = set() if session is None or request.is_renew_ack else set(session.partitions)
        answer.responses = []
        topics: dict[bytes, fetches.ShareFetchableTopicResponse] = {}
        for topic_id, index in [*fetched, *sorted(acked - fetched)]:
            row = fetches.PartitionData(partition_index=index, records=b"")
            if (topic_id, index) in fetched:
                row.error_code = code
            if (topic_id, index) in acked:
                row.acknowledge_error_code, row.acknowledge_error_message = code, text_of(code)
            topics.setdefault(topic_id, fetches.ShareFetchableTopicResponse(topic_id, [])).partitions.append(row)
        answer.responses = list(topics.values())
        return answer

    return _handled(bound, asked).then(respond)


def _share_acknowledge(bound: BoundRoute, request: acks.ShareAcknowledgeRequest, code: ErrorCode) -> Pending[Message]:
    """Continue the session, and refuse each partition."""
    asked = copy.copy(request)
    asked.topics = []

    def respond(answer: Message) -> Message:
        assert isinstance(answer, acks.ShareAcknowledgeResponse)
        if not answer.error_code:
            answer.responses = [
                acks.ShareAcknowledgeTopicResponse(
                    topic.topic_id,
                    [acks.PartitionData(row.partition_index, code, text_of(code)) for row in topic.partitions],
                )
                for topic in request.topics
            ]
        return answer

    return _handled(bound, asked).then(respond)
