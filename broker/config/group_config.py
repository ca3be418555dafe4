"""Properties of one group (ConfigResource GROUP): share groups' and consumer groups', each with a broker-wide
default.

A group need not exist to have properties. A change must be within the broker's bounds. Stored values are clamped to
the bounds when they are used, because these may have become tighter since.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final

from shareq.broker.config.broker_config import BrokerConfig
from shareq.coordinator.ports import ConsumerGroupSettings, ShareGroupSettings, group_properties
from shareq.protocol.config_def import (
    ConfigDef,
    ConfigError,
    ConfigKey,
    ConfigValue,
    UnknownConfigError,
    boolean,
    int_value,
    read_stored,
)
from shareq.protocol.names import AUTO_OFFSET_RESET, DLQ_TOPIC_NAME, ISOLATION_LEVEL
from shareq.protocol.settings import settings_from

logger = logging.getLogger(__name__)

_OFFLOAD: Final = "Accepted for compatibility. Groups are assigned in their coordinator's thread."
_BACKOFF: Final = "shareq.redelivery.backoff.ms"
_LONGEST_BACKOFF: Final = "shareq.redelivery.backoff.max.ms"

GROUP_KEYS: Final = ConfigDef(
    (
        *group_properties(),
        boolean("consumer.assignor.offload.enable", True, _OFFLOAD, internal=True),
        boolean("share.assignor.offload.enable", True, _OFFLOAD, internal=True),
    )
)

# Names of early drafts of the KIP -> today's.
_RENAMED: Final = {
    "group.share.auto.offset.reset": AUTO_OFFSET_RESET,
    "group.share.isolation.level": ISOLATION_LEVEL,
}


def broker_synonym(name: str, config: BrokerConfig) -> str | None:
    """Return the broker property that has a group property's default; None if there is none."""
    synonym = f"group.{name}"
    return synonym if synonym in config.values else None


def check_group_configs(config: BrokerConfig, overrides: Mapping[str, str]) -> None:
    """Raise ConfigError unless a group may have `overrides`, the properties that it sets itself after a change.

    The broker's values are not checked: bounds hold for the group's own values, and the rule for session timeout and
    heartbeat interval only if the group sets one of the two.
    """
    values = _defaults(config)
    for name, text in overrides.items():
        values[name] = _key(name).parse(text)
    for name in overrides:
        bounds = _bounds(name, config)
        if bounds is not None and not bounds[0] <= (value := int_value(values, name)) <= bounds[1]:
            raise ConfigError(name, value, f"must be in the range {bounds[0]} to {bounds[1]} inclusive")
    for kind in ("share", "consumer"):
        names = (f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms")
        session, heartbeat = (int_value(values, name) for name in names)
        if session <= heartbeat and not overrides.keys().isdisjoint(names):
            raise ConfigError(names[0], session, f"must be greater than {names[1]} ({heartbeat})")
    backoff, longest = int_value(values, _BACKOFF), int_value(values, _LONGEST_BACKOFF)
    if backoff > longest:
        raise ConfigError(_BACKOFF, backoff, f"must be at most {_LONGEST_BACKOFF} ({longest})")


def group_values(group_id: str, config: BrokerConfig, overrides: Mapping[str, str]) -> dict[str, ConfigValue]:
    """Return the values in effect for a group: its own, clamped to the present bounds, and otherwise the broker's."""
    values = stored_values(group_id, config, overrides)
    for name in values.keys() & overrides.keys():
        values[name] = _clamped(group_id, name, values[name], config)
    return values


def stored_values(group_id: str, config: BrokerConfig, overrides: Mapping[str, str]) -> dict[str, ConfigValue]:
    """Return the values of `group_values` without clamping the group's own, so that administrators see what was set."""
    values = _defaults(config)
    read_stored(values, overrides, _key, f"group {group_id}")
    return values


def _clamped(group_id: str, name: str, value: ConfigValue, config: BrokerConfig) -> ConfigValue:
    bounds = _bounds(name, config)
    if bounds is None or not isinstance(value, int):
        return value
    clamped = min(max(value, bounds[0]), bounds[1])
    if clamped != value:
        logger.warning("group %s: %s=%d is outside the broker's bounds, using %d", group_id, name, value, clamped)
    return clamped


def share_group_settings(values: Mapping[str, ConfigValue], *, dead_letters: bool = True) -> ShareGroupSettings:
    """Return the settings of `group_values` in the form that coordinators and share partitions use.

    `dead_letters` is True if the feature level share.version 2 allows dead letters.
    """
    return settings_from(ShareGroupSettings, values, dead_letters=dead_letters and values[DLQ_TOPIC_NAME] != "")


def consumer_group_settings(values: Mapping[str, ConfigValue]) -> ConsumerGroupSettings:
    """Return the settings of `group_values` for a consumer group."""
    return settings_from(ConsumerGroupSettings, values)


def _defaults(config: BrokerConfig) -> dict[str, ConfigValue]:
    values = GROUP_KEYS.defaults()
    for name in values:
        synonym = broker_synonym(name, config)
        if synonym is not None:
            values[name] = config.values[synonym]
    return values


def _key(name: str) -> ConfigKey[Any]:
    key = GROUP_KEYS.keys.get(name)
    if key is None:
        renamed = _RENAMED.get(name)
        raise UnknownConfigError("group", name, f"; it is now called {renamed}" if renamed else "")
    return key


def _bounds(name: str, config: BrokerConfig) -> tuple[int, int] | None:
    kind, _, rest = name.partition(".")
    low, high = config.values.get(f"group.{kind}.min.{rest}"), config.values.get(f"group.{kind}.max.{rest}")
    return (low, high) if isinstance(low, int) and isinstance(high, int) else None
