"""AddOffsetsToTxn: v0-4 (KIP-98).

Behaviour: adds the partition of `__consumer_offsets` that has the group's offsets to the transaction. Only producers
before transaction version 2 send this request. v2: a fenced producer gets PRODUCER_FENCED (before,
INVALID_PRODUCER_EPOCH).
"""

from __future__ import annotations

from typing import Final

from shareq.broker.data_folder_ground import FolderContext
from shareq.broker.security.rights import READ_GROUP, WRITE_TRANSACTION
from shareq.coordinator.transaction.metadata import TopicPartition
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from shareq.protocol.names import CONSUMER_OFFSETS

CONTEXT = FolderContext

_FENCED_FROM: Final = 2


async def handle(ctx: FolderContext, request: AddOffsetsToTxnRequest) -> AddOffsetsToTxnResponse:
    if not ctx.may(WRITE_TRANSACTION, request.transactional_id):
        return AddOffsetsToTxnResponse(error_code=WRITE_TRANSACTION.error)
    if not ctx.may(READ_GROUP, request.group_id):
        return AddOffsetsToTxnResponse(error_code=READ_GROUP.error)
    services = ctx.services
    if await services.internal_topics.made(CONSUMER_OFFSETS):
        return AddOffsetsToTxnResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    at = services.groups.coordinator.partitions.place_of(request.group_id)
    error = await ctx.ground.transactions.coordinator.add_partitions(
        request.transactional_id,
        request.producer_id,
        request.producer_epoch,
        [TopicPartition(CONSUMER_OFFSETS, at)],
        0,
    )
    if ctx.api_version < _FENCED_FROM and error is ErrorCode.PRODUCER_FENCED:
        error = ErrorCode.INVALID_PRODUCER_EPOCH
    return AddOffsetsToTxnResponse(error_code=error)
