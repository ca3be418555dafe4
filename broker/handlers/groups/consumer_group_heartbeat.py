"""ConsumerGroupHeartbeat: v0-1 (KIP-848).

Behaviour: the member joins (epoch 0), stays alive, changes its subscription, reports its partitions, or leaves (epoch
-1, or -2 for a static member that will return). READ on the group is needed, and DESCRIBE on every named topic; a
pattern matches only topics that the client may describe. v1: subscriptions by pattern; the member id comes from the
client.

Here: a subscription of more than 10,000 names, or one that does not fit into a record, is refused as too large.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Final

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.groups.names import Joining
from shareq.broker.security.rights import DESCRIBE_TOPIC, READ_GROUP
from shareq.coordinator.group.consumer.member import JOIN_EPOCH
from shareq.coordinator.group.consumer.requests import refusal
from shareq.coordinator.group.groups import Client
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)

MOST_NAMES: Final = 10_000
"""The most topics to which a member may subscribe by name, since each step of a decision goes through all of them."""

_TIMES: Final = 2  # the partitions that the member owns are not persisted


def refusal_by_size(ctx: RequestContext, frame_bytes: int) -> ConsumerGroupHeartbeatResponse | None:
    """Return UNKNOWN_SERVER_ERROR for a frame that is too large, as for any subscription that does not fit into a
    record.
    """
    if not ctx.services.groups.coordinator.has_no_room_for(frame_bytes, times=_TIMES):
        return None
    return _too_large()


async def handle(ctx: RequestContext, request: ConsumerGroupHeartbeatRequest) -> ConsumerGroupHeartbeatResponse:
    if not ctx.services.metadata.consumer_groups_enabled:
        return ConsumerGroupHeartbeatResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    if not ctx.may(READ_GROUP, request.group_id):
        return ConsumerGroupHeartbeatResponse(error_code=READ_GROUP.error)
    names = request.subscribed_topic_names or ()
    if len(names) > MOST_NAMES:
        return _too_large()
    if await ctx.find_lacking(DESCRIBE_TOPIC, names):
        return ConsumerGroupHeartbeatResponse(error_code=DESCRIBE_TOPIC.error)
    return await _heartbeat(ctx, request)


def _too_large() -> ConsumerGroupHeartbeatResponse:
    return refusal(ErrorCode.UNKNOWN_SERVER_ERROR, "The subscription is too large.")


async def _heartbeat(ctx: RequestContext, request: ConsumerGroupHeartbeatRequest) -> ConsumerGroupHeartbeatResponse:
    client = Client(ctx.client_id or "", f"/{ctx.connection.client_host}")
    groups = ctx.services.groups

    def heartbeat() -> Awaitable[ConsumerGroupHeartbeatResponse]:
        return groups.consumer.heartbeat(request, ctx.api_version, client, lambda topic: ctx.may(DESCRIBE_TOPIC, topic))

    if request.member_epoch != JOIN_EPOCH:
        return await heartbeat()
    return await groups.names.join(
        Joining(request.group_id, request.member_id, request.instance_id),
        ctx.owner,
        heartbeat,
        lambda message: refusal(ErrorCode.GROUP_MAX_SIZE_REACHED, message),
        lambda response: response.member_id or "",
    )
