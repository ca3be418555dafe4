"""IncrementalAlterConfigs, forwarded except for a node's own resources: v0-1, cut to the cluster's.

Behaviour: as DescribeConfigs.
"""

from __future__ import annotations

from shareq.broker.handlers.configs import incremental_alter_configs
from shareq.broker.handlers.configs.incremental_alter_configs import failed, row_of
from shareq.broker.security.rights import ALTER_CLUSTER_CONFIGS, ALTER_TOPIC_CONFIGS
from shareq.cluster.forward.forwarding import ForwardContext
from shareq.cluster.forward.resources import ask_owners
from shareq.protocol.generated.incremental_alter_configs import (
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

__all__ = ["CONTEXT", "failed", "handle"]

CONTEXT = ForwardContext


async def handle(ctx: ForwardContext, request: IncrementalAlterConfigsRequest) -> IncrementalAlterConfigsResponse:
    """Alter the node's own resources, and have the cluster alter the rest."""

    def some(resources: list[AlterConfigsResource]) -> IncrementalAlterConfigsRequest:
        return IncrementalAlterConfigsRequest(resources, request.validate_only)

    rights = ALTER_TOPIC_CONFIGS, ALTER_CLUSTER_CONFIGS
    own, rows = await ask_owners(
        ctx,
        request.resources,
        some,
        IncrementalAlterConfigsResponse,
        lambda answer: answer.responses,
        row_of,
        rights=rights,
    )
    answer = await incremental_alter_configs.handle(ctx, own)
    answer.responses += rows
    return answer
