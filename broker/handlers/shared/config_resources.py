"""Config resources as the Admin API names them."""

from __future__ import annotations

from enum import IntEnum

from shareq.protocol.errors import NO_ERROR, ApiError, ErrorCode


class ResourceType(IntEnum):
    """Resource types by their number on the wire. Loggers and client metrics are not served."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


def check_broker_name(name: str, node_id: int) -> ApiError:
    """Return INVALID_REQUEST unless a broker resource's name is this broker's id, or "" for all brokers."""
    if name in ("", str(node_id)):
        return NO_ERROR
    message = f"Unexpected broker id, expected {node_id} or an empty string, but received {name}"
    return ApiError(ErrorCode.INVALID_REQUEST, message)
