"""StreamsGroupTopologyDescriptionUpdate: v0 (KIP-1331).

Behaviour: as where Apache Kafka's feature streams.version is 0: UNSUPPORTED_VERSION.
"""

from __future__ import annotations

from shareq.broker.dispatch.context import RequestContext
from shareq.protocol.errors import ErrorCode, text_of
from shareq.protocol.generated.streams_group_topology_description_update import (
    StreamsGroupTopologyDescriptionUpdateRequest,
    StreamsGroupTopologyDescriptionUpdateResponse,
)


def handle(
    _ctx: RequestContext, _request: StreamsGroupTopologyDescriptionUpdateRequest
) -> StreamsGroupTopologyDescriptionUpdateResponse:
    error = ErrorCode.UNSUPPORTED_VERSION
    return StreamsGroupTopologyDescriptionUpdateResponse(error_code=error, error_message=text_of(error))
