"""TxnOffsetCommit: v0-6 (KIP-98, KIP-447, KIP-890, KIP-1319).

Behaviour: the offsets count for the group once the producer's transaction is committed. Topics and partitions that do
not exist are refused each; what is wrong with the transaction, the group or its member stands in every other row.
v3: the member that has read up to these offsets, which is fenced when it is no member any more. v4: an offset that is
not part of the transaction is TRANSACTION_ABORTABLE, INVALID_TXN_STATE before. v5: it becomes part of it by itself.
v6: topics by their ids, UNKNOWN_TOPIC_ID; GROUP_ID_NOT_FOUND, STALE_MEMBER_EPOCH instead of ILLEGAL_GENERATION.
"""

from __future__ import annotations

from typing import Final

from shareq.broker.coordinator_runtime.partition import ProducerEpoch
from shareq.broker.dispatch.context import RequestContext
from shareq.broker.dispatch.in_turns import pending_in_turns
from shareq.broker.foundation.pending import Pending
from shareq.broker.handlers.shared.long.transactional_offsets import commit_in_turns, is_long, refused_in_turns
from shareq.broker.security.rights import READ_GROUP, READ_TOPIC, WRITE_TRANSACTION
from shareq.broker.transactions.offsets import as_offset_commit
from shareq.coordinator.group.offsets.commit import refused
from shareq.coordinator.ports import TopicImage
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from shareq.protocol.generated.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

_IDS_FROM: Final = 6

_Errors = dict[tuple[str | bytes, int], int]
"""By the topic's name or id, whichever the request has, and partition."""


def handle(
    ctx: RequestContext, request: TxnOffsetCommitRequest
) -> TxnOffsetCommitResponse | Pending[TxnOffsetCommitResponse]:
    error = ErrorCode.NONE
    if not ctx.may(WRITE_TRANSACTION, request.transactional_id):
        error = WRITE_TRANSACTION.error
    elif not ctx.may(READ_GROUP, request.group_id):
        error = READ_GROUP.error
    if is_long(request):
        return pending_in_turns(ctx, refused_in_turns(request, error) if error else commit_in_turns(ctx, request))
    if error:
        return failed(request, error)
    offsets = as_offset_commit(request)
    errors = _take_out_unknown(ctx, offsets)
    if not offsets.topics:
        return _response(request, errors)
    producer = ProducerEpoch(request.producer_id, request.producer_epoch)
    by_id = ctx.api_version >= _IDS_FROM

    def commit() -> Pending[OffsetCommitResponse]:
        return ctx.services.transactions.offsets.commit(producer, request.transactional_id, offsets, ctx.api_version)

    if request.generation_id_or_member_epoch >= 0:  # makes no group
        answer = commit()
    else:
        full = ErrorCode.GROUP_MAX_SIZE_REACHED
        answer = ctx.services.groups.names.make(request.group_id, ctx.owner, commit, lambda _: refused(offsets, full))
    return answer.then(lambda response: _response(request, errors | _errors(response, by_id)))


def failed(request: TxnOffsetCommitRequest, error: ErrorCode) -> TxnOffsetCommitResponse:
    """The same for every partition."""
    errors: _Errors = {
        (_key(topic), each.partition_index): error for topic in request.topics for each in topic.partitions
    }
    return _response(request, errors)


def _key(topic: TxnOffsetCommitRequestTopic | OffsetCommitRequestTopic) -> str | bytes:
    return topic.name or topic.topic_id


def _take_out_unknown(ctx: RequestContext, offsets: OffsetCommitRequest) -> _Errors:
    """Leave in the request what the client may read and what exists, with names and ids; the errors of the rest."""
    by_id = ctx.api_version >= _IDS_FROM
    topic_of, topic_by_id = ctx.services.metadata.topic, ctx.services.metadata.topic_by_id
    images = [topic_by_id(topic.topic_id) if by_id else topic_of(topic.name) for topic in offsets.topics]
    names = [each.name for each in (images if by_id else offsets.topics) if each is not None]
    hidden = ctx.lacking(READ_TOPIC, names)
    errors: _Errors = {}
    left: list[OffsetCommitRequestTopic] = []
    for topic, image in zip(offsets.topics, images, strict=True):
        error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if (image.name if image is not None else topic.name) in hidden:
            image, error = None, READ_TOPIC.error
        elif by_id and image is None:
            error = ErrorCode.UNKNOWN_TOPIC_ID
        there: list[OffsetCommitRequestPartition] = []
        for each in topic.partitions:
            if _has(image, each.partition_index):
                there.append(each)
            else:
                errors[_key(topic), each.partition_index] = error
        if there and image is not None:
            left.append(OffsetCommitRequestTopic(image.name, image.topic_id, there))
    offsets.topics = left
    return errors


def _has(image: TopicImage | None, partition: int) -> bool:
    return image is not None and 0 <= partition < image.partitions


def _errors(response: OffsetCommitResponse, by_id: bool) -> _Errors:
    return {
        (topic.topic_id if by_id else topic.name, each.partition_index): each.error_code
        for topic in response.topics
        for each in topic.partitions
    }


def _response(request: TxnOffsetCommitRequest, errors: _Errors) -> TxnOffsetCommitResponse:
    return TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponseTopic(
                topic.name,
                topic.topic_id,
                [
                    TxnOffsetCommitResponsePartition(each.partition_index, errors[_key(topic), each.partition_index])
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )
