"""CancelRedrive: v0 (shareq's own, ADR 11).

Behaviour: ends a redrive once the records being sent are written, and answers when this is durable; a finished redrive
stays as it is. The client that started the redrive may cancel it; others need ALTER on the cluster. Unknown names get
RESOURCE_NOT_FOUND.
"""

from __future__ import annotations

from shareq.broker.data_folder_ground import FolderContext
from shareq.broker.security.rights import ALTER_CLUSTER
from shareq.protocol.errors import ApiError, text_of
from shareq.protocol.generated.cancel_redrive import CancelRedriveRequest, CancelRedriveResponse

CONTEXT = FolderContext


async def handle(ctx: FolderContext, request: CancelRedriveRequest) -> CancelRedriveResponse:
    redrives = ctx.ground.redrives
    if redrives.owner_of(request.name) != ctx.connection.principal and not ctx.may(ALTER_CLUSTER):
        return _response(ApiError(ALTER_CLUSTER.error))
    return _response(await redrives.cancel(request.name))


def _response(error: ApiError) -> CancelRedriveResponse:
    message = None if not error else error.message or text_of(error.code)
    return CancelRedriveResponse(error_code=error.code, error_message=message)
