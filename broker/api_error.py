"""An error code with the sentence that goes with it, as most admin responses carry them."""

from __future__ import annotations

from typing import Final, NamedTuple

from shareq.protocol.errors import ErrorCode


class ApiError(NamedTuple):
    """What went wrong for the client; falsy when nothing did. `message` None means there is nothing to add."""

    code: ErrorCode
    message: str | None = None

    def __bool__(self) -> bool:
        return self.code != ErrorCode.NONE


NO_ERROR: Final = ApiError(ErrorCode.NONE)


def storage_failure(error: OSError) -> ApiError:
    """The answer when metadata could not be written; nothing has changed then."""
    return ApiError(ErrorCode.KAFKA_STORAGE_ERROR, f"The change could not be stored: {error}")
