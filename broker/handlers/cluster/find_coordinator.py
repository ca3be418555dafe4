"""FindCoordinator: v0-6.

Behaviour: this broker coordinates every group, transaction and share partition, except those whose partition of the
coordinator's topic another broker leads. If no broker leads that partition, or its leader does not have the request's
listener, the answer is COORDINATOR_NOT_AVAILABLE. v1: key types (0 group, 1 transaction); others get INVALID_REQUEST.
v4: many keys at once. v6: key type 2, a share partition as `group:topic id:partition` (KIP-932), which only brokers ask
for; before v6, and for a key of another form, INVALID_REQUEST.

Here: the coordinator's topic is created first; if the configuration makes that impossible, the error names the
property.
"""

from __future__ import annotations

from typing import Final

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.dispatch.rows import Rows
from shareq.broker.security.rights import CLUSTER_ACTION, DESCRIBE_GROUP, DESCRIBE_TRANSACTION
from shareq.broker.topics.endpoint import Endpoint
from shareq.coordinator.share.keys import SharePartitionKey, parse_key
from shareq.protocol.errors import NO_ERROR, ApiError, ErrorCode, text_of
from shareq.protocol.generated.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from shareq.protocol.names import CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE

_SHARE: Final = 2
_TOPICS: Final = {0: CONSUMER_OFFSETS, 1: TRANSACTION_STATE, _SHARE: SHARE_GROUP_STATE}
_RIGHTS: Final = {0: DESCRIBE_GROUP, 1: DESCRIBE_TRANSACTION, _SHARE: CLUSTER_ACTION}
_NOWHERE: Final = -1
_MANY_KEYS_FROM: Final = 4
_KEY_ELEMENTS: Final = 2  # the elements that one key counts as


async def handle(
    ctx: RequestContext, request: FindCoordinatorRequest
) -> FindCoordinatorResponse | Rows[FindCoordinatorResponse]:
    if ctx.api_version < _MANY_KEYS_FROM:
        found = await _find(ctx, request.key_type, request.key)
        return FindCoordinatorResponse(
            error_code=found.error_code,
            error_message=found.error_message,
            node_id=found.node_id,
            host=found.host,
            port=found.port,
        )
    rows = Rows(ctx, FindCoordinatorResponse(), "coordinators")
    for key in request.coordinator_keys:
        await rows.add(await _find(ctx, request.key_type, key), _KEY_ELEMENTS)
    return await rows.end()


def failed(request: FindCoordinatorRequest, error: ErrorCode) -> FindCoordinatorResponse:
    if not request.coordinator_keys:
        return FindCoordinatorResponse(error_code=error, node_id=_NOWHERE, port=_NOWHERE)
    return FindCoordinatorResponse(coordinators=[_row(key, ApiError(error)) for key in request.coordinator_keys])


async def _find(ctx: RequestContext, key_type: int, key: str) -> Coordinator:
    error = _check_type(ctx.api_version, key_type) or _check_right(ctx, key_type, key) or _check_key(key_type, key)
    if not error:
        error = await ctx.services.internal_topics.made(_TOPICS[key_type])
    if error:
        return _row(key, error)
    leader = ctx.services.leaders.other_leader(*_place(ctx, key_type, key))
    listener = ctx.connection.listener
    if leader is None:
        endpoint: Endpoint | None = ctx.services.endpoint_for(listener)
    else:
        endpoint = None if leader.node is None else leader.node.at(listener)
    if endpoint is None:
        return _row(key, ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE, text_of(ErrorCode.COORDINATOR_NOT_AVAILABLE)))
    return Coordinator(key=key, node_id=endpoint.node_id, host=endpoint.host, port=endpoint.port)


def _check_type(version: int, key_type: int) -> ApiError:
    if key_type not in _TOPICS:
        return ApiError(ErrorCode.INVALID_REQUEST, f"Unknown coordinator key type {key_type}")
    if key_type == _SHARE and version < 6:
        return ApiError(ErrorCode.INVALID_REQUEST, f"Coordinator key type {key_type} needs version 6 or later")
    return NO_ERROR


def _check_right(ctx: RequestContext, key_type: int, key: str) -> ApiError:
    right = _RIGHTS[key_type]
    may = ctx.may(right) if right is CLUSTER_ACTION else ctx.may(right, key)
    return NO_ERROR if may else ApiError(right.error, text_of(right.error))


def _check_key(key_type: int, key: str) -> ApiError:
    if key_type == _SHARE and isinstance(parse_key(key), ErrorCode):
        message = "A share partition's coordinator key must be group id, topic id and partition with colons between"
        return ApiError(ErrorCode.INVALID_REQUEST, message)
    return NO_ERROR


def _place(ctx: RequestContext, key_type: int, key: str) -> tuple[str, int]:
    """Return the topic and partition whose leader coordinates the key."""
    name, routes = _TOPICS[key_type], ctx.services.ground.host.routes
    topic = ctx.services.metadata.topic(name)
    count = 1 if topic is None else topic.partitions
    share_partition = parse_key(key) if key_type == _SHARE else None
    if isinstance(share_partition, SharePartitionKey):
        return name, routes.share_partition(share_partition, count)
    return name, routes.group(key, count)


def _row(key: str, error: ApiError) -> Coordinator:
    return Coordinator(
        key=key, node_id=_NOWHERE, host="", port=_NOWHERE, error_code=error.code, error_message=error.message
    )
