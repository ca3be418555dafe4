"""Exit codes for failures between a client and its cluster."""

from __future__ import annotations

from typing import Final

from shareq.client.errors import (
    AuthenticationFailed,
    BrokerError,
    ClientError,
    ConfigError,
    Unintelligible,
    Unreachable,
)
from shareq.ops.cli.shared.exits import NO_CONNECTION, NOT_FOUND, REFUSED, USAGE
from shareq.protocol.errors import ErrorCode

_MISSING: Final = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.RESOURCE_NOT_FOUND,
        ErrorCode.TRANSACTIONAL_ID_NOT_FOUND,
    }
)


def exit_code(error: ClientError) -> int:
    """Return the exit code for a failure of the client."""
    if isinstance(error, ConfigError):
        return USAGE
    if isinstance(error, Unreachable | AuthenticationFailed | Unintelligible):
        return NO_CONNECTION
    if isinstance(error, BrokerError) and error.code in _MISSING:
        return NOT_FOUND
    return REFUSED
