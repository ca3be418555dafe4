"""OffsetFetch, forwarded to the coordinator of each group: v1-10, cut to the cluster's.

Behaviour: as the cluster's. Leader epochs are left out: clients would compare them with a node's, which differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from shareq.broker.handlers.groups.offset_fetch import failed
from shareq.broker.security.rights import DESCRIBE_GROUP, DESCRIBE_TOPIC
from shareq.cluster.forward.coordinators import Kind
from shareq.cluster.forward.forwarding import ForwardContext, is_hidden
from shareq.coordinator.group.offsets.fetch import NO_OFFSET
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)

__all__ = ["CONTEXT", "failed", "handle"]

CONTEXT = ForwardContext
_MANY_GROUPS_FROM: Final = 8
_NO_EPOCH: Final = -1

Asked: TypeAlias = OffsetFetchRequest | OffsetFetchRequestGroup
"""A group with the topics that are asked for. Versions before 8 have one group, in the request's own fields."""
Answered: TypeAlias = OffsetFetchResponse | OffsetFetchResponseGroup
AskedTopic: TypeAlias = OffsetFetchRequestTopic | OffsetFetchRequestTopics
AnsweredTopic: TypeAlias = OffsetFetchResponseTopic | OffsetFetchResponseTopics


async def handle(ctx: ForwardContext, request: OffsetFetchRequest) -> OffsetFetchResponse:
    """Ask the coordinators of the groups, one after the other."""
    if ctx.api_version < _MANY_GROUPS_FROM:
        return await _of_group(ctx, request, request)
    response = OffsetFetchResponse()
    for group in request.groups:
        one = OffsetFetchRequest(groups=[group], require_stable=request.require_stable)
        response.groups += (await _of_group(ctx, one, group)).groups
    return response


async def _of_group(ctx: ForwardContext, request: OffsetFetchRequest, group: Asked) -> OffsetFetchResponse:
    """Return the coordinator's answer for a request that names one group."""
    if error := ctx.refusal_of(DESCRIBE_GROUP, group.group_id):
        return failed(request, error)
    asked, refused = await _without_refused(ctx, group.topics)
    if refused and not asked:
        named = OffsetFetchResponseGroup(group.group_id)
        answer = OffsetFetchResponse(groups=[named] if ctx.api_version >= _MANY_GROUPS_FROM else [])
    else:
        all_topics, group.topics = group.topics, asked  # type: ignore[assignment]  # of the group's own kind
        found = await ctx.ask_coordinator(Kind.GROUP, group.group_id, request, OffsetFetchResponse)
        group.topics = all_topics
        if isinstance(found, ErrorCode):
            return failed(request, found)
        answer = found
    every: Sequence[Answered] = answer.groups or [answer]
    for each in every:
        await _show(ctx, each, named=group.topics is not None)
        each.topics.extend(refused)  # type: ignore[arg-type]  # likewise
    return answer


async def _without_refused(
    ctx: ForwardContext, topics: Sequence[AskedTopic] | None
) -> tuple[list[AskedTopic] | None, list[AnsweredTopic]]:
    """Return the topics that the client may describe, and rows for the other ones. None stands for all topics."""
    if topics is None:
        return None, []
    kept: list[AskedTopic] = []
    refused: list[AnsweredTopic] = []
    for topic, name in zip(topics, await ctx.names_of(topics), strict=True):
        error = ErrorCode.NONE if name is None else ctx.refusal(DESCRIBE_TOPIC, name)
        if error:
            refused.append(_row(topic, error))
        else:
            kept.append(topic)
        await ctx.breathe(1 + len(topic.partition_indexes))
    return kept, refused


async def _show(ctx: ForwardContext, answered: Answered, *, named: bool) -> None:
    """Remove leader epochs, and topics that the client neither named nor may describe."""
    topics: Sequence[AnsweredTopic] = answered.topics
    kept: list[AnsweredTopic] = []
    for topic, name in zip(topics, [] if named else await ctx.names_of(topics), strict=not named):
        if name is not None and ctx.sees(DESCRIBE_TOPIC, name) and not is_hidden(name):
            kept.append(topic)
        await ctx.breathe()
    if not named:
        answered.topics = kept  # type: ignore[assignment]
    for topic in answered.topics:
        for row in topic.partitions:
            row.committed_leader_epoch = _NO_EPOCH
        await ctx.breathe(1 + len(topic.partitions))


def _row(topic: AskedTopic, error: ErrorCode) -> AnsweredTopic:
    if isinstance(topic, OffsetFetchRequestTopic):
        rows = [OffsetFetchResponsePartition(at, NO_OFFSET, error_code=error) for at in topic.partition_indexes]
        return OffsetFetchResponseTopic(topic.name, rows)
    return OffsetFetchResponseTopics(
        topic.name,
        topic.topic_id,
        [OffsetFetchResponsePartitions(at, NO_OFFSET, error_code=error) for at in topic.partition_indexes],
    )
