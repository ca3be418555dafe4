"""UpdateFeatures: v0-2 (KIP-584).

Behaviour: all updates are made or none; INVALID_UPDATE_VERSION for the whole request names the faulty update. A higher
level must be requested as an upgrade, a lower one as a downgrade; metadata.version is never lowered. v1: kinds of
update instead of AllowDowngrade; ValidateOnly. v2: no rows for single features.

Here: switching share.version to 0 ends all share sessions; groups and offsets stay.
"""

from __future__ import annotations

import logging

from shareq.broker.data_folder_ground import FolderContext
from shareq.broker.metadata.features import UpdateKind, update_problem
from shareq.broker.security.rights import ALTER_CLUSTER
from shareq.protocol.errors import NO_ERROR, ApiError, ErrorCode, storage_failure, text_of
from shareq.protocol.generated.update_features import (
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

CONTEXT = FolderContext
logger = logging.getLogger(__name__)


async def handle(ctx: FolderContext, request: UpdateFeaturesRequest) -> UpdateFeaturesResponse:
    if not ctx.may(ALTER_CLUSTER):
        return UpdateFeaturesResponse(error_code=ALTER_CLUSTER.error, error_message=text_of(ALTER_CLUSTER.error))
    await ctx.ground.metadata.gate.passing()
    error = _problem(ctx, request) or (NO_ERROR if request.validate_only else _update(ctx, request))
    if error:
        return UpdateFeaturesResponse(error_code=error.code, error_message=error.message)
    rows = [UpdatableFeatureResult(update.feature, error_message=None) for update in request.feature_updates]
    return UpdateFeaturesResponse(error_message=None, results=rows if ctx.api_version <= 1 else [])


def _problem(ctx: FolderContext, request: UpdateFeaturesRequest) -> ApiError:
    for update in request.feature_updates:
        kind = _kind(ctx.api_version, update)
        now = ctx.ground.metadata.features.get(update.feature, 0)
        problem = update_problem(update.feature, now, update.max_version_level, kind)
        if problem is not None:
            message = f"Nothing was updated, because of {update.feature}={update.max_version_level}: {problem}"
            ctx.warn(logger, "%s", message)
            return ApiError(ErrorCode.INVALID_UPDATE_VERSION, message)
    return NO_ERROR


def _kind(version: int, update: FeatureUpdateKey) -> int:
    if version == 0:
        return UpdateKind.SAFE_DOWNGRADE if update.allow_downgrade else UpdateKind.UPGRADE
    return update.upgrade_type


def _update(ctx: FolderContext, request: UpdateFeaturesRequest) -> ApiError:
    try:
        ctx.ground.metadata.set_features(
            {update.feature: update.max_version_level for update in request.feature_updates}
        )
    except OSError as error:
        logger.error("features: not updated: %s", error)
        return storage_failure(error)
    return NO_ERROR
