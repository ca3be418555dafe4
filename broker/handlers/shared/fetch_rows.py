"""The partitions of a Fetch: its session, one pass over them, and the rows of the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.dispatch.named_nodes import add_endpoint, leader_to_name
from shareq.broker.fetch.sessions import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    FetchContext,
    PartitionKey,
    SessionPartition,
    TopicKey,
)
from shareq.broker.foundation.turn_budget import in_pieces
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

IDS_FROM: Final = 13

Refusal = Callable[[SessionPartition], ErrorCode]


async def opened(ctx: RequestContext, request: FetchRequest) -> FetchContext | ErrorCode:
    """Return the fetch's context, by the request and its session; of a partition that is named twice the last one
    counts.
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
    """Return a function that refuses partitions that the client may not read; None where every client may."""
    if ctx.services.authorizer is None:
        return None
    metadata = ctx.services.metadata

    def refuse(partition: SessionPartition) -> ErrorCode:
        topic = partition.topic
        if isinstance(topic, bytes):
            image = metadata.topic_by_id(topic)
            if image is None:
                return ErrorCode.NONE  # an id gives no name away: that it is unknown is found out later
            topic = image.name
        return ErrorCode.NONE if ctx.may(READ_TOPIC, topic) else READ_TOPIC.error

    return refuse


async def name_leaders(ctx: RequestContext, response: FetchResponse) -> None:
    """Name the leaders of partitions that others lead (KIP-951)."""
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
    """Add rows to an answer, neighbours of one topic together; the order stays, since it is the order of reading."""
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
