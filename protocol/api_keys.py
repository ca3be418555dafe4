"""The APIs of Kafka's protocol that shareq uses, with the codec of each."""

from __future__ import annotations

from importlib import import_module
from typing import Final, NamedTuple

from shareq.protocol.generated.index import APIS, ApiKey
from shareq.protocol.primitives import Message

__all__ = ["ApiCodec", "ApiKey", "codec", "flexible_from", "versions"]


class ApiCodec(NamedTuple):
    """One API's classes and versions. Versions are inclusive; `flexible_from` may be above `max_version`."""

    api_key: ApiKey
    request_class: type[Message]
    response_class: type[Message]
    min_version: int
    max_version: int
    flexible_from: int
    latest_version_unstable: bool
    listeners: tuple[str, ...]


_CODECS: Final[dict[int, ApiCodec]] = {}


def codec(api_key: int) -> ApiCodec:
    """Return the codec of an API; its module is imported on the first call. Raises KeyError for a key that no used API
    has.
    """
    found = _CODECS.get(api_key)
    if found is None:
        found = _CODECS[api_key] = _load(api_key)
    return found


def _load(api_key: int) -> ApiCodec:
    module, name, lowest, highest, flexible, unstable, listeners = APIS[api_key]
    classes = import_module(f"shareq.protocol.generated.{module}")
    return ApiCodec(
        api_key=ApiKey(api_key),
        request_class=getattr(classes, f"{name}Request"),
        response_class=getattr(classes, f"{name}Response"),
        min_version=lowest,
        max_version=highest,
        flexible_from=flexible,
        latest_version_unstable=unstable,
        listeners=listeners,
    )


def versions(api_key: int) -> tuple[int, int] | None:
    """Return the lowest and highest version that the protocol defines, both inclusive; None for a key without
    versions.
    """
    row = APIS.get(api_key)
    return None if row is None else (row[2], row[3])


def flexible_from(api_key: int) -> int:
    """Return the first flexible version, `NEVER` if there is none. Raises KeyError for a key without versions."""
    return APIS[api_key][4]
