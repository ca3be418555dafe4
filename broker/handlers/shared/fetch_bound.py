"""A limit on the record bytes in one answer."""

from __future__ import annotations

from shareq.broker.dispatch.context import RequestContext


def most_bytes(ctx: RequestContext, asked: int) -> int:
    """Return the most record bytes for a request of `asked` bytes, within `fetch.max.bytes` and the client's quota."""
    services = ctx.services
    configured = min(asked, services.started_with.fetch_max_bytes)
    return min(configured, ctx.account.fetch_bound) if services.quotas.active else configured
