"""AlterClientQuotas: v0-1 (KIP-546).

Behaviour: nothing is limited here, so that a quota that is set is refused with UNSUPPORTED_VERSION: it would be no
promise. One that is removed is not there, which Apache Kafka takes for success. Every entity stands alone; one that is
none gets INVALID_REQUEST. ALTER_CONFIGS on the cluster is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shareq.broker.security.rights import ALTER_CLUSTER_CONFIGS
from shareq.protocol.errors import NO_ERROR, ApiError, ErrorCode, text_of
from shareq.protocol.generated import alter_client_quotas as rpc

if TYPE_CHECKING:
    from shareq.broker.dispatch.context import RequestContext


_KINDS: Final = frozenset(("user", "client-id", "ip"))


def handle(ctx: RequestContext, request: rpc.AlterClientQuotasRequest) -> rpc.AlterClientQuotasResponse:
    if not ctx.may(ALTER_CLUSTER_CONFIGS):
        return failed(request, ALTER_CLUSTER_CONFIGS.error)
    return rpc.AlterClientQuotasResponse(entries=[_row(entry, _refusal(entry)) for entry in request.entries])


def failed(request: rpc.AlterClientQuotasRequest, error: ErrorCode) -> rpc.AlterClientQuotasResponse:
    failure = ApiError(error, text_of(error))
    return rpc.AlterClientQuotasResponse(entries=[_row(entry, failure) for entry in request.entries])


def _refusal(entry: rpc.AlterClientQuotasRequestEntryData) -> ApiError:
    kinds = [each.entity_type for each in entry.entity]
    if not kinds:
        return ApiError(ErrorCode.INVALID_REQUEST, "Invalid empty client quota entity")
    unknown = next((kind for kind in kinds if kind not in _KINDS), None)
    if unknown is not None:
        return ApiError(ErrorCode.INVALID_REQUEST, f"Unhandled client quota entity type: {unknown}")
    if len(set(kinds)) < len(kinds) or ("ip" in kinds and len(kinds) > 1):
        return ApiError(ErrorCode.INVALID_REQUEST, f"Invalid client quota entity: {', '.join(kinds)}")
    unnamed = next((each.entity_type for each in entry.entity if each.entity_name == ""), None)
    if unnamed is not None:
        return ApiError(ErrorCode.INVALID_REQUEST, f"Empty {unnamed} not supported")
    if any(not op.remove for op in entry.ops):
        return ApiError(ErrorCode.UNSUPPORTED_VERSION, "There are no quotas here: nothing would be limited")
    return NO_ERROR


def _row(entry: rpc.AlterClientQuotasRequestEntryData, error: ApiError) -> rpc.AlterClientQuotasResponseEntryData:
    entity = [rpc.AlterClientQuotasResponseEntityData(each.entity_type, each.entity_name) for each in entry.entity]
    return rpc.AlterClientQuotasResponseEntryData(error.code, error.message, entity)
