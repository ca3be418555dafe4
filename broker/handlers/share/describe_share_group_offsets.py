"""DescribeShareGroupOffsets: v0-1 (KIP-932).

Behaviour: start offsets as persisted, which trail what the members have done by one write. Null topics mean all that
the group has state of. DESCRIBE on the group is needed, and on each topic; of all topics, those are shown that may be
described. The group need not exist, nor the topic: what is not known is -1, without an error. Where it cannot be known
which topics the group has state of, the group is refused with NOT_COORDINATOR.
v1: lag, the records from the start offset to the high watermark that are not finished (KIP-1226).
"""

from __future__ import annotations

from itertools import chain

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.dispatch.in_turns import pending_in_turns
from shareq.broker.foundation.pending import Pending
from shareq.broker.handlers.shared.long.share_offsets import described, refused
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsResponse,
)


def handle(
    ctx: RequestContext, request: DescribeShareGroupOffsetsRequest
) -> DescribeShareGroupOffsetsResponse | Pending[DescribeShareGroupOffsetsResponse]:
    if not ctx.services.metadata.share_groups_enabled:
        return failed(request, ErrorCode.UNSUPPORTED_VERSION)
    return pending_in_turns(ctx, described(ctx, request.groups)).then(
        lambda groups: DescribeShareGroupOffsetsResponse(groups=list(chain.from_iterable(groups)))
    )


def failed(request: DescribeShareGroupOffsetsRequest, error: ErrorCode) -> DescribeShareGroupOffsetsResponse:
    return DescribeShareGroupOffsetsResponse(groups=[refused(group.group_id, error) for group in request.groups])
