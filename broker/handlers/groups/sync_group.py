"""SyncGroup: v0-5.

Behaviour: the leader sends the assignment; every member gets its part once the assignment is written. READ on the group
is needed. v3: static members (KIP-345). v5: protocol type and name are required and must be the group's.
"""

from __future__ import annotations

from typing import Final

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.foundation.pending import Pending
from shareq.broker.security.rights import READ_GROUP
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.sync_group import SyncGroupRequest, SyncGroupResponse

_PROTOCOL_FROM = 5


_TIMES: Final = 2  # assignments of members that are not in the group are not persisted


def refusal_by_size(ctx: RequestContext, frame_bytes: int) -> SyncGroupResponse | None:
    """Return UNKNOWN_SERVER_ERROR for a frame that is too large, as for any assignment that does not fit into the
    group's record.
    """
    if not ctx.services.groups.coordinator.has_no_room_for(frame_bytes, times=_TIMES):
        return None
    return SyncGroupResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR)


def handle(ctx: RequestContext, request: SyncGroupRequest) -> SyncGroupResponse | Pending[SyncGroupResponse]:
    if ctx.api_version >= _PROTOCOL_FROM and (request.protocol_type is None or request.protocol_name is None):
        return SyncGroupResponse(error_code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    if not ctx.may(READ_GROUP, request.group_id):
        return SyncGroupResponse(error_code=READ_GROUP.error)
    return ctx.services.groups.classic.sync(request)
