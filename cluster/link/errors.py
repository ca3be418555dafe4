"""Error codes as brokers of any release answer them."""

from __future__ import annotations

from shareq.protocol.errors import ErrorCode


def error_of(code: int) -> ErrorCode:
    """Return the error of a code; UNKNOWN_SERVER_ERROR for one of a later release."""
    try:
        return ErrorCode(code)
    except ValueError:
        return ErrorCode.UNKNOWN_SERVER_ERROR
