"""`controller_mutation_rate`: how many partitions a client may create and delete (KIP-599)."""

from __future__ import annotations

from typing import Final

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.quotas.clients import Mutations
from shareq.protocol.errors import ApiError, ErrorCode

EXCEEDED: Final = ApiError(ErrorCode.THROTTLING_QUOTA_EXCEEDED, "The throttling quota has been exceeded.")


def mutation_quota(ctx: RequestContext, strict_from: int) -> Mutations | None:
    """Return the request's budget for creations and deletions; None if nothing limits it.

    From version `strict_from` on, changes beyond the quota are refused; in earlier versions they are made, and the
    client is throttled.
    """
    quotas = ctx.services.quotas
    if not quotas.active:
        return None
    now_ms = ctx.services.env.clock.now_ms()
    return quotas.mutations(*ctx.quota_names, now_ms, strict=ctx.api_version >= strict_from)
