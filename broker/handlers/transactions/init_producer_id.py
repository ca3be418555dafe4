"""InitProducerId: v0-5 (KIP-98, KIP-360).

Behaviour: a producer without a transactional id gets a new producer id with epoch 0, whatever it had before; one with a
transactional id gets the id's producer id in a new epoch, which fences all others. An open transaction is aborted
first, and the answer is CONCURRENT_TRANSACTIONS. v3: the producer's current id and epoch. v4: a fenced producer gets
PRODUCER_FENCED (before, INVALID_PRODUCER_EPOCH). v6 (two-phase commit) is not stable and not served.
"""

from __future__ import annotations

from shareq.broker.data_folder_ground import FolderContext
from shareq.broker.security.acls import Operation, ResourceKind
from shareq.broker.security.names import CLUSTER_NAME
from shareq.broker.security.rights import IDEMPOTENT_WRITE, WRITE_TRANSACTION
from shareq.coordinator.transaction.init_producer_id import ExpectedProducer
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

CONTEXT = FolderContext

_NONE = -1
_FENCED_FROM = 4


async def handle(ctx: FolderContext, request: InitProducerIdRequest) -> InitProducerIdResponse:
    error = _refusal(ctx, request.transactional_id)
    if error:
        return _refused(error)
    if request.transactional_id == "" or (request.producer_id == _NONE) != (request.producer_epoch == _NONE):
        return _refused(ErrorCode.INVALID_REQUEST)
    await ctx.ground.producer_ids.at_hand()
    if request.transactional_id is not None:
        return await _transactional(ctx, request, request.transactional_id)
    try:
        producer_id = ctx.ground.producer_ids.next()
    except OSError:
        return _refused(ErrorCode.KAFKA_STORAGE_ERROR)
    return InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)


def _refusal(ctx: FolderContext, transactional_id: str | None) -> ErrorCode:
    """Return the error of a missing right, or NONE. Without a transactional id, the right is IDEMPOTENT_WRITE, or WRITE
    on any topic.
    """
    if ctx.services.authorizer is None:
        return ErrorCode.NONE
    if transactional_id is not None:
        return ErrorCode.NONE if ctx.may(WRITE_TRANSACTION, transactional_id) else WRITE_TRANSACTION.error
    principal, host = ctx.connection.principal, ctx.connection.client_host
    may = ctx.sees(IDEMPOTENT_WRITE) or ctx.services.authorizer.allows_any(
        principal, host, Operation.WRITE, ResourceKind.TOPIC
    )
    if not may:
        ctx.audit(IDEMPOTENT_WRITE, CLUSTER_NAME, allowed=False)
    return ErrorCode.NONE if may else IDEMPOTENT_WRITE.error


async def _transactional(
    ctx: FolderContext, request: InitProducerIdRequest, transactional_id: str
) -> InitProducerIdResponse:
    transactions, owner = ctx.ground.transactions, ctx.owner
    if not transactions.names.admit(transactional_id, owner):
        return _refused(ErrorCode.POLICY_VIOLATION)
    expected = None
    if request.producer_id != _NONE:
        expected = ExpectedProducer(request.producer_id, request.producer_epoch)
    result = await transactions.coordinator.init_producer_id(transactional_id, request.transaction_timeout_ms, expected)
    transactions.names.settle(transactional_id, owner)
    if result.error:
        fenced = ctx.api_version < _FENCED_FROM and result.error is ErrorCode.PRODUCER_FENCED
        return _refused(ErrorCode.INVALID_PRODUCER_EPOCH if fenced else result.error)
    return InitProducerIdResponse(producer_id=result.producer_id, producer_epoch=result.producer_epoch)


def _refused(error: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=error, producer_id=_NONE, producer_epoch=_NONE)
