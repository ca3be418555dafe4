"""ShareGroupHeartbeat: v1 (KIP-932).

Behaviour: the member joins (epoch 0), stays alive, changes its subscription, or leaves (epoch -1). A joining member
gets its partitions in the first answer. The member id comes from the client. READ on the group is needed, and DESCRIBE
on every topic subscribed to.
"""

from __future__ import annotations

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.groups.names import Joining
from shareq.broker.handlers.share.repeated_heartbeat import RepeatedHeartbeat
from shareq.broker.security.rights import DESCRIBE_TOPIC, READ_GROUP
from shareq.coordinator.group.groups import Client
from shareq.coordinator.group.share.heartbeat import refusal
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from shareq.protocol.share import JOIN_EPOCH

FAST_PATH = RepeatedHeartbeat


def refusal_by_size(ctx: RequestContext, frame_bytes: int) -> ShareGroupHeartbeatResponse | None:
    """Return UNKNOWN_SERVER_ERROR for a frame that is too large, as for any subscription that does not fit into a
    record.
    """
    if not ctx.services.groups.coordinator.has_no_room_for(frame_bytes):
        return None
    return refusal(ErrorCode.UNKNOWN_SERVER_ERROR, "The subscription is too large.")


async def handle(ctx: RequestContext, request: ShareGroupHeartbeatRequest) -> ShareGroupHeartbeatResponse:
    if not ctx.services.metadata.share_groups_enabled:
        return ShareGroupHeartbeatResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    if not ctx.may(READ_GROUP, request.group_id):
        return ShareGroupHeartbeatResponse(error_code=READ_GROUP.error)
    if await ctx.find_lacking(DESCRIBE_TOPIC, request.subscribed_topic_names or ()):
        return ShareGroupHeartbeatResponse(error_code=DESCRIBE_TOPIC.error)
    client = Client(ctx.client_id or "", f"/{ctx.connection.client_host}")
    groups, hearing = ctx.services.groups, ctx.services.metadata.hearing
    if hearing is not None:
        await hearing.of(groups.share.topics_to_look_at(request))
    if request.member_epoch != JOIN_EPOCH:
        groups.names.heard_of(request.group_id, ctx.owner)
        return await groups.share.heartbeat(request, client, ctx.connection)
    return await groups.names.join(
        Joining(request.group_id, request.member_id),
        ctx.owner,
        lambda: groups.share.heartbeat(request, client, ctx.connection),
        lambda message: refusal(ErrorCode.GROUP_MAX_SIZE_REACHED, message),
        lambda response: response.member_id or "",
    )
