"""Limits of open connections and of the rate of new ones, read from all configured properties."""

from __future__ import annotations

from collections.abc import Mapping

from shareq.broker.config.keys.broker import BROKER_KEYS
from shareq.broker.network.connection_quotas import UNLIMITED, ListenerNumbers
from shareq.protocol.config_def import ConfigError

_OF_LISTENERS = ("max.connections", "max.connection.creation.rate")


def listener_numbers(properties: Mapping[str, str], names: list[str]) -> dict[str, ListenerNumbers]:
    """Return the limits set for single listeners, by listener.

    `properties` are all that begin with `listener.name.`. Raise ConfigError if one is invalid.
    """
    return {
        name: ListenerNumbers(
            *(_number(properties, f"listener.name.{name.lower()}.{key}", key) for key in _OF_LISTENERS)
        )
        for name in names
    }


def _number(properties: Mapping[str, str], name: str, key: str) -> int:
    text = properties.get(name)
    if text is None:
        return UNLIMITED
    try:
        value = BROKER_KEYS[key].parse(text)
    except ConfigError as error:
        raise ConfigError(name, text, error.allowed) from None
    assert isinstance(value, int)
    return value
