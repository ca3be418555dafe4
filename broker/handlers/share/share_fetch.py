"""ShareFetch: v1-2 (KIP-932, KIP-1206, KIP-1222).

Behaviour: opens (epoch 0), uses or ends (-1) the member's share session; applies the acknowledgements it carries, and
fetches from the session's partitions at the same time; answers when both are done. Errors of fetching and of
acknowledging are apart, for each partition. Records are never null. The answer that opens a session lists every
partition that was looked at; later ones leave out what has nothing new; the last one lists acknowledgements alone.
A session has 10,000 partitions at most, else INVALID_REQUEST; each request looks at the next 1,000 of many.
v2: ShareAcquireMode, IsRenewAck (renews locks, fetches nothing).
"""

from __future__ import annotations

from functools import partial

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.dispatch.in_turns import Steps, pending_in_turns
from shareq.broker.foundation.pending import Pending, completed, join
from shareq.broker.handlers.shared.long.share_sessions import (
    TURN_LOADED,
    begun,
    loaded_in_turns,
    names_too_many,
    rounds,
)
from shareq.broker.handlers.shared.share_fetch_response import share_fetch_response
from shareq.broker.handlers.shared.share_fetch_rights import refusal, wanted_partitions, without_refused
from shareq.broker.handlers.shared.share_requests import acknowledge, requested_acks, share_request_error
from shareq.broker.security.rights import READ_GROUP
from shareq.broker.share.acknowledgements import AckResults, PartitionAcks
from shareq.broker.share.core.sessions import ListedPartition, ShareFetchContext
from shareq.broker.share.fetch import FetchedPartition, WantedPartition
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.share_fetch import ShareFetchRequest, ShareFetchResponse
from shareq.protocol.share import AcquireMode

ShareFetchAnswer = ShareFetchResponse | Pending[ShareFetchResponse]


def handle(ctx: RequestContext, request: ShareFetchRequest) -> ShareFetchAnswer:
    error = share_request_error(ctx, request.group_id, request.member_id)
    if error is ErrorCode.NONE and (_renews_and_fetches(request) or names_too_many(request)):
        error = ErrorCode.INVALID_REQUEST  # before the session is touched, so its epoch stays
    if error is not ErrorCode.NONE or request.group_id is None:
        return ShareFetchResponse(error_code=error)
    has_acks = any(each.acknowledgement_batches for topic in request.topics for each in topic.partitions)
    context = _session(ctx, request, request.group_id, has_acks=has_acks)
    if context is ErrorCode.SHARE_SESSION_LIMIT_REACHED:
        return _later(ctx, request.max_wait_ms, ShareFetchResponse(error_code=context))
    if isinstance(context, ErrorCode):
        return ShareFetchResponse(error_code=context)
    acks = requested_acks(request.topics) if has_acks else []
    return _acknowledge_and_fetch(ctx, request, request.group_id, context, acks)


def _renews_and_fetches(request: ShareFetchRequest) -> bool:  # KIP-1222
    asked = request.max_bytes, request.min_bytes, request.max_records, request.max_wait_ms
    return request.is_renew_ack and any(asked)


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
    context = ctx.services.share.sessions.sessions.open_or_update(
        group_id,
        request.member_id or "",
        request.share_session_epoch,
        listed,
        forgotten,
        has_acks=has_acks,
        connection_id=ctx.connection.id,
        owner=ctx.owner,
    )
    if not isinstance(context, ErrorCode) and request.share_session_epoch == 0:
        ctx.services.share.sessions.watch(ctx.connection)
        if context.gave_way is not None:
            ctx.services.share.sessions.give_back(context.gave_way)
    return context


def _later(ctx: RequestContext, delay_ms: int, response: ShareFetchResponse) -> ShareFetchAnswer:
    """The answer after a delay, so that a client that was refused does not try again at once."""
    if delay_ms <= 0:
        return response
    pending: Pending[ShareFetchResponse] = Pending()
    clock = ctx.services.env.clock
    timer = clock.call_at(clock.now_ms() + delay_ms, lambda: pending.complete(response))
    ctx.connection.on_close(timer.cancel)
    return pending


def _acknowledge_and_fetch(
    ctx: RequestContext,
    request: ShareFetchRequest,
    group_id: str,
    context: ShareFetchContext,
    acks: list[PartitionAcks],
) -> ShareFetchAnswer:
    acked = acknowledge(ctx, group_id, request.member_id or "", acks, renew_request=request.is_renew_ack)
    wanted = [] if context.is_final or request.is_renew_ack else wanted_partitions(ctx, context)
    finish = partial(_fetch_and_answer, ctx, request, group_id, context, acked, bool(acks))
    if len(wanted) <= TURN_LOADED or not (request.max_records and request.max_bytes):
        return finish(wanted)

    def steps() -> Steps[Pending[ShareFetchResponse]]:
        paused = yield from loaded_in_turns(ctx, group_id, wanted)
        return finish(wanted_partitions(ctx, context) if paused else wanted)

    return pending_in_turns(ctx, steps())


def _fetch_and_answer(
    ctx: RequestContext,
    request: ShareFetchRequest,
    group_id: str,
    context: ShareFetchContext,
    acked: Pending[AckResults],
    has_acks: bool,
    wanted: list[WantedPartition],
) -> Pending[ShareFetchResponse]:
    member_id = request.member_id or ""
    refuse = refusal(ctx, group_id)
    fetched: Pending[list[FetchedPartition]] = completed([])
    if wanted:
        try:
            mode = AcquireMode(request.share_acquire_mode)
        except ValueError:  # found out late, as by Apache Kafka: the epoch and the acknowledgements have gone through
            if any(each.topic is not None for each in wanted):
                return completed(ShareFetchResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR))
            mode = AcquireMode.BATCH_OPTIMIZED
        fetched = begun(ctx, request, mode, wanted, refuse, acked if has_acks else None, rounds(context))

    def respond(both: tuple[AckResults, list[FetchedPartition]]) -> ShareFetchResponse:
        if context.is_final:
            ctx.services.share.sessions.close(context.session)
        results = [without_refused(ctx, group_id, member_id, each, refuse) for each in both[1]]
        if any(each.error is READ_GROUP.error for each in results):
            return ShareFetchResponse(error_code=READ_GROUP.error)
        selected = context.select(results)
        if isinstance(selected, ErrorCode):
            return ShareFetchResponse(error_code=selected)
        return share_fetch_response(ctx, group_id, list(selected), both[0])

    return join(acked, fetched).then(respond)
