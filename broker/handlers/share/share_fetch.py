"""ShareFetch: v1-2 (KIP-932, KIP-1206, KIP-1222).

Behaviour: opens (epoch 0), uses or ends (-1) the member's share session; applies the acknowledgements it carries, and
fetches from the session's partitions at the same time; answers when both are done. Errors of fetching and of
acknowledging are apart, for each partition. Records are never null. The answer that opens a session lists every
partition that was looked at; later ones leave out what has nothing new; the last one lists acknowledgements alone.
v2: ShareAcquireMode, IsRenewAck (renews locks, fetches nothing).

Here: a session has 10,000 partitions at most, else INVALID_REQUEST; each request looks at the next 1,000 of many. The
most sessions are shared out among users, 100 on a connection.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.dispatch.named_nodes import add_endpoint, leader_to_name
from shareq.broker.foundation.pending import Pending
from shareq.broker.foundation.turn_budget import PIECE
from shareq.broker.handlers.shared.fetch_bound import most_bytes
from shareq.broker.handlers.shared.share_fetch_rights import Refusal, refusal, wanted_partitions, without_refused
from shareq.broker.handlers.shared.share_requests import acknowledge, requested_acks, share_request_error
from shareq.broker.security.rights import READ_GROUP
from shareq.broker.share.acknowledgements import AckResults
from shareq.broker.share.core.sessions import ListedPartition, ShareFetchContext, names_too_many
from shareq.broker.share.fetch import FetchedPartition, ShareFetchParams, WantedPartition
from shareq.broker.share.leader import SharePartitionLeader
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.protocol.errors import ErrorCode, text_of
from shareq.protocol.generated.share_fetch import (
    AcquiredRecords,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    ShareFetchableTopicResponse,
    ShareFetchRequest,
    ShareFetchResponse,
)
from shareq.protocol.share import AcquireMode


async def handle(ctx: RequestContext, request: ShareFetchRequest) -> ShareFetchResponse:
    error = share_request_error(ctx, request.group_id, request.member_id)
    if error is ErrorCode.NONE and (_renews_and_fetches(request) or _names_too_many(request)):
        error = ErrorCode.INVALID_REQUEST  # before the session is touched, so its epoch stays
    group_id, member_id = request.group_id, request.member_id or ""
    if error is not ErrorCode.NONE or group_id is None:
        return ShareFetchResponse(error_code=error)
    has_acks = any(each.acknowledgement_batches for topic in request.topics for each in topic.partitions)
    context = _session(ctx, request, group_id, has_acks=has_acks)
    if isinstance(context, ErrorCode):
        if context is ErrorCode.SHARE_SESSION_LIMIT_REACHED:
            await _delay(ctx, request.max_wait_ms)  # so that the client does not try again at once
        return ShareFetchResponse(error_code=context)
    acked: Pending[AckResults] | None = None
    if has_acks:
        acks = requested_acks(request.topics)
        acked = await acknowledge(ctx, group_id, member_id, acks, renew_request=request.is_renew_ack)
    wanted = [] if context.is_final or request.is_renew_ack else wanted_partitions(ctx, context)
    many = len(wanted) > PIECE and request.max_records and request.max_bytes
    if many and await load(ctx, group_id, wanted):
        wanted = wanted_partitions(ctx, context)  # others had their turns meanwhile
    refuse = refusal(ctx, group_id)
    fetched: list[FetchedPartition] = []
    if wanted:
        mode = _mode(request, wanted)
        if mode is None:
            return ShareFetchResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR)
        fetched = await search(ctx, request, mode, wanted, refuse, acked, rounds=context.rounds)
    results, fetched = ({}, fetched) if acked is None else await acknowledged(ctx, group_id, acked, fetched)
    if context.is_final:
        ctx.services.share.session_ends.close(context.session)
    fetched = [without_refused(ctx, group_id, member_id, each, refuse) for each in fetched]
    if any(each.error is READ_GROUP.error for each in fetched):
        return ShareFetchResponse(error_code=READ_GROUP.error)
    selected = context.select(fetched)
    if isinstance(selected, ErrorCode):
        return ShareFetchResponse(error_code=selected)
    return share_fetch_response(ctx, group_id, selected, results)


def _renews_and_fetches(request: ShareFetchRequest) -> bool:  # KIP-1222
    asked = request.max_bytes, request.min_bytes, request.max_records, request.max_wait_ms
    return request.is_renew_ack and any(asked)


def _names_too_many(request: ShareFetchRequest) -> bool:
    return names_too_many(
        sum(len(topic.partitions) for topic in request.topics),
        sum(len(topic.partitions) for topic in request.forgotten_topics_data),
    )


def _mode(request: ShareFetchRequest, wanted: Sequence[WantedPartition]) -> AcquireMode | None:
    """Return how records are acquired; None: no mode has this number, and there would be something to fetch.

    This is found out late, as by Apache Kafka: the epoch and the acknowledgements have gone through.
    """
    try:
        return AcquireMode(request.share_acquire_mode)
    except ValueError:
        return None if any(each.topic is not None for each in wanted) else AcquireMode.BATCH_OPTIMIZED


def _session(
    ctx: RequestContext, request: ShareFetchRequest, group_id: str, *, has_acks: bool
) -> ShareFetchContext | ErrorCode:
    metadata = ctx.services.metadata
    listed = []
    for topic in request.topics:
        image = metadata.topic_by_id(topic.topic_id)
        name = image.name if image is not None else None
        listed += [ListedPartition(topic.topic_id, each.partition_index, name) for each in topic.partitions]
    forgotten = [(topic.topic_id, index) for topic in request.forgotten_topics_data for index in topic.partitions]
    return ctx.services.share.session_ends.open_or_update(
        ctx.connection,
        group_id,
        request.member_id or "",
        request.share_session_epoch,
        listed,
        forgotten,
        has_acks=has_acks,
        owner=ctx.owner,
    )


async def _delay(ctx: RequestContext, delay_ms: int) -> None:
    """Wait so many milliseconds, for as long as the client is there."""
    if delay_ms > 0:
        over: Pending[None] = Pending()
        clock = ctx.services.env.clock
        timer = clock.call_at(clock.now_ms() + delay_ms, lambda: over.complete(None))
        ctx.connection.on_close(timer.cancel)
        await over


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


def share_fetch_response(
    ctx: RequestContext, group_id: str, fetched: list[FetchedPartition], acked: AckResults
) -> ShareFetchResponse:
    """Every partition of either, once. Names the leaders of partitions that others lead."""
    response = ShareFetchResponse(
        acquisition_lock_timeout_ms=ctx.services.configs.share_group(group_id).record_lock_duration_ms
    )
    topics: dict[bytes, ShareFetchableTopicResponse] = {}
    for (topic_id, index), row in _rows(fetched, acked).items():
        if topic_id not in topics:
            topics[topic_id] = ShareFetchableTopicResponse(topic_id, [])
        topics[topic_id].partitions.append(row)
        if row.error_code:
            topic = ctx.services.metadata.topic_by_id(topic_id)
            leader = leader_to_name(ctx, topic.name if topic else None, index, row.error_code)
            if leader is not None:
                row.current_leader = LeaderIdAndEpoch(leader.node_id, leader.epoch)
                if leader.address is not None:
                    add_endpoint(response.node_endpoints, NodeEndpoint(*leader.address))
    response.responses = list(topics.values())
    return response


def _rows(fetched: list[FetchedPartition], acked: AckResults) -> dict[tuple[bytes, int], PartitionData]:
    rows: dict[tuple[bytes, int], PartitionData] = {}
    for result in fetched:
        rows[result.topic_id, result.partition] = PartitionData(
            partition_index=result.partition,
            error_code=result.error,
            records=result.records,
            acquired_records=cast("list[AcquiredRecords]", result.acquired),  # tuples: they are written, too
        )
    for (topic_id, index), error in acked.items():
        row = rows.setdefault((topic_id, index), PartitionData(partition_index=index, records=b""))
        row.acknowledge_error_code = error
        if error is not ErrorCode.NONE:
            row.acknowledge_error_message = text_of(error)
    return rows
