"""StreamsGroupHeartbeat: v0-1 (KIP-1071).

Behaviour: as where Apache Kafka's feature streams.version is 0: there are no groups of Kafka Streams' own protocol,
UNSUPPORTED_VERSION. Its classic protocol works.
"""

from __future__ import annotations

from shareq.broker.dispatch.context import RequestContext
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
)


def handle(_ctx: RequestContext, _request: StreamsGroupHeartbeatRequest) -> StreamsGroupHeartbeatResponse:
    return StreamsGroupHeartbeatResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
