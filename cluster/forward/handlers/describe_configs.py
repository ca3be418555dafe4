"""DescribeConfigs, forwarded except for a node's own resources: v1-4, cut to the cluster's.

Behaviour: groups, and the node by its id, are the node's, and come first. Any broker of the cluster is asked for topics
and for properties of all brokers (""); for those of one broker that broker, by its id in the cluster.
"""

from __future__ import annotations

from shareq.broker.dispatch.rows import Rows
from shareq.broker.handlers.configs import describe_configs
from shareq.broker.handlers.configs.describe_configs import failed, row_of
from shareq.broker.security.rights import DESCRIBE_CLUSTER_CONFIGS, DESCRIBE_TOPIC_CONFIGS
from shareq.cluster.forward.forwarding import ForwardContext
from shareq.cluster.forward.resources import ask_owners
from shareq.protocol.generated.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)

__all__ = ["CONTEXT", "failed", "handle"]

CONTEXT = ForwardContext


async def handle(
    ctx: ForwardContext, request: DescribeConfigsRequest
) -> DescribeConfigsResponse | Rows[DescribeConfigsResponse]:
    """Describe the node's own resources, and ask the cluster for the rest."""

    def some(resources: list[DescribeConfigsResource]) -> DescribeConfigsRequest:
        return DescribeConfigsRequest(resources, request.include_synonyms, request.include_documentation)

    rights = DESCRIBE_TOPIC_CONFIGS, DESCRIBE_CLUSTER_CONFIGS
    own, rows = await ask_owners(
        ctx, request.resources, some, DescribeConfigsResponse, lambda answer: answer.results, row_of, rights=rights
    )
    answer = await describe_configs.handle(ctx, own)
    if isinstance(answer, Rows):
        for row in rows:
            await answer.add(row, 1 + len(row.configs))
        return await answer.end()
    answer.results += rows
    return answer
