"""Heartbeat: v0-4, of members of classic groups.

Behaviour: prolongs the member's session; REBALANCE_IN_PROGRESS asks it to join again. READ on the group is needed.
v3: static members (KIP-345).
"""

from __future__ import annotations

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.foundation.pending import Pending
from shareq.broker.security.rights import READ_GROUP
from shareq.protocol.generated.heartbeat import HeartbeatRequest, HeartbeatResponse


def handle(ctx: RequestContext, request: HeartbeatRequest) -> HeartbeatResponse | Pending[HeartbeatResponse]:
    if not ctx.may(READ_GROUP, request.group_id):
        return HeartbeatResponse(error_code=READ_GROUP.error)
    return ctx.services.groups.classic.heartbeat(request)
