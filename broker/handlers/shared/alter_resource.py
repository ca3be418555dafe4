"""Changing one config resource for a client: the way that both RPCs for it share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from shareq.broker.config.admin import ConfigAdmin
from shareq.broker.config.changes import Alteration, check_alterations
from shareq.broker.handlers.shared.config_resources import ResourceType, check_broker_name
from shareq.broker.metadata.topic_names import name_error
from shareq.broker.security.names import CLUSTER_NAME
from shareq.broker.security.rights import ALTER_CLUSTER_CONFIGS, ALTER_GROUP_CONFIGS, ALTER_TOPIC_CONFIGS
from shareq.protocol.errors import NO_ERROR, ApiError, ErrorCode

if TYPE_CHECKING:
    from shareq.broker.dispatch.context import RequestContext


REPEATED: Final = ApiError(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
"""What every row of a resource gets that a request names twice; see `repeated`."""


TURN_PROPERTIES: Final = 1_000
"""So many are changed in one turn."""

MOST_PROPERTIES: Final = 1_000
"""That a request may change of one resource: a few hundred exist."""

RESOURCE_PROPERTIES: Final = 10
"""What a resource counts beside its own: all of them are checked together, and committed."""


TOO_MANY: Final = ApiError(ErrorCode.INVALID_REQUEST, f"No resource has more than {MOST_PROPERTIES} properties.")


def repeated(resources: Iterable[tuple[int, str]]) -> set[tuple[int, str]]:
    """The resources, type and name, that come more than once."""
    return {resource for resource, times in Counter(resources).items() if times > 1}


def alter_resource(
    ctx: RequestContext, kind: int, name: str, alterations: Sequence[Alteration], *, validate_only: bool
) -> ApiError:
    """Check the changes and the client's rights, then make all of them or none. What is wrong, or NO_ERROR."""
    error = check_alterations(alterations) or _refusal(ctx, kind, name)
    if error:
        return error
    configs = ConfigAdmin(ctx.services.configs, ctx.services.metadata)
    match kind:
        case ResourceType.TOPIC:
            return _topic_error(name) or configs.alter_topic(name, alterations, validate_only=validate_only)
        case ResourceType.BROKER:
            error = check_broker_name(name, ctx.services.started_with.node_id)
            return error or configs.alter_broker(name, alterations, validate_only=validate_only)
        case ResourceType.GROUP:
            if not name:
                return ApiError(ErrorCode.INVALID_REQUEST, "Default group resources are not allowed.")
            return configs.alter_group(name, alterations, validate_only=validate_only)
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
