"""AlterConfigs: v0-2. Only older clients send it; newer ones change properties one by one (IncrementalAlterConfigs).

Behaviour: a resource's own properties are replaced: those not named return to their defaults. Resources, checks and
errors are those of IncrementalAlterConfigs; a null value is INVALID_REQUEST.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from shareq.broker.config.changes import Alteration, ConfigOp
from shareq.broker.config.service import BROKER, GROUP, TOPIC
from shareq.broker.dispatch.context import RequestContext
from shareq.broker.handlers.shared.alter_resource import altered
from shareq.broker.handlers.shared.config_resources import ResourceType
from shareq.protocol.errors import ApiError, ErrorCode
from shareq.protocol.generated.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)

_STORED_AS: Final = {ResourceType.TOPIC: TOPIC, ResourceType.BROKER: BROKER, ResourceType.GROUP: GROUP}


async def handle(ctx: RequestContext, request: AlterConfigsRequest) -> AlterConfigsResponse:
    errors = await altered(ctx, request.resources, partial(_alterations, ctx), validate_only=request.validate_only)
    response = AlterConfigsResponse()
    for resource, error in zip(request.resources, errors, strict=True):
        response.responses.append(row_of(resource, error))
        await ctx.breathe()
    return response


def failed(request: AlterConfigsRequest, error: ErrorCode) -> AlterConfigsResponse:
    """Return the answer with the same error for every resource."""
    return AlterConfigsResponse(responses=[row_of(resource, ApiError(error)) for resource in request.resources])


def _alterations(ctx: RequestContext, resource: AlterConfigsResource) -> list[Alteration]:
    """Return the alterations that leave the resource with the named properties and no others."""
    alterations = [Alteration(config.name, ConfigOp.SET, config.value) for config in resource.configs]
    stored_as = _STORED_AS.get(resource.resource_type)  # type: ignore[call-overload]
    if stored_as is not None:
        named = {config.name for config in resource.configs}
        current = ctx.services.metadata.configs(stored_as, resource.resource_name)
        alterations += [Alteration(key, ConfigOp.DELETE, None) for key in current if key not in named]
    return alterations


def row_of(resource: AlterConfigsResource, error: ApiError) -> AlterConfigsResourceResponse:
    return AlterConfigsResourceResponse(error.code, error.message, resource.resource_type, resource.resource_name)
