"""ShareFetch of a session, which may have many partitions: how many, what is loaded before, the search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from shareq.broker.dispatch.in_turns import Steps, TurnCount
from shareq.broker.foundation.pending import Pending
from shareq.broker.handlers.shared.fetch_bound import most_bytes
from shareq.broker.handlers.shared.share_fetch_rights import Refusal
from shareq.broker.share.acknowledgements import AckResults
from shareq.broker.share.core.sessions import LOOKED_AT, MOST_PARTITIONS, ShareFetchContext
from shareq.broker.share.fetch import FetchedPartition, ShareFetchParams, WantedPartition
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.protocol.generated.share_fetch import ShareFetchRequest
from shareq.protocol.share import AcquireMode

if TYPE_CHECKING:
    from shareq.broker.dispatch.context import RequestContext

TURN_LOADED: Final = 250
"""So many share partitions are loaded in one turn, 25 µs each."""


def names_too_many(request: ShareFetchRequest) -> bool:
    """Whether it names more partitions than a session may have."""
    return (
        sum(len(topic.partitions) for topic in request.topics) > MOST_PARTITIONS
        or sum(len(topic.partitions) for topic in request.forgotten_topics_data) > MOST_PARTITIONS
    )


def rounds(context: ShareFetchContext) -> int:
    """How many requests it takes to look at all partitions of the session, at least one."""
    return max(1, -(-len(context.partitions) // LOOKED_AT))


def loaded_in_turns(ctx: RequestContext, group_id: str, wanted: Sequence[WantedPartition]) -> Steps[bool]:
    """Have what can be fetched loaded before it is fetched from; returns whether others had their turns meanwhile."""
    paused = False
    partitions = ctx.services.share.partitions
    turn = TurnCount(TURN_LOADED)
    for each in wanted:
        key = SharePartitionKey(group_id, each.topic_id, each.partition)
        if each.topic is not None and partitions.get(key) is None:
            partitions.get_or_load(key, each.topic)
            if turn.full():
                paused = True
                yield
    return paused


def begun(
    ctx: RequestContext,
    request: ShareFetchRequest,
    mode: AcquireMode,
    wanted: list[WantedPartition],
    refuse: Refusal | None,
    acked: Pending[AckResults] | None,
    rounds: int,
) -> Pending[list[FetchedPartition]]:
    """A search for records in the wanted partitions, which ends when the connection does. `acked`: what the request
    acknowledges, if anything."""
    params = ShareFetchParams(
        group_id=request.group_id or "",
        member_id=request.member_id or "",
        mode=mode,
        max_wait_ms=request.max_wait_ms // rounds,
        min_bytes=request.min_bytes,
        max_bytes=most_bytes(
            ctx, request.max_bytes
        ),  # what is over the quota is paid for later: it is the member's by then
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
