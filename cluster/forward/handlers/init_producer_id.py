"""InitProducerId without a transactional id, forwarded to any broker: v0-5, cut to the cluster's.

Behaviour: as the cluster's. With a transactional id it is INVALID_REQUEST: a node has no transactions.
"""

from __future__ import annotations

import logging

from shareq.broker.security.acls import Operation, ResourceKind
from shareq.broker.security.names import CLUSTER_NAME
from shareq.broker.security.rights import IDEMPOTENT_WRITE
from shareq.cluster.forward.forwarding import ForwardContext
from shareq.cluster.link.ports import LinkFailure
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

CONTEXT = ForwardContext
logger = logging.getLogger(__name__)
_NONE = -1


async def handle(ctx: ForwardContext, request: InitProducerIdRequest) -> InitProducerIdResponse:
    """Have the cluster give a producer id."""
    if request.transactional_id is not None:
        ctx.warn(logger, "refused a transactional producer: %s", ctx.forwarding.where_to_go)
        return _refused(ErrorCode.INVALID_REQUEST)
    if not _may(ctx):
        return _refused(IDEMPOTENT_WRITE.error)
    answer = await ctx.send(None, request)
    if isinstance(answer, LinkFailure):  # whatever is behind it, the producer asks again
        return _refused(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    assert isinstance(answer, InitProducerIdResponse)
    answer.throttle_time_ms = 0
    return answer


def _may(ctx: ForwardContext) -> bool:
    """Return whether the client may IDEMPOTENT_WRITE, or WRITE to any topic."""
    authorizer, connection = ctx.services.authorizer, ctx.connection
    if authorizer is None or ctx.sees(IDEMPOTENT_WRITE):
        return True
    may = authorizer.allows_any(connection.principal, connection.client_host, Operation.WRITE, ResourceKind.TOPIC)
    if not may:
        ctx.audit(IDEMPOTENT_WRITE, CLUSTER_NAME, allowed=False)
    return may


def _refused(error: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=error, producer_id=_NONE, producer_epoch=_NONE)
