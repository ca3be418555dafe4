"""StreamsGroupDescribe: v0-1 (KIP-1071).

Behaviour: as where Apache Kafka's feature streams.version is 0: UNSUPPORTED_VERSION for each group.
"""

from __future__ import annotations

from shareq.broker.dispatch.context import RequestContext
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.streams_group_describe import (
    DescribedGroup,
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
)


def handle(_ctx: RequestContext, request: StreamsGroupDescribeRequest) -> StreamsGroupDescribeResponse:
    return failed(request, ErrorCode.UNSUPPORTED_VERSION)


def failed(request: StreamsGroupDescribeRequest, error: ErrorCode) -> StreamsGroupDescribeResponse:
    return StreamsGroupDescribeResponse(
        groups=[DescribedGroup(error_code=error, group_id=group_id) for group_id in request.group_ids]
    )
