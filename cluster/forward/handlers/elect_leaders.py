"""ElectLeaders, forwarded to the broker that takes changes of the cluster: v0-2, cut to the cluster's."""

from __future__ import annotations

from shareq.broker.handlers.cluster.elect_leaders import failed
from shareq.broker.security.rights import ALTER_CLUSTER
from shareq.cluster.forward.forwarding import ForwardContext, failure_error
from shareq.cluster.link.ports import LinkFailure
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.elect_leaders import ElectLeadersRequest, ElectLeadersResponse

__all__ = ["CONTEXT", "failed", "handle"]

CONTEXT = ForwardContext
TOP_LEVEL_FROM = 1
"""The first version whose answers have an error code for the whole request."""


async def handle(ctx: ForwardContext, request: ElectLeadersRequest) -> ElectLeadersResponse:
    """Have the cluster elect leaders among its brokers; nodes take no part."""
    if not ctx.may(ALTER_CLUSTER):
        return _refused(ctx, request, ALTER_CLUSTER.error)
    answer = await ctx.send_to_controller(request, ElectLeadersResponse, timeout_ms=request.timeout_ms)
    return _refused(ctx, request, failure_error(answer).code) if isinstance(answer, LinkFailure) else answer


def _refused(ctx: ForwardContext, request: ElectLeadersRequest, error: ErrorCode) -> ElectLeadersResponse:
    response = failed(request, error)
    response.error_code = error if ctx.api_version >= TOP_LEVEL_FROM else ErrorCode.NONE
    return response
