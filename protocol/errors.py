"""The three kinds of protocol failure: an error for the client (`ApiError`), malformed bytes, an unencodable message.

`ErrorCode` and the facts about each code come from `schemas/errors.json`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from shareq.protocol.generated.error_codes import RETRIABLE, TEXTS, ErrorCode
from shareq.protocol.primitives import MalformedMessage, UnencodableMessage

__all__ = [
    "NO_ERROR",
    "RETRIABLE",
    "TEXTS",
    "ApiError",
    "ErrorCode",
    "MalformedMessage",
    "UnencodableMessage",
    "error_of",
    "is_retriable",
    "storage_failure",
    "text_of",
]


class ApiError(NamedTuple):
    """An error code for a client, with a message or None. It is false for NONE."""

    code: ErrorCode
    message: str | None = None

    def __bool__(self) -> bool:
        return self.code != ErrorCode.NONE


NO_ERROR: Final = ApiError(ErrorCode.NONE)


def storage_failure(error: OSError) -> ApiError:
    """Return the error for metadata that could not be written and so has not changed."""
    return ApiError(ErrorCode.KAFKA_STORAGE_ERROR, f"The change could not be stored: {error}")


def error_of(code: int) -> ErrorCode:
    """Return the error code with this number; UNKNOWN_SERVER_ERROR for a number of a later release."""
    try:
        return ErrorCode(code)
    except ValueError:
        return ErrorCode.UNKNOWN_SERVER_ERROR


def is_retriable(code: int) -> bool:
    """Return True if Apache Kafka's clients repeat a request after this error. Unknown codes are not retriable."""
    return code in RETRIABLE


def text_of(code: int) -> str:
    """Return a sentence that describes the error. Codes of later releases get a generic one."""
    return TEXTS.get(code, f"Error code {code}, unknown to this release.")
