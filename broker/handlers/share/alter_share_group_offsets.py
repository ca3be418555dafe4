"""AlterShareGroupOffsets: v0 (KIP-932).

Behaviour: gives share partitions of a group without members new start offsets, which need not be in the log; -1 means
the offset that the group's share.auto.offset.reset gives. The states of records are forgotten. A group that does not
exist is created. READ on the group is needed, and on each topic. NON_EMPTY_GROUP, INVALID_GROUP_ID and
GROUP_ID_NOT_FOUND (for another kind of group) are returned for the whole request, UNKNOWN_TOPIC_OR_PARTITION for one
partition.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Final

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.groups.administration import AlteredOffsets
from shareq.broker.security.rights import READ_GROUP, READ_TOPIC
from shareq.protocol.errors import ApiError, ErrorCode, text_of
from shareq.protocol.generated.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestTopic,
    AlterShareGroupOffsetsResponse,
    AlterShareGroupOffsetsResponsePartition,
    AlterShareGroupOffsetsResponseTopic,
)
from shareq.protocol.primitives import ZERO_UUID

_REFUSED: Final = ApiError(READ_TOPIC.error, text_of(READ_TOPIC.error))


async def handle(ctx: RequestContext, request: AlterShareGroupOffsetsRequest) -> AlterShareGroupOffsetsResponse:
    if not ctx.services.metadata.share_groups_enabled:
        return _refusal(ErrorCode.UNSUPPORTED_VERSION)
    if not ctx.may(READ_GROUP, request.group_id):
        return _refusal(READ_GROUP.error)
    topics = request.topics  # the request is emptied before the answer arrives, except for parts with references
    refused = await ctx.find_lacking(READ_TOPIC, (topic.topic_name for topic in topics))
    offsets: dict[str, dict[int, int]] = {}
    for topic in topics:
        if topic.topic_name not in refused:
            by_partition = offsets.setdefault(topic.topic_name, {})
            for partition in topic.partitions:
                by_partition[partition.partition_index] = partition.start_offset
                await ctx.breathe()
        await ctx.breathe()
    hearing, groups = ctx.services.metadata.hearing, ctx.services.groups
    if hearing is not None:
        await hearing.of(offsets)
    asked = await groups.administration.offsets_to_alter(offsets)
    await ctx.give_back(offsets)
    full = groups.names.refusal(request.group_id, ctx.owner)
    if full:
        return AlterShareGroupOffsetsResponse(error_code=ErrorCode.GROUP_MAX_SIZE_REACHED, error_message=full)
    altered = await groups.administration.alter_offsets(request.group_id, asked)
    groups.names.settle(request.group_id, ctx.owner)
    response = await _response(ctx, topics, altered, refused)
    await ctx.give_back(altered.partitions)
    return response


def _refusal(error: ErrorCode) -> AlterShareGroupOffsetsResponse:
    return AlterShareGroupOffsetsResponse(error_code=error, error_message=text_of(error))


async def _response(
    ctx: RequestContext,
    asked: Sequence[AlterShareGroupOffsetsRequestTopic],
    altered: AlteredOffsets,
    refused: Set[str],
) -> AlterShareGroupOffsetsResponse:
    if altered.error:
        return AlterShareGroupOffsetsResponse(error_code=altered.error.code, error_message=altered.error.message)
    topics: dict[str, AlterShareGroupOffsetsResponseTopic] = {}
    for each in asked:
        name = each.topic_name
        if name not in topics:
            image = ctx.services.metadata.topic(name)
            topics[name] = AlterShareGroupOffsetsResponseTopic(name, ZERO_UUID if image is None else image.topic_id)
        for partition in each.partitions:
            result = _REFUSED if name in refused else altered.partitions[name, partition.partition_index]
            topics[name].partitions.append(
                AlterShareGroupOffsetsResponsePartition(partition.partition_index, result.code, result.message)
            )
            await ctx.breathe()
        await ctx.breathe()
    return AlterShareGroupOffsetsResponse(responses=list(topics.values()))
