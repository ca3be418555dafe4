"""CreateDelegationToken: v1-3 (KIP-48, KIP-373).

Behaviour: delegation tokens are off: DELEGATION_TOKEN_AUTH_DISABLED, and DELEGATION_TOKEN_REQUEST_NOT_ALLOWED on a
listener without authentication, with the principals that it would have been for.
v3: a token for another principal.
"""

from __future__ import annotations

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.security.delegation_tokens import refusal
from shareq.protocol.generated.create_delegation_token import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)

_REQUESTER_FROM = 3


def handle(ctx: RequestContext, request: CreateDelegationTokenRequest) -> CreateDelegationTokenResponse:
    principal = ctx.connection.principal
    kind, _, name = principal.partition(":")
    response = CreateDelegationTokenResponse(
        error_code=refusal(principal),
        principal_type=kind,
        principal_name=name,
        issue_timestamp_ms=-1,
        expiry_timestamp_ms=-1,
        max_timestamp_ms=-1,
    )
    if ctx.api_version >= _REQUESTER_FROM:
        response.token_requester_principal_type, response.token_requester_principal_name = kind, name
        if request.owner_principal_name:
            response.principal_type = request.owner_principal_type or ""
            response.principal_name = request.owner_principal_name
    return response
