"""JoinGroup: v0-9.

Behaviour: waits until the rebalance is complete; the leader's answer lists the members of the generation. READ on the
group is needed. v1: a rebalance timeout; before, the session timeout is used for it. v4: a new member first gets its id
(MEMBER_ID_REQUIRED, KIP-394). v5: static members (KIP-345). v8: the reason, for the log. v9: SkipAssignment (KIP-814).
"""

from __future__ import annotations

from typing import Final

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.groups.names import Joining
from shareq.broker.security.rights import READ_GROUP
from shareq.coordinator.group.groups import Client
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.join_group import JoinGroupRequest, JoinGroupResponse

_NULL_PROTOCOL_FROM = 7

_TIMES: Final = 4
"""The factor by which a request may exceed the size of a record: it has the metadata of all protocols, of which those
of one are persisted.
"""


def refusal_by_size(ctx: RequestContext, frame_bytes: int) -> JoinGroupResponse | None:
    """Return UNKNOWN_SERVER_ERROR for a frame that is too large, as for any metadata that do not fit into the group's
    record.
    """
    if not ctx.services.groups.coordinator.has_no_room_for(frame_bytes, times=_TIMES):
        return None
    return _refused(ctx.api_version, ErrorCode.UNKNOWN_SERVER_ERROR)


async def handle(ctx: RequestContext, request: JoinGroupRequest) -> JoinGroupResponse:
    if not ctx.may(READ_GROUP, request.group_id):
        return _refused(ctx.api_version, READ_GROUP.error)
    client = Client(ctx.client_id or "", f"/{ctx.connection.client_host}")
    groups, version = ctx.services.groups, ctx.api_version
    make = groups.names.join_again if request.member_id else groups.names.join
    response = await make(
        Joining(request.group_id, request.member_id, request.group_instance_id),
        ctx.owner,
        lambda: groups.classic.join(request, version, client),
        lambda _message: _refused(version, ErrorCode.GROUP_MAX_SIZE_REACHED),
        lambda response: response.member_id,
    )
    if response.protocol_name is None and version < _NULL_PROTOCOL_FROM:
        response.protocol_name = ""
    return response


def _refused(version: int, error: ErrorCode) -> JoinGroupResponse:
    protocol = None if version >= _NULL_PROTOCOL_FROM else ""
    return JoinGroupResponse(error_code=error, protocol_name=protocol)
