"""InitProducerId: v0-5.

Behaviour: a producer without a transactional id gets a producer id that was never given out before, with epoch 0,
whatever it had. There are no transactions: a transactional id is answered with UNSUPPORTED_VERSION, which producers
report at once instead of trying again.
v3: the producer's current id and epoch. v6 (two-phase commit) is not stable and not served.
"""

from __future__ import annotations

from shareq.broker.context import RequestContext
from shareq.broker.handlers import VersionRange
from shareq.broker.security.acls import Operation, ResourceKind
from shareq.broker.security.rights import IDEMPOTENT_WRITE, WRITE_TRANSACTION
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

VERSIONS = VersionRange(0, 5)

_NONE = -1


def handle(ctx: RequestContext, request: InitProducerIdRequest) -> InitProducerIdResponse:
    """Give out a producer id."""
    error = _refusal(ctx, request.transactional_id)
    if error:
        return _refused(error)
    if request.transactional_id == "" or (request.producer_id == _NONE) != (request.producer_epoch == _NONE):
        return _refused(ErrorCode.INVALID_REQUEST)
    if request.transactional_id is not None:
        return _refused(ErrorCode.UNSUPPORTED_VERSION)
    try:
        producer_id = ctx.broker.producer_ids.next()
    except OSError:
        return _refused(ErrorCode.KAFKA_STORAGE_ERROR)
    return InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)


def _refusal(ctx: RequestContext, transactional_id: str | None) -> ErrorCode:
    """Without a transactional id IDEMPOTENT_WRITE is needed, or WRITE on any topic."""
    if ctx.broker.authorizer is None:
        return ErrorCode.NONE
    if transactional_id is not None:
        return ErrorCode.NONE if ctx.may(WRITE_TRANSACTION, transactional_id) else WRITE_TRANSACTION.error
    who, host = ctx.connection.principal, ctx.connection.client_host
    may = ctx.may(IDEMPOTENT_WRITE) or ctx.broker.authorizer.allows_any(who, host, Operation.WRITE, ResourceKind.TOPIC)
    return ErrorCode.NONE if may else IDEMPOTENT_WRITE.error


def _refused(error: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=error, producer_id=_NONE, producer_epoch=_NONE)
