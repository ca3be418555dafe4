"""EndTxn: v0-5 (KIP-98, KIP-890).

Behaviour: commits or aborts a transaction. The answer is sent when the markers are in the partitions, or could not be
written at the first attempt; the outcome is durable before the first marker. v2: a fenced producer gets PRODUCER_FENCED
(before, INVALID_PRODUCER_EPOCH). v5: the producer works in transaction version 2, and the answer contains the producer
id and epoch to continue with.
"""

from __future__ import annotations

from typing import Final

from shareq.broker.data_folder_ground import FolderContext
from shareq.broker.security.rights import WRITE_TRANSACTION
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.end_txn import EndTxnRequest, EndTxnResponse

CONTEXT = FolderContext

_FENCED_FROM: Final = 2
_BUMPS_FROM: Final = 5


async def handle(ctx: FolderContext, request: EndTxnRequest) -> EndTxnResponse:
    if not ctx.may(WRITE_TRANSACTION, request.transactional_id):
        return EndTxnResponse(error_code=WRITE_TRANSACTION.error)
    result = await ctx.ground.transactions.coordinator.end_transaction(
        request.transactional_id,
        request.producer_id,
        request.producer_epoch,
        commit=request.committed,
        client_version=2 if ctx.api_version >= _BUMPS_FROM else 0,
    )
    error = result.error
    if ctx.api_version < _FENCED_FROM and error is ErrorCode.PRODUCER_FENCED:
        error = ErrorCode.INVALID_PRODUCER_EPOCH
    return EndTxnResponse(error_code=error, producer_id=result.producer_id, producer_epoch=result.producer_epoch)
