"""The three kinds of protocol failure: an error code for the client, malformed bytes, an unencodable message.

`ErrorCode` and what is known of each code come from `schemas/errors.json`.
"""

from __future__ import annotations

from shareq.protocol.generated.error_codes import RETRIABLE, TEXTS, ErrorCode
from shareq.protocol.primitives import MalformedMessage, UnencodableMessage

__all__ = [
    "RETRIABLE",
    "TEXTS",
    "ErrorCode",
    "KafkaError",
    "MalformedMessage",
    "UnencodableMessage",
    "is_retriable",
    "text_of",
]


class KafkaError(Exception):
    """An error code as an exception, for callers that wait for a result. `error` is the code, never NONE."""

    def __init__(self, error: ErrorCode, message: str | None = None) -> None:
        super().__init__(f"{error.name}: {message or text_of(error)}")
        self.error = error
        self.message = message


def is_retriable(code: int) -> bool:
    """Whether the same request may succeed later, as Apache Kafka's clients see it. Unknown codes: no."""
    return code in RETRIABLE


def text_of(code: int) -> str:
    """One sentence for people. Codes newer than this release get a generic one."""
    return TEXTS.get(code, f"Error code {code}, unknown to this release.")
