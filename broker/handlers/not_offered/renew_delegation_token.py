"""RenewDelegationToken: v1-2 (KIP-48).

Behaviour: delegation tokens are off: DELEGATION_TOKEN_AUTH_DISABLED, and DELEGATION_TOKEN_REQUEST_NOT_ALLOWED on a
listener without authentication.
"""

from __future__ import annotations

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.security.delegation_tokens import refusal
from shareq.protocol.generated.renew_delegation_token import RenewDelegationTokenRequest, RenewDelegationTokenResponse


def handle(ctx: RequestContext, _request: RenewDelegationTokenRequest) -> RenewDelegationTokenResponse:
    return RenewDelegationTokenResponse(error_code=refusal(ctx.connection.principal), expiry_timestamp_ms=-1)
