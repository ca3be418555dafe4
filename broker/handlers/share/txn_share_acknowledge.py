"""TxnShareAcknowledge: v0 (KIP-1289's draft, ADR 23).

Behaviour: acknowledges acquired records in a producer's transaction, which begins with them if none is open; they are
pending until its end. Each partition has its own error. The member needs its present epoch or the one before
(STALE_MEMBER_EPOCH).

Here: served with the feature shareq.share.transactions.
"""

from __future__ import annotations

from shareq.broker.coordinator_runtime.partition import ProducerEpoch
from shareq.broker.data_folder_ground import FolderContext
from shareq.broker.handlers.shared.share_requests import share_request_error
from shareq.broker.metadata.features import SHARE_TRANSACTIONS
from shareq.broker.security.rights import READ_TOPIC, WRITE_TRANSACTION
from shareq.broker.share.acknowledgements import AckResults, PartitionAcks
from shareq.broker.transactions.admission import Writer
from shareq.protocol.errors import ErrorCode, text_of
from shareq.protocol.generated.txn_share_acknowledge import (
    TxnShareAcknowledgePartitionResponse,
    TxnShareAcknowledgeRequest,
    TxnShareAcknowledgeResponse,
    TxnShareAcknowledgeTopicResponse,
)

CONTEXT = FolderContext


async def handle(ctx: FolderContext, request: TxnShareAcknowledgeRequest) -> TxnShareAcknowledgeResponse:
    error = _request_error(ctx, request)
    if not error:
        groups, member = ctx.services.groups.share, (request.member_id, request.member_epoch)
        error = await groups.member_error(request.group_id, *member)
    if error:
        return TxnShareAcknowledgeResponse(error_code=error, error_message=text_of(error))
    producer = ProducerEpoch(request.producer_id, request.producer_epoch)
    acks = [
        PartitionAcks(topic.topic_id, partition.partition_index, partition.acknowledgement_batches)
        for topic in request.topics
        for partition in topic.partitions
    ]
    results = await ctx.ground.share_transactions.stage(
        Writer(request.transactional_id, producer, adds=True),
        request.group_id,
        request.member_id,
        acks,
        lambda topic: ErrorCode.NONE if ctx.may(READ_TOPIC, topic) else READ_TOPIC.error,
    )
    return await _response(ctx, results)


def _request_error(ctx: FolderContext, request: TxnShareAcknowledgeRequest) -> ErrorCode:
    if not ctx.services.metadata.features.get(SHARE_TRANSACTIONS, 0):
        return ErrorCode.UNSUPPORTED_VERSION
    if not ctx.may(WRITE_TRANSACTION, request.transactional_id):
        return WRITE_TRANSACTION.error
    return share_request_error(ctx, request.group_id, request.member_id)


async def _response(ctx: FolderContext, results: AckResults) -> TxnShareAcknowledgeResponse:
    topics: dict[bytes, TxnShareAcknowledgeTopicResponse] = {}
    for (topic_id, index), error in results.items():
        row = TxnShareAcknowledgePartitionResponse(index, error, text_of(error) if error else None)
        topics.setdefault(topic_id, TxnShareAcknowledgeTopicResponse(topic_id, [])).partitions.append(row)
        await ctx.breathe()
    return TxnShareAcknowledgeResponse(topics=list(topics.values()))
