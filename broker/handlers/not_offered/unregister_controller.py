"""UnregisterController: v0.

Behaviour: the one controller is this process: INVALID_REQUEST for its id; for any other CONTROLLER_ID_NOT_REGISTERED,
UNSUPPORTED_VERSION below metadata.version 33. ALTER on the cluster is needed.
"""

from __future__ import annotations

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.metadata.features import CONTROLLERS_UNREGISTER, METADATA_VERSION
from shareq.broker.security.rights import ALTER_CLUSTER
from shareq.protocol.errors import ApiError, ErrorCode, text_of
from shareq.protocol.generated.unregister_controller import UnregisterControllerRequest, UnregisterControllerResponse

_ACTIVE = "Controller cannot unregister itself while it is active."
_TOO_OLD = "The current MetadataVersion is too old to support controller unregistration."


def handle(ctx: RequestContext, request: UnregisterControllerRequest) -> UnregisterControllerResponse:
    error = _problem(ctx, request.controller_id)
    return UnregisterControllerResponse(error_code=error.code, error_message=error.message)


def _problem(ctx: RequestContext, controller_id: int) -> ApiError:
    if not ctx.may(ALTER_CLUSTER):
        return ApiError(ALTER_CLUSTER.error, text_of(ALTER_CLUSTER.error))
    if controller_id == ctx.services.started_with.node_id:
        return ApiError(ErrorCode.INVALID_REQUEST, _ACTIVE)
    if ctx.services.metadata.features.get(METADATA_VERSION, 0) < CONTROLLERS_UNREGISTER:
        return ApiError(ErrorCode.UNSUPPORTED_VERSION, _TOO_OLD)
    message = f"Controller ID {controller_id} is not currently registered."
    return ApiError(ErrorCode.CONTROLLER_ID_NOT_REGISTERED, message)
