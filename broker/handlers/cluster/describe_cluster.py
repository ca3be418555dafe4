"""DescribeCluster: v0-2.

Behaviour: returns the live brokers that have the request's listener; a single broker is also the controller. v1:
endpoint types; UNSUPPORTED_ENDPOINT_TYPE for an unknown one. v2: fenced brokers on request.

Here: controllers have no listener of their own, so a request for them gets MISMATCHED_ENDPOINT_TYPE. No broker is ever
fenced.
"""

from __future__ import annotations

from typing import Final

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.dispatch.named_nodes import controller_id, live_brokers
from shareq.broker.handlers.shared import authorized_operations
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)

_BROKERS: Final = 1
_CONTROLLERS: Final = 2


def handle(ctx: RequestContext, request: DescribeClusterRequest) -> DescribeClusterResponse:
    if request.endpoint_type != _BROKERS:
        return _wrong_endpoint_type(ctx.api_version, request.endpoint_type)
    services = ctx.services
    response = DescribeClusterResponse(
        cluster_id=services.metadata.cluster_id,
        controller_id=controller_id(ctx),
        brokers=[DescribeClusterBroker(*address) for address in live_brokers(ctx)],
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
