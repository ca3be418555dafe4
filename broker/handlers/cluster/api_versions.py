"""ApiVersions: v0-5 (KIP-511, KIP-584, KIP-1242).

Behaviour: computed from the handler table and the finalized features. A client software name or version of the wrong
form gets INVALID_REQUEST. A request version above 5 does not reach this handler: it is answered in version 0 with the
single entry (18, 0, 5), before its body is read. v3: client software name and version. Features: before v4, supported
features with lowest level 0 are left out, because older clients fail on them. A feature of level 0 is never named as
finalized. v5: a client names both cluster and broker, or neither; only one of them gets INVALID_REQUEST. Unless both
are this broker's, the client gets REBOOTSTRAP_REQUIRED.

Here: the answer to a client with the software name `shareq` has shareq's own RPCs and features, too (ADR 11). An RPC
that needs a feature is named while the feature is on.
"""

from __future__ import annotations

import re
from typing import Final

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.metadata.features import FEATURES
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

_NO_NODE: Final = -1
_OUR_CLIENT: Final = "shareq"
_SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


def handle(ctx: RequestContext, request: ApiVersionsRequest) -> ApiVersionsResponse:
    if ctx.api_version >= 3 and not _valid_software(request):
        return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
    if ctx.api_version >= 5:
        error = _meant_for_another(ctx, request)
        if error:
            return ApiVersionsResponse(error_code=error)
    is_ours = request.client_software_name == _OUR_CLIENT
    response = ApiVersionsResponse(
        api_keys=[
            ApiVersion(api_key=key, min_version=row.advertised.first, max_version=row.advertised.last)
            for key, row in sorted(ctx.services.ground.handlers.items())
            if is_ours or not row.own
            if not row.feature or ctx.services.metadata.features.get(row.feature, 0)
        ]
    )
    if ctx.api_version >= 3:
        _add_features(ctx, response, is_ours=is_ours)
    return response


def _valid_software(request: ApiVersionsRequest) -> bool:
    texts = (request.client_software_name, request.client_software_version)
    return all(_SOFTWARE.fullmatch(text) is not None for text in texts)


def _meant_for_another(ctx: RequestContext, request: ApiVersionsRequest) -> ErrorCode:
    cluster_id, node_id, services = request.cluster_id, request.node_id, ctx.services
    if (cluster_id is None) is not (node_id == _NO_NODE):
        return ErrorCode.INVALID_REQUEST
    if cluster_id is None:
        return ErrorCode.NONE
    meant = cluster_id == services.metadata.cluster_id and node_id == services.started_with.node_id
    return ErrorCode.NONE if meant else ErrorCode.REBOOTSTRAP_REQUIRED


def _add_features(ctx: RequestContext, response: ApiVersionsResponse, *, is_ours: bool) -> None:
    metadata = ctx.services.metadata
    response.supported_features = [
        SupportedFeatureKey(name=name, min_version=feature.lowest, max_version=feature.highest)
        for name, feature in FEATURES.items()
        if ctx.api_version >= 4 or feature.lowest > 0
        if is_ours or not feature.own or metadata.features.get(name, 0)
    ]
    response.finalized_features_epoch = metadata.features_epoch
    response.finalized_features = [
        FinalizedFeatureKey(name=name, max_version_level=level, min_version_level=level)
        for name, level in metadata.features.items()
        if level > 0
    ]
