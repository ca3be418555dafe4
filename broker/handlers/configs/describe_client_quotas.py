"""DescribeClientQuotas: v0-1 (KIP-546).

Behaviour: returns the quotas of every entity that matches the filter. An empty filter matches all entities, or none
with `strict`. An invalid filter gets INVALID_REQUEST, one for an unknown kind of entity UNSUPPORTED_VERSION.
DESCRIBE_CONFIGS on the cluster is needed.
"""

from __future__ import annotations

from typing import Final

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.quotas.entity import KINDS
from shareq.broker.quotas.filters import DEFAULT_ENTITY, EXACT, SPECIFIED, filter_problem, matches
from shareq.broker.security.rights import DESCRIBE_CLUSTER_CONFIGS
from shareq.protocol.errors import NO_ERROR, ApiError, ErrorCode, text_of
from shareq.protocol.generated.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    EntityData,
    EntryData,
    ValueData,
)

_MATCHES: Final = {
    EXACT: "MATCH_TYPE_EXACT",
    DEFAULT_ENTITY: "MATCH_TYPE_DEFAULT",
    SPECIFIED: "MATCH_TYPE_SPECIFIED",
}


async def handle(ctx: RequestContext, request: DescribeClientQuotasRequest) -> DescribeClientQuotasResponse:
    if not ctx.may(DESCRIBE_CLUSTER_CONFIGS):
        return _refused(ApiError(DESCRIBE_CLUSTER_CONFIGS.error, text_of(DESCRIBE_CLUSTER_CONFIGS.error)))
    for component in request.components:
        error = _problem(component)
        if error:
            return _refused(error)
    problem = filter_problem([component.entity_type for component in request.components])
    if problem is not None:
        return _refused(ApiError(ErrorCode.INVALID_REQUEST, problem))
    wanted = {each.entity_type: (each.match_type, each.match or "") for each in request.components}
    entries: list[EntryData] = []
    for entity, quotas in list(ctx.services.metadata.quotas.items()):
        if matches(entity, wanted, strict=request.strict):
            named = [EntityData(kind, name) for kind, name in entity.by_kind().items()]
            entries.append(EntryData(named, [ValueData(key, value) for key, value in quotas.items()]))
        await ctx.breathe()
    return DescribeClientQuotasResponse(error_message="", entries=entries)  # never null, as by Apache Kafka


def _refused(error: ApiError) -> DescribeClientQuotasResponse:
    return DescribeClientQuotasResponse(error_code=error.code, error_message=error.message, entries=None)


def _problem(component: ComponentData) -> ApiError:
    kind, match = component.entity_type, component.match
    if not kind:
        return ApiError(ErrorCode.INVALID_REQUEST, "Invalid empty entity type.")
    if kind not in KINDS:
        return ApiError(ErrorCode.UNSUPPORTED_VERSION, f"Unsupported entity type {kind}")
    if component.match_type not in _MATCHES:
        return ApiError(ErrorCode.INVALID_REQUEST, f"Unknown match type {component.match_type}")
    asked = f"Request specified {_MATCHES[component.match_type]}"
    if component.match_type == EXACT and match is None:
        return ApiError(ErrorCode.INVALID_REQUEST, f"{asked}, but set match string to null.")
    if component.match_type != EXACT and match is not None:
        return ApiError(ErrorCode.INVALID_REQUEST, f"{asked}, but also specified a match string.")
    return NO_ERROR
