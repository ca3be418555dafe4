"""FindCoordinator: v0-6.

Behaviour: this broker coordinates every group, transaction and share partition, but for those whose partition of the
coordinator's topic another one leads. The topic is created first, so the answer is never COORDINATOR_NOT_AVAILABLE for
want of it; where the configuration makes it impossible, the error names the property.
v1: key types (0 group, 1 transaction); others are INVALID_REQUEST. v4: many keys at once.
v6: key type 2, a share partition as `group:topic id:partition` (KIP-932), which only brokers ask for; before v6, and
for a key of another form, INVALID_REQUEST.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from shareq.broker.dispatch.in_turns import Steps, in_turns
from shareq.broker.dispatch.parts import Parts, in_parts
from shareq.broker.foundation.pending import Pending
from shareq.broker.security.rights import CLUSTER_ACTION, DESCRIBE_GROUP, DESCRIBE_TRANSACTION
from shareq.coordinator.routing import group_partition_for
from shareq.coordinator.share.keys import SharePartitionKey, parse_key, partition_for
from shareq.protocol.errors import NO_ERROR, ApiError, ErrorCode, text_of
from shareq.protocol.generated.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from shareq.protocol.names import CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE

if TYPE_CHECKING:
    from shareq.broker.dispatch.context import RequestContext


_SHARE: Final = 2
_TOPICS: Final = {0: CONSUMER_OFFSETS, 1: TRANSACTION_STATE, _SHARE: SHARE_GROUP_STATE}
_RIGHTS: Final = {0: DESCRIBE_GROUP, 1: DESCRIBE_TRANSACTION, _SHARE: CLUSTER_ACTION}
_NOWHERE: Final = -1
_PART_KEYS: Final = 1_000  # 4 µs each


def handle(
    ctx: RequestContext, request: FindCoordinatorRequest
) -> FindCoordinatorResponse | Parts | Pending[FindCoordinatorResponse]:
    if ctx.api_version >= 4:
        return in_parts(FindCoordinatorResponse(), "coordinators", _parts(ctx, request))
    return in_turns(ctx, _only(ctx, request))


def _parts(ctx: RequestContext, request: FindCoordinatorRequest) -> Iterator[list[Coordinator]]:
    keys = request.coordinator_keys
    for at in range(0, len(keys), _PART_KEYS):
        for _ in _passing(ctx, request):
            yield []
        yield [_find(ctx, request.key_type, key) for key in keys[at : at + _PART_KEYS]]


def _only(ctx: RequestContext, request: FindCoordinatorRequest) -> Steps[FindCoordinatorResponse]:
    yield from _passing(ctx, request)
    found = _find(ctx, request.key_type, request.key)
    return FindCoordinatorResponse(
        error_code=found.error_code,
        error_message=found.error_message,
        node_id=found.node_id,
        host=found.host,
        port=found.port,
    )


def failed(request: FindCoordinatorRequest, error: ErrorCode) -> FindCoordinatorResponse:
    if not request.coordinator_keys:
        return FindCoordinatorResponse(error_code=error, node_id=_NOWHERE, port=_NOWHERE)
    return FindCoordinatorResponse(coordinators=[_row(key, ApiError(error)) for key in request.coordinator_keys])


def _passing(ctx: RequestContext, request: FindCoordinatorRequest) -> Iterator[None]:
    """Pause until the topic may be created, if it does not exist."""
    topic = _TOPICS.get(request.key_type)
    return iter(()) if topic is None else ctx.services.internal_topics.passing(topic)


def _find(ctx: RequestContext, key_type: int, key: str) -> Coordinator:
    error = _check_type(ctx.api_version, key_type) or _check_right(ctx, key_type, key) or _check_key(key_type, key)
    if not error:
        error = ctx.services.internal_topics.ensure(_TOPICS[key_type])
    if error:
        return _row(key, error)
    leader = ctx.services.leaders.other_leader(*_place(ctx, key_type, key))
    endpoint = ctx.services.endpoint_for(ctx.connection.listener) if leader is None else leader.endpoint
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
    """The partition whose leader coordinates what the key names."""
    name = _TOPICS[key_type]
    topic = ctx.services.metadata.topic(name)
    count = 1 if topic is None else topic.partitions
    share_partition = parse_key(key) if key_type == _SHARE else None
    if isinstance(share_partition, SharePartitionKey):
        return name, partition_for(share_partition, count)
    return name, group_partition_for(key, count)


def _row(key: str, error: ApiError) -> Coordinator:
    return Coordinator(
        key=key, node_id=_NOWHERE, host="", port=_NOWHERE, error_code=error.code, error_message=error.message
    )
