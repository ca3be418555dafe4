"""ListConfigResources: v0-1.

Behaviour: returns the configurable resources by type: all topics, the brokers (and their loggers), and the groups with
properties of their own. v0 lists only client metrics. v1: the request names types, or none for all; an unknown type
gets UNSUPPORTED_VERSION.

Here: there are no client metrics, so v0 lists nothing.
"""

from __future__ import annotations

from typing import Final

from shareq.broker.config.service import GROUP
from shareq.broker.dispatch.context import RequestContext
from shareq.broker.handlers.shared.config_resources import ResourceType
from shareq.broker.security.rights import DESCRIBE_CLUSTER_CONFIGS
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)

_ALL: Final = tuple(ResourceType)
_TYPES_FROM: Final = 1


async def handle(ctx: RequestContext, request: ListConfigResourcesRequest) -> ListConfigResourcesResponse:
    if not ctx.may(DESCRIBE_CLUSTER_CONFIGS):
        return ListConfigResourcesResponse(error_code=DESCRIBE_CLUSTER_CONFIGS.error)
    if ctx.api_version < _TYPES_FROM:
        return ListConfigResourcesResponse()
    wanted = list(dict.fromkeys(request.resource_types or _ALL))
    if not all(kind in _ALL for kind in wanted):
        return ListConfigResourcesResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    response, hearing = ListConfigResourcesResponse(), ctx.services.metadata.hearing
    if hearing is not None and ResourceType.TOPIC in wanted:
        await hearing.of_all()
    for kind in wanted:
        for name in _names(ctx, kind):
            response.config_resources.append(ConfigResource(name, kind))
            await ctx.breathe()
    return response


def _names(ctx: RequestContext, kind: int) -> list[str]:
    match kind:
        case ResourceType.TOPIC:
            return [topic.name for topic in ctx.services.metadata.topics()]
        case ResourceType.BROKER | ResourceType.BROKER_LOGGER:
            others = (node.node_id for node in ctx.services.leaders.others)
            return [str(node_id) for node_id in (ctx.services.started_with.node_id, *others)]
        case ResourceType.GROUP:
            return ctx.services.metadata.config_names(GROUP)
        case _:
            return []
