"""The search for records of a ShareFetch, and what is loaded before it where a session has many partitions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.foundation.pending import Pending
from shareq.broker.handlers.shared.fetch_bound import most_bytes
from shareq.broker.handlers.shared.share_fetch_rights import Refusal
from shareq.broker.share.acknowledgements import AckResults
from shareq.broker.share.fetch import FetchedPartition, ShareFetchParams, WantedPartition
from shareq.broker.share.leader import SharePartitionLeader
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.share_fetch import ShareFetchRequest
from shareq.protocol.share import AcquireMode

_ELEMENTS: Final = 4
"""The elements that loading a share partition counts as: 25 µs."""


async def load(ctx: RequestContext, group_id: str, wanted: Sequence[WantedPartition]) -> bool:
    """Load the share partitions that can be fetched, before they are fetched from; return whether any was loaded."""
    partitions = ctx.services.share.partitions
    loaded = False
    for each in wanted:
        key = SharePartitionKey(group_id, each.topic_id, each.partition)
        if each.topic is not None and partitions.get(key) is None:
            partitions.get_or_load(key, each.topic)
            loaded = True
            await ctx.breathe(_ELEMENTS)
    return loaded


def search(
    ctx: RequestContext,
    request: ShareFetchRequest,
    mode: AcquireMode,
    wanted: list[WantedPartition],
    refuse: Refusal | None,
    acked: Pending[AckResults] | None,
    rounds: int,
) -> Pending[list[FetchedPartition]]:
    """Begin a search for records in the wanted partitions, which ends when the connection does.

    `acked`: what the request acknowledges, if anything. `rounds`: how many requests it takes to look at all partitions
    of the session, which share the time to wait.
    """
    params = ShareFetchParams(
        group_id=request.group_id or "",
        member_id=request.member_id or "",
        mode=mode,
        max_wait_ms=request.max_wait_ms // rounds,
        min_bytes=request.min_bytes,
        max_bytes=most_bytes(ctx, request.max_bytes),  # more is paid for later: it is the member's by then
        max_records=request.max_records,
        batch_size=request.batch_size,
    )
    fetch = ctx.services.share.fetch(params, wanted, refuse)
    # With order by key, what is acknowledged here may free the records that this fetch is for.
    ordered = acked is not None and ctx.services.configs.share_group(params.group_id).order_by_key
    pending = fetch.start(acked if ordered else None)
    if not pending.done:
        forget = ctx.connection.on_close(fetch.cancel)
        pending.on_complete(lambda _fetched: forget())
    return pending


async def acknowledged(
    ctx: RequestContext, group_id: str, acked: Pending[AckResults], fetched: list[FetchedPartition]
) -> tuple[AckResults, list[FetchedPartition]]:
    """Return what became of the acknowledgements, when they are written, and what was fetched beside them, without
    records that are not the member's any more: their share partition was dropped meanwhile, and another leader may have
    given them to others.
    """
    if acked.done:
        return await acked, fetched
    before = _holders(ctx, group_id, fetched)
    results = await acked
    now = _holders(ctx, group_id, fetched)
    return results, [
        FetchedPartition(each.topic_id, each.partition, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        if leader is not held
        else each
        for each, held, leader in zip(fetched, before, now, strict=True)
    ]


def _holders(
    ctx: RequestContext, group_id: str, fetched: Sequence[FetchedPartition]
) -> list[SharePartitionLeader | None]:
    """Return the share partitions in memory, of those of which something was acquired."""
    partitions = ctx.services.share.partitions
    return [
        partitions.get(SharePartitionKey(group_id, each.topic_id, each.partition)) if each.acquired else None
        for each in fetched
    ]
