"""DescribeTopicPartitions: v0 (KIP-966).

Behaviour: returns the named topics, or all, ordered by name, starting at the cursor, until the answer has as many
partitions as the client or `max.request.partition.size.limit` allows, but at least one. The next cursor is where to
continue; it is null at the end. Unknown and invalid names get a row with their error. A cursor that is not in the list
of names, or has a negative partition, gets INVALID_REQUEST. Leaders are shown as in Metadata, and a node asks its
cluster for unknown topics, too.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable
from heapq import merge
from itertools import islice

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.dispatch.named_nodes import name_leaders
from shareq.broker.foundation.turn_budget import in_pieces
from shareq.broker.handlers.shared import authorized_operations
from shareq.broker.metadata.topic_names import name_error
from shareq.broker.security.rights import DESCRIBE_TOPIC
from shareq.coordinator.ports import TopicImage
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponseCursor,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)


async def handle(ctx: RequestContext, request: DescribeTopicPartitionsRequest) -> DescribeTopicPartitionsResponse:
    cursor = request.cursor
    if cursor is not None and cursor.partition_index < 0:
        return failed(request, ErrorCode.INVALID_REQUEST)
    all_topics = not request.topics
    first_name = cursor.topic_name if cursor is not None else ""
    named = (topic.name for topic in request.topics)
    hearing, unheard = ctx.services.metadata.hearing, frozenset[str | bytes]()
    if hearing is not None and all_topics:
        await hearing.of_all()
    elif hearing is not None:
        seen = (topic.name for topic in request.topics if ctx.sees(DESCRIBE_TOPIC, topic.name))
        unheard = frozenset(await hearing.of(seen))
    names = await _sorted(ctx, ctx.services.metadata.topic_names() if all_topics else named)
    at = bisect_left(names, first_name)
    if cursor is not None and not all_topics and names[at : at + 1] != [first_name]:
        return failed(request, ErrorCode.INVALID_REQUEST)
    may = ctx.sees if all_topics else ctx.may
    visible: list[str] = []
    hidden: list[str] = []
    for name in islice(names, at, None):
        (visible if may(DESCRIBE_TOPIC, name) else hidden).append(name)
        await ctx.breathe()
    response = await _page(
        ctx,
        visible,
        {} if cursor is None else {cursor.topic_name: cursor.partition_index},
        max(1, min(request.response_partition_limit, ctx.services.configs.broker.max_request_partition_size_limit)),
        None if all_topics else unheard,
    )
    if not all_topics:  # of all topics, only those are returned that the client may describe
        for name in hidden:
            response.topics.append(_hidden(name))
            await ctx.breathe()
    return response


def failed(request: DescribeTopicPartitionsRequest, error: ErrorCode) -> DescribeTopicPartitionsResponse:
    rows = [DescribeTopicPartitionsResponseTopic(error_code=error, name=topic.name) for topic in request.topics]
    return DescribeTopicPartitionsResponse(topics=rows)


async def _page(
    ctx: RequestContext,
    names: list[str],
    first_partitions: dict[str, int],
    limit: int,
    unheard: Collection[str | bytes] | None,
) -> DescribeTopicPartitionsResponse:
    """Return the rows up to the limit.

    `unheard` has the names for which the cluster gave no answer. It is None when all topics are requested: then missing
    ones are left out.
    """
    response = DescribeTopicPartitionsResponse()
    for name in names:
        await ctx.breathe()
        first = first_partitions.get(name, 0)
        if limit <= 0:
            response.next_cursor = DescribeTopicPartitionsResponseCursor(name, first)
            break
        topic = ctx.services.metadata.topic(name)
        if topic is None:
            # Deleted meanwhile, or unknown.
            response.topics += [] if unheard is None else [_unknown(ctx, name, is_heard=name not in unheard)]
            continue
        last = min(topic.partitions, first + limit)
        response.topics.append(_row(ctx, topic, first, last))
        if last < topic.partitions:
            response.next_cursor = DescribeTopicPartitionsResponseCursor(name, last)
            break
        limit -= max(last - first, 0)
    return response


async def _sorted(ctx: RequestContext, names: Iterable[str]) -> list[str]:
    """Return the names in order, without repetition."""
    known: dict[str, None] = {}
    for name in names:
        known[name] = None
        await ctx.breathe()
    parts: list[list[str]] = []
    for some in in_pieces(list(known)):
        parts.append(sorted(some))
        await ctx.breathe(len(some))
    if len(parts) == 1:
        return parts[0]
    merged: list[str] = []
    for name in merge(*parts):
        merged.append(name)
        await ctx.breathe()
    return merged


def _hidden(name: str) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(error_code=DESCRIBE_TOPIC.error, name=name)


def _unknown(ctx: RequestContext, name: str, *, is_heard: bool) -> DescribeTopicPartitionsResponseTopic:
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if is_heard else ErrorCode.LEADER_NOT_AVAILABLE
    if name_error(name) is not None:
        code = ErrorCode.INVALID_TOPIC_EXCEPTION
    return DescribeTopicPartitionsResponseTopic(
        error_code=code, name=name, topic_authorized_operations=authorized_operations.on_topic(ctx, name)
    )


def _row(ctx: RequestContext, topic: TopicImage, first: int, end: int) -> DescribeTopicPartitionsResponseTopic:
    """Return a topic with its partitions from `first` up to, but not including, `end`."""
    node_id = ctx.services.started_with.node_id
    partitions = [
        DescribeTopicPartitionsResponsePartition(
            partition_index=index,
            leader_id=node_id,
            leader_epoch=0,
            replica_nodes=[node_id],
            isr_nodes=[node_id],
            eligible_leader_replicas=[],
            last_known_elr=[],
        )
        for index in range(first, end)
    ]
    name_leaders(ctx, topic.name, partitions)
    return DescribeTopicPartitionsResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.internal,
        partitions=partitions,
        topic_authorized_operations=authorized_operations.on_topic(ctx, topic.name),
    )
