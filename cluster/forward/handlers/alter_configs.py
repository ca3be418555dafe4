"""AlterConfigs, forwarded except for a node's own resources: v0-2, cut to the cluster's.

Behaviour: as DescribeConfigs.
"""

from __future__ import annotations

from shareq.broker.handlers.configs import alter_configs
from shareq.broker.handlers.configs.alter_configs import failed, row_of
from shareq.broker.security.rights import ALTER_CLUSTER_CONFIGS, ALTER_TOPIC_CONFIGS
from shareq.cluster.forward.forwarding import ForwardContext
from shareq.cluster.forward.resources import ask_owners
from shareq.protocol.generated.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResponse,
)

__all__ = ["CONTEXT", "failed", "handle"]

CONTEXT = ForwardContext


async def handle(ctx: ForwardContext, request: AlterConfigsRequest) -> AlterConfigsResponse:
    """Alter the node's own resources, and have the cluster alter the rest."""

    def some(resources: list[AlterConfigsResource]) -> AlterConfigsRequest:
        return AlterConfigsRequest(resources, request.validate_only)

    rights = ALTER_TOPIC_CONFIGS, ALTER_CLUSTER_CONFIGS
    own, rows = await ask_owners(
        ctx, request.resources, some, AlterConfigsResponse, lambda answer: answer.responses, row_of, rights=rights
    )
    answer = await alter_configs.handle(ctx, own)
    answer.responses += rows
    return answer
