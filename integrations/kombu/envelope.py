"""Conversion of messages to records, and the check that a record is a message that kombu accepts. Pure."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from typing import Any, Final

from kombu.utils.json import dumps, loads

ENCODINGS: Final = ("base64", "utf-8")
"""The values that `body_encoding` may have; without one the body is text."""
_PROPERTIES: Final = frozenset(
    {
        *("delivery_mode", "correlation_id", "reply_to", "expiration", "message_id", "timestamp", "type", "user_id"),
        *("app_id", "cluster_id", "priority"),
        *("delivery_info", "delivery_tag", "body_encoding"),  # kombu's own
    }
)


class NotAMessage(ValueError):
    """A record that is not a message of kombu. The text is the reason, and shows nothing of the record's value."""


def packed(message: Mapping[str, Any]) -> bytes:
    """Return a message as a record's value. As on AMQP, properties unknown to AMQP are left out."""
    properties = {name: value for name, value in message["properties"].items() if name in _PROPERTIES}
    text: str = dumps({**message, "properties": properties})
    return text.encode()


def unpacked(value: bytes | None, sent_ms: int) -> dict[str, Any]:
    """Return the message of a record's value, including `sent_ms`, the record's time. Raises only NotAMessage.

    kombu and Celery use the result without checks: each field that they use has a valid type.
    """
    try:
        found = loads(value or b"")
    except Exception as error:  # kombu's typed JSON may raise anything, deep nesting RecursionError
        raise NotAMessage(f"its value is no JSON of kombu ({type(error).__name__})") from None
    if not isinstance(found, dict):
        raise NotAMessage("its value is no JSON object")
    properties = found.get("properties")
    if not isinstance(properties, dict):
        raise NotAMessage("properties must be an object")
    _check_properties(properties)
    _check_body(found.get("body"), properties.get("body_encoding"))
    for name in ("content-type", "content-encoding"):
        if not isinstance(found.get(name), str | None):
            raise NotAMessage(f"{name} must be a string")
    if not isinstance(found.get("headers"), dict | None):
        raise NotAMessage("headers must be an object")
    found["sent_ms"] = sent_ms
    return found


def expired(message: Mapping[str, Any], now_ms: int) -> bool:
    """Return True if a message's own time to live (its property `expiration`, in ms) is over."""
    try:
        return now_ms >= int(message["sent_ms"]) + int(message["properties"]["expiration"])
    except (KeyError, TypeError, ValueError, OverflowError):
        return False


def _check_properties(properties: dict[str, Any]) -> None:
    info = properties.get("delivery_info")
    if not isinstance(info, dict | None):
        raise NotAMessage("properties.delivery_info must be an object")
    properties["delivery_info"] = info or {}
    for place, fields in (("properties", properties), ("properties.delivery_info", properties["delivery_info"])):
        for name, value in fields.items():
            if name != "delivery_info" and isinstance(value, dict | list):
                known = name if name in _PROPERTIES or name in ("exchange", "routing_key") else "a field"
                raise NotAMessage(f"{place}: {known} must not be an object or a list")
            if isinstance(value, float) and not math.isfinite(value):
                raise NotAMessage(f"{place}: a number must be finite")
    for name in ("correlation_id", "reply_to"):
        if not isinstance(properties.get(name), str | int | None):
            raise NotAMessage(f"properties.{name} must be a string")


def _check_body(body: Any, encoding: Any) -> None:
    if not isinstance(body, str | bytes | None):
        raise NotAMessage("body must be a string")
    if not isinstance(encoding, str | None) or (encoding and encoding.lower() != "utf-8" and encoding != "base64"):
        raise NotAMessage(f"properties.body_encoding must be one of {', '.join(ENCODINGS)}")
    try:
        data = body.encode() if isinstance(body, str) else body
        if data and encoding == "base64":
            base64.b64decode(data)
    except ValueError:  # of base64, or a text that is no Unicode
        raise NotAMessage("body is not as properties.body_encoding says") from None
