"""What a request needs done in turns of the loop, counted against its client's quota."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shareq.broker.dispatch.context import RequestContext


def in_turns(ctx: RequestContext, work: Iterator[None]) -> None:
    """Do the work in turns (`foundation/turns.py`); where there are quotas, the time of each is its client's."""
    services = ctx.services
    if services.quotas.active:
        from shareq.broker.dispatch.metering import Metering

        work = Metering(services).begin(ctx).turns(work)
    services.turns.run(work, ctx.failed)
