"""How many connections may be open and how fast they may come, of all that is configured."""

from __future__ import annotations

from collections.abc import Mapping

from shareq.broker.config.keys.broker import BROKER_KEYS
from shareq.broker.network.connection_quotas import UNLIMITED, ListenerNumbers
from shareq.protocol.config_def import ConfigError

_OF_LISTENERS = ("max.connections", "max.connection.creation.rate")


def listener_numbers(properties: Mapping[str, str], names: list[str]) -> dict[str, ListenerNumbers]:
    """What these listeners have of their own. `properties` are all that begin with `listener.name.`. ConfigError."""
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
