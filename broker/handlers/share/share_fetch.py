"""ShareFetch: v1-2 (KIP-932, KIP-1206, KIP-1222).

Behaviour: opens (epoch 0), uses or ends (-1) the member's share session; applies the request's acknowledgements, and
fetches from the session's partitions at the same time; answers when both are done. Each partition has separate errors
for fetching and for acknowledging. Records are never null. The answer that opens a session lists every partition looked
at; later ones omit partitions without changes; the last one has only the results of acknowledgements. v2:
ShareAcquireMode, IsRenewAck (renews locks, fetches nothing).

Here: a session has at most 10,000 partitions, otherwise INVALID_REQUEST; for a large session each request looks at the
next 200, and at others with new records. The limit of sessions is divided among users, with at most 100 on a
connection.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.foundation.pending import Pending
from shareq.broker.foundation.turn_budget import PIECE
from shareq.broker.handlers.share.repeated_share_fetch import RepeatedShareFetch
from shareq.broker.handlers.shared.fetch_bound import most_bytes
from shareq.broker.handlers.shared.share_fetch_response import share_fetch_response
from shareq.broker.handlers.shared.share_fetch_rights import (
    Refusal,
    refusal,
    wanted_partition,
    wanted_partitions,
    without_refused,
)
from shareq.broker.handlers.shared.share_requests import acknowledge, requested_acks, share_request_error
from shareq.broker.security.rights import READ_GROUP
from shareq.broker.share.acknowledgements import AckResults
from shareq.broker.share.core.sessions import ListedPartition, ShareFetchContext, names_too_many
from shareq.broker.share.fetch import FetchedPartition, ShareFetchParams, WantedPartition
from shareq.broker.share.leader import SharePartitionLeader
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.share_fetch import ShareFetchRequest, ShareFetchResponse
from shareq.protocol.share import AcquireMode

FAST_PATH = RepeatedShareFetch


async def handle(ctx: RequestContext, request: ShareFetchRequest) -> ShareFetchResponse:
    error = share_request_error(ctx, request.group_id, request.member_id)
    if error is ErrorCode.NONE and (_renews_and_fetches(request) or _names_too_many(request)):
        error = ErrorCode.INVALID_REQUEST  # before the session is touched, so its epoch stays
    group_id, member_id = request.group_id, request.member_id or ""
    if error is not ErrorCode.NONE or group_id is None:
        return ShareFetchResponse(error_code=error)
    has_acks = _has_acks(request)
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
    if many and await load(ctx, group_id, context):
        wanted = wanted_partitions(ctx, context)  # others had their turns meanwhile
    refuse = refusal(ctx, group_id)
    fetched: list[FetchedPartition] = []
    if wanted:
        mode = _mode(request, wanted)
        if mode is None:
            return ShareFetchResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR)
        fetched = await search(ctx, request, mode, wanted, refuse, acked, context=context)
    results, fetched = ({}, fetched) if acked is None else await acknowledged(ctx, group_id, acked, fetched)
    if context.is_final:
        ctx.services.share.session_ends.close(context.session)
    selected = _selected(ctx, group_id, context, fetched, refuse)
    if isinstance(selected, ErrorCode):
        return ShareFetchResponse(error_code=selected)
    return share_fetch_response(ctx, group_id, selected, results)


def _has_acks(request: ShareFetchRequest) -> bool:
    for topic in request.topics:
        for partition in topic.partitions:
            if partition.acknowledgement_batches:
                return True
    return False


def _selected(
    ctx: RequestContext,
    group_id: str,
    context: ShareFetchContext,
    fetched: list[FetchedPartition],
    refuse: Refusal | None,
) -> list[FetchedPartition] | ErrorCode:
    """Return the fetched partitions for the response, without records that the client may no longer read, or an error
    for the whole request.
    """
    if refuse is not None:
        member_id = context.session.member_id
        fetched = [without_refused(ctx, group_id, member_id, each, refuse) for each in fetched]
        if any(each.error is READ_GROUP.error for each in fetched):
            return READ_GROUP.error
    return context.select(fetched)


def _renews_and_fetches(request: ShareFetchRequest) -> bool:  # KIP-1222
    return request.is_renew_ack and any(
        (request.max_bytes, request.min_bytes, request.max_records, request.max_wait_ms)
    )


def _names_too_many(request: ShareFetchRequest) -> bool:
    named = forgotten = 0
    for topic in request.topics:
        named += len(topic.partitions)
    for each in request.forgotten_topics_data:
        forgotten += len(each.partitions)
    return names_too_many(named, forgotten)


_MODES: Final = {mode.value: mode for mode in AcquireMode}


def _mode(request: ShareFetchRequest, wanted: Sequence[WantedPartition]) -> AcquireMode | None:
    """Return the request's acquire mode; None if it is unknown, and there are partitions to fetch.

    As in Apache Kafka, this is checked late, after the session's epoch has advanced and the acknowledgements have been
    applied.
    """
    mode = _MODES.get(request.share_acquire_mode)
    if mode is None and all(each.topic is None for each in wanted):
        return AcquireMode.BATCH_OPTIMIZED
    return mode


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
    """Wait for `delay_ms`. If the connection closes before, the wait never ends."""
    if delay_ms > 0:
        over: Pending[None] = Pending()
        clock = ctx.services.env.clock
        timer = clock.call_at(clock.now_ms() + delay_ms, lambda: over.complete(None))
        ctx.connection.on_close(timer.cancel)
        await over


_ELEMENTS: Final = 4
"""The number of elements that the loading of a share partition counts as: it takes 25 µs."""


async def load(ctx: RequestContext, group_id: str, context: ShareFetchContext) -> bool:
    """Begin to load the session's share partitions that are not in memory. Return True if there were any."""
    partitions = ctx.services.share.partitions
    known = partitions.of_group(group_id)
    if len(partitions.of_session(context.session)) == len(context.session.partitions):
        return False
    loaded = False
    for each in [each for place, each in context.session.partitions.items() if place not in known]:
        topic = wanted_partition(ctx, each).topic
        if topic is not None:
            partitions.get_or_load(SharePartitionKey(group_id, each.topic_id, each.partition), topic)
            loaded = True
        await ctx.breathe(_ELEMENTS if topic is not None else 1)
    return loaded


def search(
    ctx: RequestContext,
    request: ShareFetchRequest,
    mode: AcquireMode,
    wanted: list[WantedPartition],
    refuse: Refusal | None,
    acked: Pending[AckResults] | None,
    *,
    context: ShareFetchContext,
) -> Pending[list[FetchedPartition]]:
    """Begin a search for records in the wanted partitions. It is cancelled when the connection closes.

    `acked` is the outcome of the request's acknowledgements, if it has any. If some partitions of a large session
    cannot be fetched, the wait is divided by the number of requests that look at all of them, so that their errors are
    returned in time.
    """
    group_id = request.group_id or ""
    rounds, max_wait_ms = context.rounds, request.max_wait_ms
    everything: Sequence[SharePartitionLeader] = ()
    if rounds > 1:
        everything = ctx.services.share.partitions.of_session(context.session)
        if len(everything) < len(context.session.partitions):
            max_wait_ms //= rounds
    params = ShareFetchParams(
        group_id=group_id,
        member_id=request.member_id or "",
        mode=mode,
        max_wait_ms=max_wait_ms,
        min_bytes=request.min_bytes,
        max_bytes=most_bytes(ctx, request.max_bytes),  # the rest is charged later, when the member holds it
        max_records=request.max_records,
        batch_size=request.batch_size,
    )
    fetch = ctx.services.share.fetch(params, wanted, refuse, everything)
    # With order by key, acknowledgements of this request may free records for this fetch.
    ordered = acked is not None and ctx.services.configs.share_group(params.group_id).order_by_key
    pending = fetch.start(acked if ordered else None)
    if not pending.done:
        pending.on_complete(ctx.connection.on_close(fetch.cancel))
    return pending


async def acknowledged(
    ctx: RequestContext, group_id: str, acked: Pending[AckResults], fetched: list[FetchedPartition]
) -> tuple[AckResults, list[FetchedPartition]]:
    """Wait until the acknowledgements are written; return their results, and the fetched partitions.

    A partition whose leader was dropped meanwhile gets NOT_LEADER_OR_FOLLOWER instead of its records, since another
    leader may have given them to other members.
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
    """Return, for each fetched partition with acquired records, its leader in memory; None for the others."""
    partitions = ctx.services.share.partitions
    return [
        partitions.get(SharePartitionKey(group_id, each.topic_id, each.partition)) if each.acquired else None
        for each in fetched
    ]
