"""FindCoordinator: v0-6. Groups and share partitions get the answer of every broker; transactions are refused.

Behaviour: a group that does not exist yet may become a share group, so its coordinator is found whatever it will be.
Key type 1 is INVALID_REQUEST, which no producer tries again, with where transactions are.
"""

from __future__ import annotations

import logging
from typing import Final

from shareq.broker.dispatch.rows import Rows
from shareq.broker.handlers.cluster import find_coordinator
from shareq.cluster.forward.forwarding import ForwardContext
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse

CONTEXT = ForwardContext
_TRANSACTIONS: Final = 1

failed = find_coordinator.failed
logger = logging.getLogger(__name__)


async def handle(
    ctx: ForwardContext, request: FindCoordinatorRequest
) -> FindCoordinatorResponse | Rows[FindCoordinatorResponse]:
    """Find coordinators of groups and share partitions."""
    if request.key_type != _TRANSACTIONS:
        return await find_coordinator.handle(ctx, request)
    where = ctx.forwarding.where_to_go
    ctx.warn(logger, "refused a transactional producer: %s", where)
    response = failed(request, ErrorCode.INVALID_REQUEST)
    response.error_message = where
    for row in response.coordinators:
        row.error_message = where
        await ctx.breathe()
    return response
