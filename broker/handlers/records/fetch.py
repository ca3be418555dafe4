"""Fetch: v4-18 (KIP-227 sessions, KIP-74 limits, KIP-516 topic ids).

Behaviour: long poll until min_bytes can be read or max_wait_ms is over; an error in a partition answers at once. The
first batch of an answer is complete whatever the limits. read_committed reads up to the last stable offset.
A client that is over its quota gets an answer without records.
v7: sessions. v9: leader epochs. v11: rack (ignored, one broker). v12: last fetched epoch (ignored, one epoch).
v13: topic ids. v15: replica state instead of replica id; both ignored, there are no followers.
"""

from __future__ import annotations

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.dispatch.in_turns import Steps, in_turns, pending_in_turns, run_in_turns
from shareq.broker.fetch.read import FetchRead
from shareq.broker.fetch.sessions import FetchContext, PartitionKey, SessionPartition
from shareq.broker.fetch.wait import FetchLimits, WaitingFetch
from shareq.broker.foundation.pending import Pending
from shareq.broker.handlers.shared.fetch_bound import most_bytes
from shareq.broker.handlers.shared.long.fetch_rows import (
    IDS_FROM,
    TURN_PARTITIONS,
    Refusal,
    add_by_topic,
    answer_in_turns,
    as_pending,
    forgotten_of,
    given_back,
    is_long,
    open_in_turns,
    read_in_turns,
    refusal,
    requested_of,
)
from shareq.broker.network.answer_budget import ROOM_WAIT_MS
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.fetch import FetchableTopicResponse, FetchRequest, FetchResponse, PartitionData

_READ_COMMITTED = 1


def handle(ctx: RequestContext, request: FetchRequest) -> FetchResponse | Pending[FetchResponse]:
    """Read, or wait for something to read."""
    if is_long(request):
        return pending_in_turns(ctx, _opened_in_turns(ctx, request))
    sessions, by_id = ctx.services.fetch_sessions, ctx.api_version >= IDS_FROM
    requested: dict[PartitionKey, SessionPartition] = {}
    for topic in request.topics:
        requested_of(topic, topic.partitions, by_id, requested)
    context = sessions.open(
        request.session_id,
        request.session_epoch,
        uses_topic_ids=by_id,
        requested=requested,
        forgotten=[each for topic in request.forgotten_topics_data for each in forgotten_of(topic, by_id)],
        now_ms=ctx.services.env.clock.now_ms(),
    )
    return _opened(ctx, request, context)


def _opened_in_turns(ctx: RequestContext, request: FetchRequest) -> Steps[Pending[FetchResponse]]:
    context = yield from open_in_turns(ctx, request)
    return as_pending(_opened(ctx, request, context))


def _opened(
    ctx: RequestContext, request: FetchRequest, context: FetchContext | ErrorCode
) -> FetchResponse | Pending[FetchResponse]:
    if isinstance(context, ErrorCode):
        return FetchResponse(error_code=context)
    max_bytes = most_bytes(ctx, request.max_bytes)
    limits = FetchLimits(
        request.max_wait_ms, min(request.min_bytes, max_bytes), max_bytes, request.isolation_level == _READ_COMMITTED
    )
    refuse = refusal(ctx)
    partitions = context.partitions
    if len(partitions) > TURN_PARTITIONS:
        first = in_turns(ctx, read_in_turns(ctx, partitions, limits, refuse))
        assert isinstance(first, Pending)
        return first.chain(lambda read: as_pending(_read(ctx, context, partitions, limits, refuse, read)))
    read = FetchRead(ctx.services.lookup, ctx.services.answer_budget, partitions, limits, refuse)
    return _read(ctx, context, partitions, limits, refuse, read)


def _read(
    ctx: RequestContext,
    context: FetchContext,
    partitions: list[SessionPartition],
    limits: FetchLimits,
    refuse: Refusal | None,
    read: FetchRead,
) -> FetchResponse | Pending[FetchResponse]:
    """The answer with what was read, or with what can be read later."""
    services = ctx.services
    if limits.max_wait_ms <= 0 or read.is_enough(limits):
        return _answer(ctx, context, partitions, read)
    if not read.has_room:
        limits = limits._replace(max_wait_ms=min(limits.max_wait_ms, ROOM_WAIT_MS))
    pending: Pending[FetchResponse] = Pending()

    def answer(read: FetchRead) -> None:
        as_pending(_answer(ctx, context, partitions, read)).on_complete(pending.complete)

    def done() -> None:
        if len(partitions) <= TURN_PARTITIONS:
            answer(FetchRead(services.lookup, services.answer_budget, partitions, limits, refuse))
            return
        last = in_turns(ctx, read_in_turns(ctx, partitions, limits, refuse))
        assert isinstance(last, Pending)
        last.on_complete(answer)

    if len(read.results) > TURN_PARTITIONS:
        run_in_turns(ctx, given_back(read.results))  # they are read again
    WaitingFetch(services.fetch_waits, read.logs, limits, ctx.connection.on_close, done)
    return pending


def failed(request: FetchRequest, error: ErrorCode) -> FetchResponse:
    """The answer when the request could not be handled; before v7 only partitions can say so."""
    topics = [
        FetchableTopicResponse(
            topic.topic,
            topic.topic_id,
            [
                PartitionData(part.partition, error, high_watermark=-1, aborted_transactions=None, records=b"")
                for part in topic.partitions
            ],
        )
        for topic in request.topics
    ]
    return FetchResponse(error_code=error, responses=topics)


def _answer(
    ctx: RequestContext, context: FetchContext, partitions: list[SessionPartition], read: FetchRead
) -> FetchResponse | Pending[FetchResponse]:
    throttle_ms = 0
    if ctx.services.quotas.active:
        now_ms = ctx.services.env.clock.now_ms()
        throttle_ms, allowed = ctx.account.fetch(read.bytes_read, now_ms)
        if not allowed:
            error, session_id = context.throttled()
            return FetchResponse(throttle_time_ms=throttle_ms, error_code=error, session_id=session_id)
    read.answered()
    if len(read.results) > TURN_PARTITIONS:
        return pending_in_turns(ctx, answer_in_turns(ctx, context, partitions, read, throttle_ms))
    answer = context.answer(read.results, ctx.services.env.clock.now_ms())
    topics: list[FetchableTopicResponse] = []
    add_by_topic(topics, answer.partitions)
    return FetchResponse(throttle_ms, answer.error, answer.session_id, topics)
