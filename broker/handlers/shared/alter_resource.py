"""Changes of config resources by a client: the common part of both RPCs for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from shareq.broker.config.admin import ConfigAdmin, Planned
from shareq.broker.config.changes import Alteration, check_alterations
from shareq.broker.dispatch.context import RequestContext
from shareq.broker.handlers.shared.config_resources import ResourceType, check_broker_name
from shareq.broker.metadata.topic_names import name_error
from shareq.broker.security.names import CLUSTER_NAME
from shareq.broker.security.rights import ALTER_CLUSTER_CONFIGS, ALTER_GROUP_CONFIGS, ALTER_TOPIC_CONFIGS
from shareq.protocol.errors import NO_ERROR, ApiError, ErrorCode
from shareq.protocol.generated import alter_configs, incremental_alter_configs

R = TypeVar("R", alter_configs.AlterConfigsResource, incremental_alter_configs.AlterConfigsResource)

REPEATED: Final = ApiError(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
"""The error in every row of a resource that a request names twice."""


CHANGED_TOGETHER: Final = 1_000
"""The most properties checked and changed in one commit."""

MOST_PROPERTIES: Final = 1_000
"""The most properties that a request may change of one resource. There are a few hundred in all."""

RESOURCE_PROPERTIES: Final = 10
"""The work for one resource besides that for its properties, as a number of properties: the check of all properties
together, and the commit.
"""


TOO_MANY: Final = ApiError(ErrorCode.INVALID_REQUEST, f"No resource has more than {MOST_PROPERTIES} properties.")


async def altered(
    ctx: RequestContext,
    resources: Sequence[R],
    alterations_of: Callable[[R], list[Alteration]],
    *,
    validate_only: bool,
) -> list[ApiError]:
    """Change the resources, each completely or not at all; return for each its error or NO_ERROR, in order.

    Several resources are stored in one commit. A broker's properties are stored before the next resource is checked,
    since they may be its bounds.
    """
    times = Counter((resource.resource_type, resource.resource_name) for resource in resources)
    admin = ConfigAdmin(ctx.services.configs, ctx.services.metadata)
    gate = ctx.services.metadata.gate
    errors: list[ApiError] = []
    planned: dict[int, Planned] = {}  # changes of the next commit, by index in the request
    weight = 0
    for at, resource in enumerate(resources):
        if not planned and not validate_only:
            await gate.passing()
        again = times[resource.resource_type, resource.resource_name] > 1
        plan = REPEATED if again else _plan(ctx, admin, resource, alterations_of)
        errors.append(plan if isinstance(plan, ApiError) else NO_ERROR)
        if isinstance(plan, Planned) and not validate_only:
            planned[at] = plan
        weight += RESOURCE_PROPERTIES + len(resource.configs)
        if planned and (weight >= CHANGED_TOGETHER or resource.resource_type == ResourceType.BROKER):
            await _store(admin, planned, errors)
        if weight >= CHANGED_TOGETHER:
            await ctx.breathe(weight)
            weight = 0
    if planned:
        await _store(admin, planned, errors)
    return errors


async def _store(admin: ConfigAdmin, planned: dict[int, Planned], errors: list[ApiError]) -> None:
    failure = await admin.store(list(planned.values()))
    if failure:
        for at in planned:
            errors[at] = failure
    planned.clear()


def _plan(
    ctx: RequestContext, admin: ConfigAdmin, resource: R, alterations_of: Callable[[R], list[Alteration]]
) -> Planned | ApiError:
    """Check the client's rights and the changes of one resource; return the planned changes, or the error."""
    if len(resource.configs) > MOST_PROPERTIES:
        return TOO_MANY
    kind, name = resource.resource_type, resource.resource_name
    alterations = alterations_of(resource)
    error = check_alterations(alterations) or _refusal(ctx, kind, name)
    if error:
        return error
    match kind:
        case ResourceType.TOPIC:
            return _topic_error(name) or admin.plan_topic(name, alterations)
        case ResourceType.BROKER:
            error = check_broker_name(name, ctx.services.started_with.node_id)
            return error or admin.plan_broker(name, alterations)
        case ResourceType.GROUP:
            if not name:
                return ApiError(ErrorCode.INVALID_REQUEST, "Default group resources are not allowed.")
            return admin.plan_group(name, alterations)
        case other:
            return ApiError(ErrorCode.INVALID_REQUEST, f"Unsupported resource type: {other}")


def _refusal(ctx: RequestContext, kind: int, name: str) -> ApiError:
    match kind:
        case ResourceType.TOPIC:
            right = ALTER_TOPIC_CONFIGS
        case ResourceType.GROUP:
            right = ALTER_GROUP_CONFIGS
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
