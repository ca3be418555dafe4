"""Error codes of answers, as they come from brokers of any release."""

from __future__ import annotations

from shareq.protocol.errors import ErrorCode


def error_of(code: int) -> ErrorCode:
    """Return the error code; UNKNOWN_SERVER_ERROR for one that this release does not know."""
    try:
        return ErrorCode(code)
    except ValueError:
        return ErrorCode.UNKNOWN_SERVER_ERROR
