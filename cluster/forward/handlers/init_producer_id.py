"""InitProducerId, forwarded to any broker: v0-5, cut to the cluster's.

Behaviour: as the cluster's. A request with a transactional id is sent to that id's coordinator.
"""

from __future__ import annotations

from shareq.broker.security.acls import Operation, ResourceKind
from shareq.broker.security.names import CLUSTER_NAME
from shareq.broker.security.rights import IDEMPOTENT_WRITE, WRITE_TRANSACTION
from shareq.cluster.forward.coordinators import Kind
from shareq.cluster.forward.forwarding import ForwardContext
from shareq.cluster.link.ports import LinkFailure
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

CONTEXT = ForwardContext
_NONE = -1


async def handle(ctx: ForwardContext, request: InitProducerIdRequest) -> InitProducerIdResponse:
    """Have the cluster assign a producer id."""
    transactional_id = request.transactional_id
    if transactional_id is not None:
        error = ctx.refusal_of(WRITE_TRANSACTION, transactional_id)
        if error:
            return _refused(error)
        given = await ctx.ask_coordinator(Kind.TRANSACTION, transactional_id, request, InitProducerIdResponse)
        return _refused(given) if isinstance(given, ErrorCode) else given
    if not _may(ctx):
        return _refused(IDEMPOTENT_WRITE.error)
    answer = await ctx.send(None, request)
    if isinstance(answer, LinkFailure):  # whatever is behind it, the producer asks again
        return _refused(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    assert isinstance(answer, InitProducerIdResponse)
    answer.throttle_time_ms = 0
    return answer


def _may(ctx: ForwardContext) -> bool:
    """Return True if the client has IDEMPOTENT_WRITE, or WRITE on any topic."""
    authorizer, connection = ctx.services.authorizer, ctx.connection
    if authorizer is None or ctx.sees(IDEMPOTENT_WRITE):
        return True
    may = authorizer.allows_any(connection.principal, connection.client_host, Operation.WRITE, ResourceKind.TOPIC)
    if not may:
        ctx.audit(IDEMPOTENT_WRITE, CLUSTER_NAME, allowed=False)
    return may


def _refused(error: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=error, producer_id=_NONE, producer_epoch=_NONE)
