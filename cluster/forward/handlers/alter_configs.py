"""AlterConfigs, forwarded but for what is a node's own: v0-2, cut to the cluster's.

Behaviour: as DescribeConfigs.
"""

from __future__ import annotations

from shareq.broker.handlers.configs import alter_configs
from shareq.broker.handlers.configs.alter_configs import failed
from shareq.broker.security.rights import ALTER_CLUSTER_CONFIGS, ALTER_TOPIC_CONFIGS
from shareq.cluster.forward.forwarding import ForwardContext
from shareq.cluster.forward.resources import ask_owners
from shareq.protocol.errors import ApiError
from shareq.protocol.generated.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)
from shareq.protocol.primitives import Message

__all__ = ["CONTEXT", "failed", "handle"]

CONTEXT = ForwardContext


async def handle(ctx: ForwardContext, request: AlterConfigsRequest) -> AlterConfigsResponse:
    """Alter what is the node's, and have the rest altered."""

    def some(resources: list[AlterConfigsResource]) -> AlterConfigsRequest:
        return AlterConfigsRequest(resources, request.validate_only)

    rights = ALTER_TOPIC_CONFIGS, ALTER_CLUSTER_CONFIGS
    own, rows = await ask_owners(ctx, request.resources, some, _rows, _row, rights)
    answer = await alter_configs.handle(ctx, own)
    answer.responses += rows
    return answer


def _rows(answer: Message) -> list[AlterConfigsResourceResponse]:
    assert isinstance(answer, AlterConfigsResponse)
    return answer.responses


def _row(resource: AlterConfigsResource, error: ApiError) -> AlterConfigsResourceResponse:
    return AlterConfigsResourceResponse(error.code, error.message, resource.resource_type, resource.resource_name)
