"""RPCs of members and transactional producers, forwarded to their coordinator: versions cut to the cluster's.

Behaviour: as the cluster's. Without an answer it is COORDINATOR_NOT_AVAILABLE; clients ask again. The nodes'
own group, transactional ids and topics are refused. The cluster matches patterns of KIP-848 with the node's rights: a
member that is assigned a topic that it may not describe gets TOPIC_AUTHORIZATION_FAILED in place of its assignment.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, Final, NamedTuple

from shareq.broker.security.rights import (
    DELETE_GROUP,
    DESCRIBE_TOPIC,
    READ_GROUP,
    READ_TOPIC,
    WRITE_TOPIC,
    WRITE_TRANSACTION,
    Right,
)
from shareq.cluster.forward.coordinators import Kind
from shareq.cluster.forward.forwarding import ForwardContext
from shareq.cluster.forward.ports import GRACE_MS
from shareq.coordinator.ports import TopicImage
from shareq.protocol.api_keys import ApiKey, codec
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
)
from shareq.protocol.generated.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse
from shareq.protocol.generated.join_group import JoinGroupRequest, JoinGroupResponse
from shareq.protocol.generated.offset_commit import OffsetCommitResponsePartition, OffsetCommitResponseTopic
from shareq.protocol.generated.offset_delete import (
    OffsetDeleteRequestTopic,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from shareq.protocol.generated.txn_offset_commit import TxnOffsetCommitResponsePartition, TxnOffsetCommitResponseTopic
from shareq.protocol.primitives import Message

CONTEXT = ForwardContext
_NULL_PROTOCOL_FROM: Final = 7  # JoinGroup

Element = Any  # a topic's row, of whichever RPC


class Topics(NamedTuple):
    """The topics of a request. `asked` and `answered` are the fields with its topics and with their rows in the answer,
    `right` is needed on each, and `row` makes the row of a refused topic. With `together`, one refused topic refuses
    all. With `errors_on_top`, an error of all topics is in the answer's own field.
    """

    asked: str
    answered: str
    right: Right
    row: Callable[[Element, ErrorCode], Element]
    together: bool = False
    errors_on_top: bool = False


class Coordinated(NamedTuple):
    """An RPC for a coordinator: the coordinator's kind, and the field with its key.

    `rights` are the needed rights, each with the field that names its resource.
    """

    kind: Kind
    key: str
    rights: Sequence[tuple[Right, str]]
    topics: Topics | None = None


def _committed(topic: Element, error: ErrorCode) -> OffsetCommitResponseTopic:
    rows = [OffsetCommitResponsePartition(each.partition_index, error) for each in topic.partitions]
    return OffsetCommitResponseTopic(topic.name, topic.topic_id, rows)


def _committed_in_transaction(topic: Element, error: ErrorCode) -> TxnOffsetCommitResponseTopic:
    rows = [TxnOffsetCommitResponsePartition(each.partition_index, error) for each in topic.partitions]
    return TxnOffsetCommitResponseTopic(topic.name, topic.topic_id, rows)


def _deleted(topic: OffsetDeleteRequestTopic, error: ErrorCode) -> OffsetDeleteResponseTopic:
    rows = [OffsetDeleteResponsePartition(each.partition_index, error) for each in topic.partitions]
    return OffsetDeleteResponseTopic(topic.name, rows)


def _added(topic: AddPartitionsToTxnTopic, error: ErrorCode) -> AddPartitionsToTxnTopicResult:
    rows = [AddPartitionsToTxnPartitionResult(each, error) for each in topic.partitions]
    return AddPartitionsToTxnTopicResult(topic.name, rows)


_READS: Final = ((READ_GROUP, "group_id"),)
_WRITES: Final = (WRITE_TRANSACTION, "transactional_id")
_MEMBER: Final = Coordinated(Kind.GROUP, "group_id", _READS)

ROWS: Final = {
    ApiKey.JOIN_GROUP: _MEMBER,
    ApiKey.SYNC_GROUP: _MEMBER,
    ApiKey.HEARTBEAT: _MEMBER,
    ApiKey.LEAVE_GROUP: _MEMBER,
    ApiKey.CONSUMER_GROUP_HEARTBEAT: _MEMBER,
    ApiKey.OFFSET_COMMIT: _MEMBER._replace(topics=Topics("topics", "topics", READ_TOPIC, _committed)),
    ApiKey.OFFSET_DELETE: Coordinated(
        Kind.GROUP,
        "group_id",
        ((DELETE_GROUP, "group_id"),),
        Topics("topics", "topics", READ_TOPIC, _deleted, errors_on_top=True),
    ),
    ApiKey.TXN_OFFSET_COMMIT: Coordinated(
        Kind.GROUP, "group_id", (_WRITES, *_READS), Topics("topics", "topics", READ_TOPIC, _committed_in_transaction)
    ),
    ApiKey.ADD_PARTITIONS_TO_TXN: Coordinated(
        Kind.TRANSACTION,
        "v3_and_below_transactional_id",
        ((WRITE_TRANSACTION, "v3_and_below_transactional_id"),),
        Topics("v3_and_below_topics", "results_by_topic_v3_and_below", WRITE_TOPIC, _added, together=True),
    ),
    ApiKey.ADD_OFFSETS_TO_TXN: Coordinated(Kind.TRANSACTION, "transactional_id", (_WRITES, *_READS)),
    ApiKey.END_TXN: Coordinated(Kind.TRANSACTION, "transactional_id", (_WRITES,)),
}


async def handle(ctx: ForwardContext, request: Message) -> Message:
    """Forward the request without the topics that the client may not use."""
    row = ROWS[ApiKey(request.API_KEY)]
    for right, name in row.rights:
        if error := ctx.refusal_of(right, getattr(request, name)):
            return _encodable(ctx, failed(request, error))
    names: Sequence[str] = getattr(request, "subscribed_topic_names", None) or ()
    if await ctx.find_lacking(DESCRIBE_TOPIC, names):
        return failed(request, DESCRIBE_TOPIC.error)
    if row.topics is None:
        answer = await _forwarded(ctx, row, request)
        return answer if await _may_have(ctx, answer) else failed(request, DESCRIBE_TOPIC.error)
    request = copy(request)
    refused = await _take_refused(ctx, row.topics, request)
    has_any_left = getattr(request, row.topics.asked) or not refused
    answer = await _forwarded(ctx, row, request) if has_any_left else codec(request.API_KEY).response_class()
    getattr(answer, row.topics.answered).extend(refused)
    return answer


def failed(request: Message, error: ErrorCode) -> Message:
    """Return the answer when the request could not be handled."""
    topics = ROWS[ApiKey(request.API_KEY)].topics
    response = codec(request.API_KEY).response_class()
    if topics is None or topics.errors_on_top:
        response.error_code = error  # type: ignore[attr-defined]
    else:
        setattr(response, topics.answered, [topics.row(each, error) for each in getattr(request, topics.asked)])
    return response


async def _forwarded(ctx: ForwardContext, row: Coordinated, request: Message) -> Message:
    key: str = getattr(request, row.key)
    answer = await ctx.ask_coordinator(row.kind, key, request, Message, timeout_ms=_timeout_ms(request))
    return _encodable(ctx, failed(request, answer)) if isinstance(answer, ErrorCode) else answer


async def _may_have(ctx: ForwardContext, answer: Message) -> bool:
    """Return True if the client may describe every topic that the answer assigns to it."""
    if not isinstance(answer, ConsumerGroupHeartbeatResponse) or answer.assignment is None:
        return True
    for found in (await ctx.find({each.topic_id for each in answer.assignment.topic_partitions})).values():
        if isinstance(found, TopicImage) and ctx.refusal(DESCRIBE_TOPIC, found.name):
            return False
        await ctx.breathe()
    return True


async def _take_refused(ctx: ForwardContext, topics: Topics, request: Message) -> list[Element]:
    """Remove the topics that the client may not use from the request; return their rows of the answer."""
    asked: list[Element] = getattr(request, topics.asked)
    names = await ctx.names_of(asked)
    kept: list[Element] = []
    refused: list[Element] = []
    for topic, name in zip(asked, names, strict=True):
        error = ErrorCode.NONE if name is None else ctx.refusal(topics.right, name)
        if error:
            refused.append(topics.row(topic, error))
        else:
            kept.append(topic)
        await ctx.breathe(1 + len(topic.partitions))
    if refused and topics.together:
        refused += [topics.row(each, ErrorCode.OPERATION_NOT_ATTEMPTED) for each in kept]
        kept = []
    setattr(request, topics.asked, kept)
    return refused


def _timeout_ms(request: Message) -> int | None:
    """Return how long to wait for the answer: JoinGroup is answered only when all other members have joined."""
    if not isinstance(request, JoinGroupRequest):
        return None
    waits_ms = request.rebalance_timeout_ms if request.rebalance_timeout_ms >= 0 else request.session_timeout_ms
    return max(waits_ms, 0) + GRACE_MS


def _encodable(ctx: ForwardContext, response: Message) -> Message:
    if isinstance(response, JoinGroupResponse) and ctx.api_version < _NULL_PROTOCOL_FROM:
        response.protocol_name = ""
    return response
