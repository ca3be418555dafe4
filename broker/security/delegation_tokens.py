"""Delegation tokens (KIP-48): there are none, as in Apache Kafka without `delegation.token.secret.key`."""

from __future__ import annotations

from shareq.broker.security.names import ANONYMOUS
from shareq.protocol.errors import ErrorCode


def refusal(principal: str) -> ErrorCode:
    """Return the error for a client that asks for a token, or about some: without authentication, that it may not."""
    if principal == ANONYMOUS:
        return ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    return ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
