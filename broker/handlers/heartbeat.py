"""Heartbeat: v0-4, of members of classic groups.

Behaviour: prolongs the member's session; REBALANCE_IN_PROGRESS asks it to join again.
v3: static members (KIP-345).
"""

from __future__ import annotations

from shareq.broker.context import RequestContext
from shareq.broker.handlers import VersionRange
from shareq.broker.pending import Pending
from shareq.protocol.generated.heartbeat import HeartbeatRequest, HeartbeatResponse

VERSIONS = VersionRange(0, 4)


def handle(ctx: RequestContext, request: HeartbeatRequest) -> Pending[HeartbeatResponse]:
    return ctx.broker.classic_groups.heartbeat(request)
