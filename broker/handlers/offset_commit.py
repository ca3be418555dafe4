"""OffsetCommit: v2-10.

Behaviour: each partition stands alone where it concerns topics and metadata; what is wrong with the group or its member
stands in every row. Without a group and a generation it makes a group that only keeps offsets.
v2-4: a retention for these offsets. v6: leader epochs. v7: static members. v9: member epochs; an unknown group is
GROUP_ID_NOT_FOUND, before ILLEGAL_GENERATION. v10: topics by their ids.
"""

from __future__ import annotations

from shareq.broker.context import RequestContext
from shareq.broker.handlers import VersionRange
from shareq.broker.pending import Pending
from shareq.coordinator.group.offsets.commit import refused
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.offset_commit import OffsetCommitRequest, OffsetCommitResponse

VERSIONS = VersionRange(2, 10)


def handle(ctx: RequestContext, request: OffsetCommitRequest) -> Pending[OffsetCommitResponse]:
    return ctx.broker.group_offsets.commit(request, ctx.api_version)


def failed(request: OffsetCommitRequest, error: ErrorCode) -> OffsetCommitResponse:
    return refused(request, error)
