"""IncrementalAlterConfigs: v0-1 (KIP-339).

Behaviour: SET, DELETE, APPEND and SUBTRACT on topics, brokers (this one by its id, all by "") and groups (which need
not exist). All changes of a resource happen or none; resources stand alone; one named twice gets INVALID_REQUEST. The
result of the change must be valid as a whole: INVALID_CONFIG (brokers: INVALID_REQUEST) names the property, its value
and what is allowed. Broker properties that take effect only at a start get INVALID_REQUEST. `__share_group_state`
stays compacted.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from shareq.broker.api_error import NO_ERROR, ApiError
from shareq.broker.config.config_admin import ConfigAdmin
from shareq.broker.config.config_changes import Alteration, check_alterations
from shareq.broker.config.resources import ResourceType, check_broker_name
from shareq.broker.handlers import VersionRange
from shareq.broker.security.names import CLUSTER_NAME
from shareq.broker.security.rights import ALTER_CLUSTER_CONFIGS, ALTER_GROUP_CONFIGS, ALTER_TOPIC_CONFIGS
from shareq.broker.topic_names import name_error
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.incremental_alter_configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

if TYPE_CHECKING:
    from shareq.broker.context import RequestContext

VERSIONS = VersionRange(0, 1)

_REPEATED: Final = ApiError(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")


def handle(ctx: RequestContext, request: IncrementalAlterConfigsRequest) -> IncrementalAlterConfigsResponse:
    times = Counter((resource.resource_type, resource.resource_name) for resource in request.resources)
    rows: list[AlterConfigsResourceResponse] = []
    for resource in request.resources:
        repeated = times[resource.resource_type, resource.resource_name] > 1
        rows.append(_row(resource, _REPEATED if repeated else _alter(ctx, resource, request.validate_only)))
    return IncrementalAlterConfigsResponse(responses=rows)


def failed(request: IncrementalAlterConfigsRequest, error: ErrorCode) -> IncrementalAlterConfigsResponse:
    return IncrementalAlterConfigsResponse(
        responses=[_row(resource, ApiError(error)) for resource in request.resources]
    )


def _alter(ctx: RequestContext, resource: AlterConfigsResource, validate_only: bool) -> ApiError:
    alterations = [Alteration(config.name, config.config_operation, config.value) for config in resource.configs]
    error = check_alterations(alterations)
    error = error or _refusal(ctx, resource)
    if error:
        return error
    configs, name = ConfigAdmin(ctx.broker.configs, ctx.broker.metadata), resource.resource_name
    match resource.resource_type:
        case ResourceType.TOPIC:
            return _topic_error(name) or configs.alter_topic(name, alterations, validate_only=validate_only)
        case ResourceType.BROKER:
            error = check_broker_name(name, ctx.broker.config.node_id)
            return error or configs.alter_broker(name, alterations, validate_only=validate_only)
        case ResourceType.GROUP:
            if not name:
                return ApiError(ErrorCode.INVALID_REQUEST, "Default group resources are not allowed.")
            return configs.alter_group(name, alterations, validate_only=validate_only)
        case other:
            return ApiError(ErrorCode.INVALID_REQUEST, f"Unsupported resource type: {other}")


def _refusal(ctx: RequestContext, resource: AlterConfigsResource) -> ApiError:
    match resource.resource_type:
        case ResourceType.TOPIC:
            right, name = ALTER_TOPIC_CONFIGS, resource.resource_name
        case ResourceType.GROUP:
            right, name = ALTER_GROUP_CONFIGS, resource.resource_name
        case ResourceType.BROKER | ResourceType.CLIENT_METRICS:
            right, name = ALTER_CLUSTER_CONFIGS, CLUSTER_NAME
        case _:
            return NO_ERROR
    return NO_ERROR if ctx.may(right, name) else ApiError(right.error)


def _topic_error(name: str) -> ApiError | None:
    if not name:
        return ApiError(ErrorCode.INVALID_REQUEST, "Default topic resources are not allowed.")
    problem = name_error(name)
    if problem is not None:
        return ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, problem)
    return None


def _row(resource: AlterConfigsResource, error: ApiError) -> AlterConfigsResourceResponse:
    return AlterConfigsResourceResponse(error.code, error.message, resource.resource_type, resource.resource_name)
