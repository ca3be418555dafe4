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

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.foundation.pending import Pending
from shareq.broker.foundation.turn_budget import PIECE
from shareq.broker.handlers.shared.share_fetch_response import share_fetch_response
from shareq.broker.handlers.shared.share_fetch_rights import refusal, wanted_partitions, without_refused
from shareq.broker.handlers.shared.share_fetch_search import acknowledged, load, search
from shareq.broker.handlers.shared.share_requests import acknowledge, requested_acks, share_request_error
from shareq.broker.security.rights import READ_GROUP
from shareq.broker.share.acknowledgements import AckResults
from shareq.broker.share.core.sessions import ListedPartition, ShareFetchContext, names_too_many
from shareq.broker.share.fetch import FetchedPartition, WantedPartition
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.share_fetch import ShareFetchRequest, ShareFetchResponse
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
