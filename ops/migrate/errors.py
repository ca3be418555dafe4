"""Errors that end a migration. Every message is one line."""

from __future__ import annotations

from shareq.client.errors import BrokerError, ClientError, is_transient
from shareq.protocol.errors import ErrorCode


class Conflict(ClientError):
    """An error: the target has data that this migration did not write, or lacks data that it wrote."""


def may_pass(error: ClientError) -> bool:
    """Return True if the batches may be sent again, including those after a lost one."""
    return is_transient(error) or (
        isinstance(error, BrokerError) and error.code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    )
