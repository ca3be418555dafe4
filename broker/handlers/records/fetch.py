"""Fetch: v4-18 (KIP-227 sessions, KIP-74 limits, KIP-516 topic ids).

Behaviour: long poll until min_bytes can be read or max_wait_ms is over; an error in a partition answers at once. The
first batch of an answer is complete, even beyond the limits. read_committed reads up to the last stable offset. v7:
sessions. v9: leader epochs. v11: rack. v12: last fetched epoch. v13: topic ids. v15: replica state instead of replica
id. v16: the addresses of other brokers that lead partitions.

Here: rack, last fetched epoch, replica id and replica state are ignored: there is one broker, one epoch, no follower. A
client that is over its quota gets an answer without records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.dispatch.named_nodes import add_endpoint, leader_to_name
from shareq.broker.fetch.read import FetchRead
from shareq.broker.fetch.sessions import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    NO_SESSION,
    FetchContext,
    PartitionKey,
    SessionPartition,
    TopicKey,
)
from shareq.broker.fetch.wait import FetchLimits, WaitingFetch
from shareq.broker.foundation.turn_budget import LOOK, PAUSE, PIECE, in_pieces
from shareq.broker.handlers.shared.fetch_bound import most_bytes
from shareq.broker.network.answer_budget import ROOM_WAIT_MS
from shareq.broker.security.rights import READ_TOPIC
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)

_READ_COMMITTED = 1
_LEADERS_FROM: Final = 16


async def handle(ctx: RequestContext, request: FetchRequest) -> FetchResponse:
    """Read, or wait until there are records to read."""
    context = await opened(ctx, request)
    if isinstance(context, ErrorCode):
        return FetchResponse(error_code=context)
    max_bytes = most_bytes(ctx, request.max_bytes)
    limits = FetchLimits(
        request.max_wait_ms, min(request.min_bytes, max_bytes), max_bytes, request.isolation_level == _READ_COMMITTED
    )
    services, partitions = ctx.services, context.partitions
    read = await _read(ctx, partitions, limits)
    if limits.max_wait_ms > 0 and not read.is_enough(limits):
        read = await _waited(ctx, partitions, limits, read)
    throttle_ms, allowed = 0, True
    if services.quotas.active:
        throttle_ms, allowed = ctx.account.fetch(read.bytes_read, services.env.clock.now_ms())
    error, session_id = context.throttled()
    topics: list[FetchableTopicResponse] = []
    if allowed and not error:
        read.answered()
        for rows in in_pieces(read.results):
            add_by_topic(topics, context.noted(rows))
            await ctx.breathe(len(rows))
        error, session_id = context.answered(services.env.clock.now_ms())
    if len(partitions) > PIECE:
        await _give_back(ctx, context, partitions, read, session_id)
    response = FetchResponse(throttle_ms, error, session_id, [] if error else topics)
    if read.has_error and ctx.api_version >= _LEADERS_FROM:
        await name_leaders(ctx, response)
    return response


async def _read(ctx: RequestContext, partitions: list[SessionPartition], limits: FetchLimits) -> FetchRead:
    """Read every partition; small reads are done without a pause.

    If threads had to read from the disk, read all again afterwards, even if the time to wait is over, unless enough was
    in memory.
    """
    services = ctx.services
    while True:
        read = FetchRead(services.lookup, services.answer_budget, services.large_reads, limits, refusal(ctx))
        for some in in_pieces(partitions):
            left = some
            while left:
                left = read.go_on(left)
                if read.wants_turn:
                    await read.turn()
                elif left or len(partitions) > PIECE:
                    breath = ctx.breathe(read.take_elements())
                    if breath is PAUSE:
                        await read.pause(breath)
        if read.being_read is None or read.is_enough(limits):
            return read
        arrived = read.being_read
        del read  # its records are read again
        await arrived
        await ctx.breathe(LOOK)  # others may have waited for the same


async def _waited(
    ctx: RequestContext, partitions: list[SessionPartition], limits: FetchLimits, read: FetchRead
) -> FetchRead:
    """Read again when there may be enough bytes, or the time is up. Continue to wait while a log is still fetching the
    wanted records.
    """
    now_ms = ctx.services.env.clock.now_ms
    deadline_ms = now_ms() + limits.max_wait_ms
    goes_on = True
    while goes_on:
        if not read.has_room:
            limits = limits._replace(max_wait_ms=min(limits.max_wait_ms, ROOM_WAIT_MS))
        waiting = WaitingFetch(ctx.services.fetch_waits, read.logs, limits)
        try:
            await _counted(ctx, waiting, read, limits)
            await ctx.give_back(read.results)  # they are read again
            may_have_more = await waiting.finished
        finally:
            waiting.leave()
        read = await _read(ctx, partitions, limits)
        limits = limits._replace(max_wait_ms=deadline_ms - now_ms())
        goes_on = may_have_more and bool(read.not_here) and limits.max_wait_ms > 0 and not read.is_enough(limits)
    return read


async def _counted(ctx: RequestContext, waiting: WaitingFetch, read: FetchRead, limits: FetchLimits) -> None:
    """Count the bytes that can be read already, and end the wait if more arrived while many partitions were read."""
    many = len(read.results) > PIECE or read.paused
    if many or limits.min_bytes > 1:
        for some in in_pieces([log for log in read.logs if log not in read.not_here]):
            waiting.count(some)
            await ctx.breathe(len(some))
    if many and read.has_room and waiting.has_enough:
        waiting.finish()


async def _give_back(
    ctx: RequestContext, context: FetchContext, partitions: list[SessionPartition], read: FetchRead, session_id: int
) -> None:
    """Release the memory held for many partitions, in parts."""
    await ctx.give_back(read.results)
    await ctx.give_back(partitions)
    if session_id == NO_SESSION:
        await ctx.give_back(context.given_up())


def failed(request: FetchRequest, error: ErrorCode) -> FetchResponse:
    """Return the answer for a request that could not be handled; before v7 only partitions can carry the error."""
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


IDS_FROM: Final = 13

Refusal = Callable[[SessionPartition], ErrorCode]


async def opened(ctx: RequestContext, request: FetchRequest) -> FetchContext | ErrorCode:
    """Return the fetch's context, from the request and its session, or the error. Of a partition named twice, the last
    entry is used.
    """
    sessions, by_id = ctx.services.fetch_sessions, ctx.api_version >= IDS_FROM
    session_id, epoch = request.session_id, request.session_epoch
    if epoch in (INITIAL_EPOCH, FINAL_EPOCH):
        requested: dict[PartitionKey, SessionPartition] = {}
        for topic in request.topics:
            key = topic.topic_id if by_id else topic.topic
            for some in in_pieces(topic.partitions):
                _add_requested(requested, key, some)
                await ctx.breathe(1 + len(some))
        return sessions.open(session_id, epoch, requested, uses_topic_ids=by_id)
    session = sessions.find(session_id, epoch, uses_topic_ids=by_id)
    if isinstance(session, ErrorCode):
        return session
    for topic in request.topics:
        for some in in_pieces(topic.partitions):
            changed: dict[PartitionKey, SessionPartition] = {}
            _add_requested(changed, topic.topic_id if by_id else topic.topic, some)
            session.update(changed.values())
            await ctx.breathe(1 + len(some))
    for gone in request.forgotten_topics_data:
        key = gone.topic_id if by_id else gone.topic
        for numbers in in_pieces(gone.partitions):
            session.forget([(key, number) for number in numbers])
            await ctx.breathe(1 + len(numbers))
    return sessions.resume(session_id, epoch, uses_topic_ids=by_id, now_ms=ctx.services.env.clock.now_ms())


def _add_requested(
    requested: dict[PartitionKey, SessionPartition], key: TopicKey, partitions: Sequence[FetchPartition]
) -> None:
    for part in partitions:
        requested[key, part.partition] = SessionPartition(
            key,
            part.partition,
            part.fetch_offset,
            part.partition_max_bytes,
            part.current_leader_epoch,
            part.last_fetched_epoch,
        )


def refusal(ctx: RequestContext) -> Refusal | None:
    """Return a function from a partition to the error for which this client may not read it (NONE: it may).

    Return None if every client may read all partitions.
    """
    if ctx.services.authorizer is None:
        return None
    metadata = ctx.services.metadata

    def refuse(partition: SessionPartition) -> ErrorCode:
        topic = partition.topic
        if isinstance(topic, bytes):
            image = metadata.topic_by_id(topic)
            if image is None:
                return ErrorCode.NONE  # an unknown id reveals no name; it is reported later
            topic = image.name
        return ErrorCode.NONE if ctx.may(READ_TOPIC, topic) else READ_TOPIC.error

    return refuse


async def name_leaders(ctx: RequestContext, response: FetchResponse) -> None:
    """Add the leaders of partitions that other brokers lead (KIP-951)."""
    metadata = ctx.services.metadata
    for topic in response.responses:
        image = metadata.topic_by_id(topic.topic_id)
        for row in topic.partitions:
            leader = leader_to_name(ctx, image.name if image else None, row.partition_index, row.error_code)
            if leader is not None:
                row.current_leader = LeaderIdAndEpoch(leader.node_id, leader.epoch)
                if leader.address is not None:
                    add_endpoint(response.node_endpoints, NodeEndpoint(*leader.address))
            await ctx.breathe()


def add_by_topic(
    topics: list[FetchableTopicResponse], partitions: Iterable[tuple[SessionPartition, PartitionData]]
) -> None:
    """Add rows to an answer, with adjacent ones of a topic in one entry. Their order is kept, since it is the order of
    reading.
    """
    last: str | bytes | None = None
    if topics:
        last = topics[-1].topic or topics[-1].topic_id
    for partition, data in partitions:
        key = partition.topic
        if key != last:
            last = key
            topics.append(
                FetchableTopicResponse(topic_id=key) if isinstance(key, bytes) else FetchableTopicResponse(topic=key)
            )
        topics[-1].partitions.append(data)
