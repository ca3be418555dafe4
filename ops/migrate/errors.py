"""Errors with which a migration cannot go on. Every message is one line."""

from __future__ import annotations

from shareq.client.errors import BrokerError, ClientError, is_transient
from shareq.protocol.errors import ErrorCode


class Conflict(ClientError):
    """Something at the target that this migration did not write, or no longer has what it wrote."""


def may_pass(error: ClientError) -> bool:
    """Return whether what was sent may be sent again: also what came after something that was lost."""
    return is_transient(error) or (
        isinstance(error, BrokerError) and error.code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    )
