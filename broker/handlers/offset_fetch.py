"""OffsetFetch: v1-10 (KIP-88).

Behaviour: the offsets of a group, of the partitions that are named, or of all that it has committed: no topics at all
(null) ask for the latter, an empty list for nothing. A partition without an offset is -1; so are all of a group that
does not exist.
v1: no null list; an error of the group stands in every row. v2: null lists, and a place for such errors. v5: leader
epochs. v7: `require_stable`. v8: many groups at once. v9: member id and epoch. v10: topics by their ids.
"""

from __future__ import annotations

from shareq.broker.context import RequestContext
from shareq.broker.handlers import VersionRange
from shareq.broker.pending import Pending, gather
from shareq.coordinator.group.offsets.fetch import refused_by_partition
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)

VERSIONS = VersionRange(1, 10)

_MANY_GROUPS_FROM = 8


def handle(ctx: RequestContext, request: OffsetFetchRequest) -> Pending[OffsetFetchResponse]:
    version, stable, offsets = ctx.api_version, request.require_stable, ctx.broker.group_offsets
    if version >= _MANY_GROUPS_FROM:
        groups = gather([offsets.fetch(group, version, require_stable=stable) for group in request.groups])
        return groups.then(lambda groups: OffsetFetchResponse(groups=groups))
    return offsets.fetch(_group_of(request), version, require_stable=stable).then(_response_of)


def failed(request: OffsetFetchRequest, error: ErrorCode) -> OffsetFetchResponse:
    """In every version an error for each place that it has: rows of version 1, the group, or each of many."""
    response = _response_of(refused_by_partition(_group_of(request), error))
    response.error_code = error
    response.groups = [OffsetFetchResponseGroup(group.group_id, error_code=error) for group in request.groups]
    return response


def _group_of(request: OffsetFetchRequest) -> OffsetFetchRequestGroup:
    """The one group of earlier versions."""
    topics = None
    if request.topics is not None:
        topics = [
            OffsetFetchRequestTopics(name=topic.name, partition_indexes=topic.partition_indexes)
            for topic in request.topics
        ]
    return OffsetFetchRequestGroup(request.group_id, topics=topics)


def _response_of(group: OffsetFetchResponseGroup) -> OffsetFetchResponse:
    topics = [
        OffsetFetchResponseTopic(
            topic.name,
            [
                OffsetFetchResponsePartition(
                    row.partition_index, row.committed_offset, row.committed_leader_epoch, row.metadata, row.error_code
                )
                for row in topic.partitions
            ],
        )
        for topic in group.topics
    ]
    return OffsetFetchResponse(topics=topics, error_code=group.error_code)
