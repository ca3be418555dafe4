"""`controller_mutation_rate`: how many partitions a client may create and delete (KIP-599)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shareq.protocol.errors import ApiError, ErrorCode

if TYPE_CHECKING:
    from shareq.broker.dispatch.context import RequestContext
    from shareq.broker.quotas.clients import Mutations

EXCEEDED: Final = ApiError(ErrorCode.THROTTLING_QUOTA_EXCEEDED, "The throttling quota has been exceeded.")


def mutation_quota(ctx: RequestContext, strict_from: int) -> Mutations | None:
    """What the request may create and delete; None where nothing limits it.

    From version `strict_from` on what is over the quota is refused; earlier ones do it, and their clients wait.
    """
    quotas = ctx.services.quotas
    if not quotas.active:
        return None
    now_ms = ctx.services.env.clock.now_ms()
    return quotas.mutations(*ctx.quota_names, now_ms, strict=ctx.api_version >= strict_from)
