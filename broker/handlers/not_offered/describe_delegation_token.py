"""DescribeDelegationToken: v1-3 (KIP-48).

Behaviour: delegation tokens are off: DELEGATION_TOKEN_AUTH_DISABLED, and DELEGATION_TOKEN_REQUEST_NOT_ALLOWED on a
listener without authentication.
"""

from __future__ import annotations

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.security.delegation_tokens import refusal
from shareq.protocol.generated.describe_delegation_token import (
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)


def handle(ctx: RequestContext, _request: DescribeDelegationTokenRequest) -> DescribeDelegationTokenResponse:
    return DescribeDelegationTokenResponse(error_code=refusal(ctx.connection.principal))
