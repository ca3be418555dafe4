"""AlterConfigs: v0-2. Older clients alone send it; newer ones change properties one by one (IncrementalAlterConfigs).

Behaviour: a resource's own properties are replaced: what is not named goes back to its default. Resources, checks and
errors are those of IncrementalAlterConfigs; a null value is INVALID_REQUEST.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shareq.broker.config.changes import Alteration, ConfigOp
from shareq.broker.config.service import BROKER, GROUP, TOPIC
from shareq.broker.dispatch.in_turns import Steps, TurnCount, in_turns
from shareq.broker.foundation.pending import Pending
from shareq.broker.handlers.shared.alter_resource import (
    MOST_PROPERTIES,
    REPEATED,
    RESOURCE_PROPERTIES,
    TOO_MANY,
    TURN_PROPERTIES,
    alter_resource,
    repeated,
)
from shareq.broker.handlers.shared.config_resources import ResourceType
from shareq.protocol.errors import ApiError, ErrorCode
from shareq.protocol.generated.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)

if TYPE_CHECKING:
    from shareq.broker.dispatch.context import RequestContext


_STORED_AS: Final = {ResourceType.TOPIC: TOPIC, ResourceType.BROKER: BROKER, ResourceType.GROUP: GROUP}


def handle(ctx: RequestContext, request: AlterConfigsRequest) -> AlterConfigsResponse | Pending[AlterConfigsResponse]:
    return in_turns(ctx, _steps(ctx, request))


def _steps(ctx: RequestContext, request: AlterConfigsRequest) -> Steps[AlterConfigsResponse]:
    twice = repeated((resource.resource_type, resource.resource_name) for resource in request.resources)
    rows: list[AlterConfigsResourceResponse] = []
    turn = TurnCount(TURN_PROPERTIES)
    for resource in request.resources:
        again = (resource.resource_type, resource.resource_name) in twice
        rows.append(_row(resource, REPEATED if again else _replace(ctx, resource, request.validate_only)))
        if turn.full(RESOURCE_PROPERTIES + len(resource.configs)):
            yield
    return AlterConfigsResponse(responses=rows)


def failed(request: AlterConfigsRequest, error: ErrorCode) -> AlterConfigsResponse:
    """The same for every resource."""
    return AlterConfigsResponse(responses=[_row(resource, ApiError(error)) for resource in request.resources])


def _replace(ctx: RequestContext, resource: AlterConfigsResource, validate_only: bool) -> ApiError:
    if len(resource.configs) > MOST_PROPERTIES:
        return TOO_MANY
    kind, name = resource.resource_type, resource.resource_name
    alterations = [Alteration(config.name, ConfigOp.SET, config.value) for config in resource.configs]
    stored_as = _STORED_AS.get(kind)  # type: ignore[call-overload]
    if stored_as is not None:
        named = {config.name for config in resource.configs}
        current = ctx.services.metadata.configs(stored_as, name)
        alterations += [Alteration(key, ConfigOp.DELETE, None) for key in current if key not in named]
    return alter_resource(ctx, kind, name, alterations, validate_only=validate_only)


def _row(resource: AlterConfigsResource, error: ApiError) -> AlterConfigsResourceResponse:
    return AlterConfigsResourceResponse(error.code, error.message, resource.resource_type, resource.resource_name)
