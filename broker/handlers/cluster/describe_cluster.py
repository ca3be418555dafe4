"""DescribeCluster: v0-2.

Behaviour: this broker is the whole cluster, its controller included.
v1: endpoint types; controllers have no listener here: MISMATCHED_ENDPOINT_TYPE, and UNSUPPORTED_ENDPOINT_TYPE for a
type that does not exist. v2: fenced brokers may be asked for; there is none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shareq.broker.handlers.shared import authorized_operations
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)

if TYPE_CHECKING:
    from shareq.broker.dispatch.context import RequestContext


_BROKERS: Final = 1
_CONTROLLERS: Final = 2


def handle(ctx: RequestContext, request: DescribeClusterRequest) -> DescribeClusterResponse:
    if request.endpoint_type != _BROKERS:
        return _wrong_endpoint_type(ctx.api_version, request.endpoint_type)
    services = ctx.services
    endpoint = services.endpoint_for(ctx.connection.listener)
    response = DescribeClusterResponse(
        cluster_id=services.metadata.cluster_id,
        controller_id=endpoint.node_id,
        brokers=[
            DescribeClusterBroker(endpoint.node_id, endpoint.host, endpoint.port, services.configs.broker.broker_rack)
        ],
    )
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = authorized_operations.on_cluster(ctx)
    return response


def _wrong_endpoint_type(version: int, endpoint_type: int) -> DescribeClusterResponse:
    if endpoint_type == _CONTROLLERS:
        code = ErrorCode.MISMATCHED_ENDPOINT_TYPE
        message = "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER"
    else:
        code = ErrorCode.UNSUPPORTED_ENDPOINT_TYPE
        message = f"Unsupported endpoint type {endpoint_type}"
    if version == 0:
        code = ErrorCode.INVALID_REQUEST
    return DescribeClusterResponse(error_code=code, error_message=message)
