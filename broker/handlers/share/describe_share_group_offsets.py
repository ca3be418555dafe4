"""DescribeShareGroupOffsets: v0-1 (KIP-932).

Behaviour: start offsets as persisted, which trail what the members have done by one write. Null topics mean all that
the group has state of. DESCRIBE on the group is needed, and on each topic; of all topics, those are shown that may be
described. The group need not exist, nor the topic: what is not known is -1, without an error. Where it cannot be known
which topics the group has state of, the group is refused with NOT_COORDINATOR.
v1: lag, the records from the start offset to the high watermark that are not finished (KIP-1226).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.foundation.pending import Pending, completed, gather
from shareq.broker.groups.administration import ShareOffset
from shareq.broker.security.rights import DESCRIBE_GROUP, DESCRIBE_TOPIC
from shareq.protocol.errors import ErrorCode, text_of
from shareq.protocol.generated.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)
from shareq.protocol.primitives import ZERO_UUID


def handle(
    ctx: RequestContext, request: DescribeShareGroupOffsetsRequest
) -> DescribeShareGroupOffsetsResponse | Pending[DescribeShareGroupOffsetsResponse]:
    if not ctx.services.metadata.share_groups_enabled:
        return failed(request, ErrorCode.UNSUPPORTED_VERSION)
    groups = gather([_describe(ctx, group) for group in request.groups])
    return groups.then(lambda groups: DescribeShareGroupOffsetsResponse(groups=groups))


def failed(request: DescribeShareGroupOffsetsRequest, error: ErrorCode) -> DescribeShareGroupOffsetsResponse:
    return DescribeShareGroupOffsetsResponse(groups=[_refused(group.group_id, error) for group in request.groups])


def _refused(group_id: str, error: ErrorCode) -> DescribeShareGroupOffsetsResponseGroup:
    return DescribeShareGroupOffsetsResponseGroup(group_id, [], error, text_of(error))


def _describe(
    ctx: RequestContext, group: DescribeShareGroupOffsetsRequestGroup
) -> Pending[DescribeShareGroupOffsetsResponseGroup]:
    if not ctx.may(DESCRIBE_GROUP, group.group_id):
        return completed(DescribeShareGroupOffsetsResponseGroup(group.group_id, [], DESCRIBE_GROUP.error))
    if group.topics is None:
        topics = ctx.services.groups.administration.topics_with_offsets(group.group_id)
        return topics.chain(lambda topics: _describe_all(ctx, group.group_id, topics))
    named: dict[str, dict[int, None]] = {}  # in order, each partition once
    for topic in group.topics:
        named.setdefault(topic.topic_name, {}).update(dict.fromkeys(topic.partitions))
    topics_named = {name: list(partitions) for name, partitions in named.items()}
    seen = _visible(ctx, topics_named)
    hidden = [_hidden(name, topics_named[name]) for name in topics_named if name not in seen]

    def respond(described: DescribeShareGroupOffsetsResponseGroup) -> DescribeShareGroupOffsetsResponseGroup:
        described.topics += hidden
        return described

    return _describe_topics(ctx, group.group_id, seen).then(respond)


def _describe_all(
    ctx: RequestContext, group_id: str, topics: Mapping[str, Sequence[int]] | ErrorCode
) -> Pending[DescribeShareGroupOffsetsResponseGroup]:
    if isinstance(topics, ErrorCode):
        return completed(_refused(group_id, topics))
    return _describe_topics(ctx, group_id, _visible(ctx, topics))


def _visible(ctx: RequestContext, topics: Mapping[str, Sequence[int]]) -> Mapping[str, Sequence[int]]:
    hidden = ctx.lacking(DESCRIBE_TOPIC, topics)
    return {name: topics[name] for name in topics if name not in hidden} if hidden else topics


def _hidden(name: str, partitions: Sequence[int]) -> DescribeShareGroupOffsetsResponseTopic:
    unseen = ShareOffset(error=DESCRIBE_TOPIC.error)
    return DescribeShareGroupOffsetsResponseTopic(name, ZERO_UUID, [_partition(index, unseen) for index in partitions])


def _describe_topics(
    ctx: RequestContext, group_id: str, topics: Mapping[str, Sequence[int]]
) -> Pending[DescribeShareGroupOffsetsResponseGroup]:
    def respond(offsets: Mapping[tuple[str, int], ShareOffset]) -> DescribeShareGroupOffsetsResponseGroup:
        rows = []
        for name, partitions in topics.items():
            image = ctx.services.metadata.topic(name)
            parts = [_partition(partition, offsets[name, partition]) for partition in partitions]
            topic_id = ZERO_UUID if image is None else image.topic_id
            rows.append(DescribeShareGroupOffsetsResponseTopic(name, topic_id, parts))
        return DescribeShareGroupOffsetsResponseGroup(group_id, rows)

    return ctx.services.groups.administration.describe_offsets(group_id, topics).then(respond)


def _partition(partition: int, offset: ShareOffset) -> DescribeShareGroupOffsetsResponsePartition:
    message = text_of(offset.error) if offset.error else None
    return DescribeShareGroupOffsetsResponsePartition(
        partition, offset.start_offset, offset.leader_epoch, offset.lag, offset.error, message
    )
