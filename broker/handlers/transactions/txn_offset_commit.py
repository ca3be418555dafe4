"""TxnOffsetCommit: v0-5 (KIP-98, KIP-447, KIP-890).

Behaviour: the offsets count for the group once the producer's transaction is committed. Topics and partitions that do
not exist are refused each; what is wrong with the transaction, the group or its member stands in every other row.
v3: the member that has read up to these offsets, which is fenced when it is no member any more. v4: an offset that is
not part of the transaction is TRANSACTION_ABORTABLE, INVALID_TXN_STATE before. v5: it becomes part of it by itself.
"""

from __future__ import annotations

from shareq.broker.coordinator_runtime.partition import ProducerEpoch
from shareq.broker.dispatch.context import RequestContext
from shareq.broker.foundation.pending import Pending
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
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

_Errors = dict[tuple[str, int], int]


def handle(
    ctx: RequestContext, request: TxnOffsetCommitRequest
) -> TxnOffsetCommitResponse | Pending[TxnOffsetCommitResponse]:
    if not ctx.may(WRITE_TRANSACTION, request.transactional_id):
        return failed(request, WRITE_TRANSACTION.error)
    if not ctx.may(READ_GROUP, request.group_id):
        return failed(request, READ_GROUP.error)
    offsets = as_offset_commit(request)
    errors = _take_out_unknown(ctx, offsets)
    if not offsets.topics:
        return _response(request, errors)
    producer = ProducerEpoch(request.producer_id, request.producer_epoch)

    def commit() -> Pending[OffsetCommitResponse]:
        return ctx.services.transactions.offsets.commit(producer, request.transactional_id, offsets, ctx.api_version)

    if request.generation_id >= 0:  # makes no group
        answer = commit()
    else:
        full = ErrorCode.GROUP_MAX_SIZE_REACHED
        answer = ctx.services.groups.names.make(request.group_id, ctx.owner, commit, lambda _: refused(offsets, full))
    return answer.then(lambda response: _response(request, errors | _errors(response)))


def failed(request: TxnOffsetCommitRequest, error: ErrorCode) -> TxnOffsetCommitResponse:
    """The same for every partition."""
    errors: _Errors = {
        (topic.name, each.partition_index): error for topic in request.topics for each in topic.partitions
    }
    return _response(request, errors)


def _take_out_unknown(ctx: RequestContext, offsets: OffsetCommitRequest) -> _Errors:
    """Leave in the request what the client may read and what exists, with its id; the errors of the rest."""
    refused = ctx.lacking(READ_TOPIC, [topic.name for topic in offsets.topics])
    errors: _Errors = {}
    left: list[OffsetCommitRequestTopic] = []
    for topic in offsets.topics:
        image = ctx.services.metadata.topic(topic.name)
        error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if topic.name in refused:
            image, error = None, READ_TOPIC.error
        there: list[OffsetCommitRequestPartition] = []
        for each in topic.partitions:
            if _has(image, each.partition_index):
                there.append(each)
            else:
                errors[topic.name, each.partition_index] = error
        if there and image is not None:
            left.append(OffsetCommitRequestTopic(topic.name, image.topic_id, there))
    offsets.topics = left
    return errors


def _has(image: TopicImage | None, partition: int) -> bool:
    return image is not None and 0 <= partition < image.partitions


def _errors(response: OffsetCommitResponse) -> _Errors:
    return {
        (topic.name, each.partition_index): each.error_code for topic in response.topics for each in topic.partitions
    }


def _response(request: TxnOffsetCommitRequest, errors: _Errors) -> TxnOffsetCommitResponse:
    return TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponseTopic(
                topic.name,
                [
                    TxnOffsetCommitResponsePartition(each.partition_index, errors[topic.name, each.partition_index])
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )
