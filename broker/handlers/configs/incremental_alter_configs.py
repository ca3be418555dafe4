"""IncrementalAlterConfigs: v0-1 (KIP-339).

Behaviour: SET, DELETE, APPEND and SUBTRACT on topics, brokers (this one by its id, all by "") and groups (which need
not exist). Every resource is handled separately, and all its changes are made or none. A resource named twice gets
INVALID_REQUEST. The result of the change must be valid as a whole: INVALID_CONFIG (brokers: INVALID_REQUEST) names the
property, its value and the allowed values. Broker properties that take effect only when the broker starts get
INVALID_REQUEST.

Here: `__share_group_state` stays compacted.
"""

from __future__ import annotations

from shareq.broker.config.changes import Alteration
from shareq.broker.dispatch.context import RequestContext
from shareq.broker.handlers.shared.alter_resource import altered
from shareq.protocol.errors import ApiError, ErrorCode
from shareq.protocol.generated.incremental_alter_configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)


async def handle(ctx: RequestContext, request: IncrementalAlterConfigsRequest) -> IncrementalAlterConfigsResponse:
    errors = await altered(ctx, request.resources, _alterations, validate_only=request.validate_only)
    response = IncrementalAlterConfigsResponse()
    for resource, error in zip(request.resources, errors, strict=True):
        response.responses.append(row_of(resource, error))
        await ctx.breathe()
    return response


def failed(request: IncrementalAlterConfigsRequest, error: ErrorCode) -> IncrementalAlterConfigsResponse:
    return IncrementalAlterConfigsResponse(
        responses=[row_of(resource, ApiError(error)) for resource in request.resources]
    )


def _alterations(resource: AlterConfigsResource) -> list[Alteration]:
    return [Alteration(config.name, config.config_operation, config.value) for config in resource.configs]


def row_of(resource: AlterConfigsResource, error: ApiError) -> AlterConfigsResourceResponse:
    return AlterConfigsResourceResponse(error.code, error.message, resource.resource_type, resource.resource_name)
