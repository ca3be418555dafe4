"""DescribeClientQuotas: v0-1 (KIP-546).

Behaviour: there are no quotas here, and none can be set, so that every filter that makes sense finds nothing. Tools ask
for them on the way to SCRAM credentials. DESCRIBE_CONFIGS on the cluster is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shareq.broker.security.rights import DESCRIBE_CLUSTER_CONFIGS
from shareq.protocol.errors import NO_ERROR, ApiError, ErrorCode, text_of
from shareq.protocol.generated.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)

if TYPE_CHECKING:
    from shareq.broker.dispatch.context import RequestContext


_USER, _CLIENT_ID, _IP = "user", "client-id", "ip"
_EXACT, _DEFAULT, _SPECIFIED = 0, 1, 2
_MATCHES: Final = {_EXACT: "MATCH_TYPE_EXACT", _DEFAULT: "MATCH_TYPE_DEFAULT", _SPECIFIED: "MATCH_TYPE_SPECIFIED"}


def handle(ctx: RequestContext, request: DescribeClientQuotasRequest) -> DescribeClientQuotasResponse:
    if not ctx.may(DESCRIBE_CLUSTER_CONFIGS):
        return _refused(ApiError(DESCRIBE_CLUSTER_CONFIGS.error, text_of(DESCRIBE_CLUSTER_CONFIGS.error)))
    kinds: set[str] = set()
    for component in request.components:
        error = _problem(component, kinds)
        if error:
            return _refused(error)
        kinds.add(component.entity_type)
    if _IP in kinds and len(kinds) > 1:
        return _refused(
            ApiError(ErrorCode.INVALID_REQUEST, "An address stands for itself: no user or client id beside it.")
        )
    return DescribeClientQuotasResponse(error_message=None, entries=[])


def _refused(error: ApiError) -> DescribeClientQuotasResponse:
    return DescribeClientQuotasResponse(error_code=error.code, error_message=error.message, entries=None)


def _problem(component: ComponentData, before: set[str]) -> ApiError:
    kind, match = component.entity_type, component.match
    if not kind:
        return ApiError(ErrorCode.INVALID_REQUEST, "Invalid empty entity type.")
    if kind in before:
        return ApiError(ErrorCode.INVALID_REQUEST, f"Entity type {kind} cannot appear more than once in the filter.")
    if kind not in (_USER, _CLIENT_ID, _IP):
        return ApiError(ErrorCode.UNSUPPORTED_VERSION, f"Unsupported entity type {kind}")
    if component.match_type not in _MATCHES:
        return ApiError(ErrorCode.INVALID_REQUEST, f"Unknown match type {component.match_type}")
    if (match is None) == (component.match_type == _EXACT):
        given = "without" if match is None else "with"
        return ApiError(ErrorCode.INVALID_REQUEST, f"{_MATCHES[component.match_type]} came {given} a match string.")
    return NO_ERROR
