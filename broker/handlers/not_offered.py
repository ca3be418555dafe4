"""RPCs of features that shareq lacks. They are refused in every version, as by an Apache Kafka without the feature.

Delegation tokens come from KIP-48 and KIP-373, groups of Kafka Streams from KIP-1071 and KIP-1331, voters from KIP-853,
UnregisterBroker from KIP-746. `REFUSALS` describes each RPC, as a handler's docstring does elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.metadata.features import CONTROLLERS_UNREGISTER, METADATA_VERSION
from shareq.broker.security.names import ANONYMOUS
from shareq.broker.security.rights import ALTER_CLUSTER
from shareq.protocol.api_keys import ApiKey, codec
from shareq.protocol.errors import NO_ERROR, ApiError, ErrorCode, text_of
from shareq.protocol.generated.create_delegation_token import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from shareq.protocol.generated.streams_group_describe import DescribedGroup
from shareq.protocol.primitives import Message

_REQUESTER_FROM: Final = 3


def handle(ctx: RequestContext, request: Any) -> Message:  # Any: of one of these RPCs
    """Refuse the request."""
    error = REFUSALS[ApiKey(request.API_KEY)].error(ctx, request)
    response: Any = failed(request, error.code)
    if error.message is not None:
        response.error_message = error.message
    if isinstance(response, CreateDelegationTokenResponse):
        _name_principals(ctx, request, response)
    return response  # type: ignore[no-any-return]


def failed(request: Any, error: ErrorCode) -> Message:
    """Return the answer with the same error for every group, if the RPC names groups."""
    key = ApiKey(request.API_KEY)
    response: Any = codec(key).response_class()
    if key is ApiKey.STREAMS_GROUP_DESCRIBE:
        response.groups = [DescribedGroup(error_code=error, group_id=group_id) for group_id in request.group_ids]
        return response  # type: ignore[no-any-return]
    response.error_code = error
    if key in (ApiKey.RENEW_DELEGATION_TOKEN, ApiKey.EXPIRE_DELEGATION_TOKEN):
        response.expiry_timestamp_ms = -1
    return response  # type: ignore[no-any-return]


def _name_principals(
    ctx: RequestContext, request: CreateDelegationTokenRequest, response: CreateDelegationTokenResponse
) -> None:
    kind, _, name = ctx.connection.principal.partition(":")
    response.principal_type, response.principal_name = kind, name
    response.issue_timestamp_ms = response.expiry_timestamp_ms = response.max_timestamp_ms = -1
    if ctx.api_version >= _REQUESTER_FROM:
        response.token_requester_principal_type, response.token_requester_principal_name = kind, name
        if request.owner_principal_name:
            response.principal_type = request.owner_principal_type or ""
            response.principal_name = request.owner_principal_name


def _no_tokens(ctx: RequestContext, _request: Any) -> ApiError:
    if ctx.connection.principal == ANONYMOUS:
        return ApiError(ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)
    return ApiError(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)


def _no_streams(_ctx: RequestContext, request: Any) -> ApiError:
    error = ErrorCode.UNSUPPORTED_VERSION
    says_why = request.API_KEY == ApiKey.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE
    return ApiError(error, text_of(error) if says_why else None)


def _may_not_alter(ctx: RequestContext) -> ApiError:
    return NO_ERROR if ctx.may(ALTER_CLUSTER) else ApiError(ALTER_CLUSTER.error, text_of(ALTER_CLUSTER.error))


def _no_voters(ctx: RequestContext, request: Any) -> ApiError:
    if request.cluster_id not in (None, ctx.services.metadata.cluster_id):
        error = ApiError(ErrorCode.INCONSISTENT_CLUSTER_ID, text_of(ErrorCode.INCONSISTENT_CLUSTER_ID))
    else:
        what = "adding" if request.API_KEY == ApiKey.ADD_RAFT_VOTER else "removing"
        message = f"Cluster doesn't support {what} voter because the kraft.version feature is 0"
        error = ApiError(ErrorCode.UNSUPPORTED_VERSION, message)
    return _may_not_alter(ctx) or error


def _one_broker(ctx: RequestContext, request: Any) -> ApiError:
    broker = f"Broker ID {request.broker_id}"
    if request.broker_id == ctx.services.started_with.node_id:
        error = ApiError(ErrorCode.INVALID_REQUEST, f"{broker} is the only broker, and answers this")
    else:
        error = ApiError(ErrorCode.BROKER_ID_NOT_REGISTERED, f"{broker} is not currently registered")
    return _may_not_alter(ctx) or error


def _one_controller(ctx: RequestContext, request: Any) -> ApiError:
    if request.controller_id == ctx.services.started_with.node_id:
        error = ApiError(ErrorCode.INVALID_REQUEST, "Controller cannot unregister itself while it is active.")
    elif ctx.services.metadata.features.get(METADATA_VERSION, 0) < CONTROLLERS_UNREGISTER:
        message = "The current MetadataVersion is too old to support controller unregistration."
        error = ApiError(ErrorCode.UNSUPPORTED_VERSION, message)
    else:
        message = f"Controller ID {request.controller_id} is not currently registered."
        error = ApiError(ErrorCode.CONTROLLER_ID_NOT_REGISTERED, message)
    return _may_not_alter(ctx) or error


class Refusal(NamedTuple):
    """The description of a refused RPC's behaviour, and its error."""

    behaviour: str
    error: Callable[[RequestContext, Any], ApiError]


_TOKENS_OFF: Final = (
    "delegation tokens are off: DELEGATION_TOKEN_AUTH_DISABLED, and DELEGATION_TOKEN_REQUEST_NOT_ALLOWED on a listener "
    "without authentication."
)
_STREAMS_OFF: Final = (
    "UNSUPPORTED_VERSION, as where Apache Kafka's feature streams.version is 0: Kafka Streams' classic protocol works."
)
_QUORUM: Final = (
    "UNSUPPORTED_VERSION, as where Apache Kafka's feature kraft.version is 0: the quorum is this broker. "
    "ALTER on the cluster is needed."
)

REFUSALS: Final[Mapping[ApiKey, Refusal]] = {
    ApiKey.CREATE_DELEGATION_TOKEN: Refusal(_TOKENS_OFF, _no_tokens),
    ApiKey.RENEW_DELEGATION_TOKEN: Refusal(_TOKENS_OFF, _no_tokens),
    ApiKey.EXPIRE_DELEGATION_TOKEN: Refusal(_TOKENS_OFF, _no_tokens),
    ApiKey.DESCRIBE_DELEGATION_TOKEN: Refusal(_TOKENS_OFF, _no_tokens),
    ApiKey.UNREGISTER_BROKER: Refusal(
        "INVALID_REQUEST for this broker's id, BROKER_ID_NOT_REGISTERED for any other. ALTER on the cluster is needed.",
        _one_broker,
    ),
    ApiKey.ADD_RAFT_VOTER: Refusal(_QUORUM, _no_voters),
    ApiKey.REMOVE_RAFT_VOTER: Refusal(_QUORUM, _no_voters),
    ApiKey.STREAMS_GROUP_HEARTBEAT: Refusal(_STREAMS_OFF, _no_streams),
    ApiKey.STREAMS_GROUP_DESCRIBE: Refusal(_STREAMS_OFF, _no_streams),
    ApiKey.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE: Refusal(_STREAMS_OFF, _no_streams),
    ApiKey.UNREGISTER_CONTROLLER: Refusal(
        "INVALID_REQUEST for this broker's id; for any other CONTROLLER_ID_NOT_REGISTERED, UNSUPPORTED_VERSION below "
        "metadata.version 33. ALTER on the cluster is needed.",
        _one_controller,
    ),
}
