"""The configuration in effect and the source of each value, as DescribeConfigs and CreateTopics return them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import dropwhile
from typing import Any, Final, NamedTuple

from shareq.broker.config.broker_config import BrokerConfig, broker_key
from shareq.broker.config.group_config import GROUP_KEYS, broker_synonym
from shareq.broker.config.keys.broker import BROKER_KEYS
from shareq.broker.config.listener_properties import listener_key
from shareq.broker.config.topic_config import SYNONYMS, TOPIC_KEYS
from shareq.protocol.config_def import ConfigKey, ConfigSource, ConfigValue, format_value

OURS: Final = "shareq."
"""The prefix of properties that Apache Kafka does not have."""

# A time that has several names, ordered by precedence.
_UNITS: Final = tuple(SYNONYMS[name] for name in ("retention.ms", "segment.ms", "segment.jitter.ms", "flush.ms"))


class ConfigSynonym(NamedTuple):
    """One setting of a property, or its default. `value` is None if it may not be shown."""

    name: str
    value: str | None
    source: ConfigSource


class ConfigEntry(NamedTuple):
    """One property in effect. `synonyms` are all settings of it, the effective one first.

    `sensitive`: its value is not shown. `unlisted`: it is shown only to clients that ask for it by name.
    """

    key: ConfigKey[Any]
    value: str | None
    source: ConfigSource
    read_only: bool
    synonyms: tuple[ConfigSynonym, ...]
    sensitive: bool = False
    unlisted: bool = False


class BrokerLayers(NamedTuple):
    """The broker's configuration by source: values set at run time for this broker, values set for all brokers, and
    values from the start.
    """

    config: BrokerConfig
    own: Mapping[str, str]
    cluster: Mapping[str, str]
    static: Mapping[str, str]

    def hides(self, name: str) -> bool:
        """Return True if the value came through a config provider and so, like a password, is never shown."""
        return name in self.config.hidden

    def synonyms(self, names: Sequence[str]) -> tuple[ConfigSynonym, ...]:
        """Return all settings of these names, ordered by the precedence of their sources, within a source in the
        order of `names`.
        """
        synonyms: list[ConfigSynonym] = []
        layers = (
            (self.own, ConfigSource.DYNAMIC_BROKER),
            (self.cluster, ConfigSource.DYNAMIC_DEFAULT_BROKER),
            (self.static, ConfigSource.STATIC_BROKER),
        )
        for texts, source in layers:
            for name in names:
                key = broker_key(name)
                if key is not None and name in texts:
                    hidden = source is ConfigSource.STATIC_BROKER and self.hides(name)
                    synonyms.append(ConfigSynonym(name, None if hidden else _shown(key, texts[name]), source))
        for name in names:
            key = broker_key(name)
            if key is not None and key.default is not None:
                synonyms.append(ConfigSynonym(name, _shown(key, format_value(key.default)), ConfigSource.DEFAULT))
        return tuple(synonyms)


def describe_topic(
    values: Mapping[str, ConfigValue], overrides: Mapping[str, str], layers: BrokerLayers
) -> list[ConfigEntry]:
    """Return every public topic property, by name. `values` are the ones in effect, `overrides` the topic's own."""
    fallbacks = {key.name: SYNONYMS.get(key.name, ()) for key in TOPIC_KEYS}
    return [
        _entry(key, values[key.name], overrides, ConfigSource.TOPIC, layers.synonyms(fallbacks[key.name]))
        for key in sorted(TOPIC_KEYS, key=_name)
        if not key.internal
    ]


def describe_group(
    values: Mapping[str, ConfigValue], overrides: Mapping[str, str], layers: BrokerLayers
) -> list[ConfigEntry]:
    """Return every public group property, by name. `values` are the ones to show, `overrides` the group's own.

    Properties that only shareq has are listed if the group sets them, and otherwise unlisted.
    """
    entries: list[ConfigEntry] = []
    for key in sorted(GROUP_KEYS, key=_name):
        unlisted = key.internal and key.name not in overrides
        if key.internal and not key.name.startswith(OURS):
            continue
        synonym = broker_synonym(key.name, layers.config)
        if synonym is not None:
            fallback = layers.synonyms((synonym,))
        else:
            fallback = (ConfigSynonym(key.name, format_value(key.default), ConfigSource.DEFAULT),)
        entry = _entry(key, values[key.name], overrides, ConfigSource.GROUP, fallback)
        entries.append(entry._replace(unlisted=True) if unlisted else entry)
    return entries


def describe_broker(layers: BrokerLayers) -> list[ConfigEntry]:
    """Return every public property of this broker, by name."""
    entries: list[ConfigEntry] = []
    for key in sorted(BROKER_KEYS, key=_name):
        if key.internal:
            continue
        synonyms = _of_broker(key.name, layers)
        source = synonyms[0].source if synonyms else ConfigSource.DEFAULT
        value = layers.config.values[key.name]
        hidden = layers.hides(key.name)
        shown = None if value is None or hidden else _shown(key, format_value(value))
        entries.append(ConfigEntry(key, shown, source, not key.mode, synonyms, hidden or key.sensitive))
    return [*entries, *_of_listeners(layers)]


def _of_listeners(layers: BrokerLayers) -> list[ConfigEntry]:
    """Return those properties of single listeners that may change while the broker runs."""
    entries: list[ConfigEntry] = []
    for name in sorted({**layers.static, **layers.cluster, **layers.own}):
        key = listener_key(name)
        if key is not None:
            synonyms = layers.synonyms((name,))
            sensitive = key.sensitive or layers.hides(name)
            value, source = synonyms[0].value, synonyms[0].source
            entries.append(ConfigEntry(key, value, source, not key.mode, synonyms, sensitive))
    return entries


def _of_broker(name: str, layers: BrokerLayers) -> tuple[ConfigSynonym, ...]:
    """Return the settings of a property: from its own name on, then those of its aliases in other units of time
    (`log.retention.hours`), in order of precedence.
    """
    units = next((units for units in _UNITS if name in units), (name,))
    return tuple(dropwhile(lambda synonym: synonym.name != name, layers.synonyms(units)))


def describe_cluster(layers: BrokerLayers) -> list[ConfigEntry]:
    """Return the properties that were set at run time for all brokers."""
    source = ConfigSource.DYNAMIC_DEFAULT_BROKER
    entries: list[ConfigEntry] = []
    for name in sorted(layers.cluster):
        key = broker_key(name)
        if key is None:
            continue
        shown = _shown(key, layers.cluster[name])
        synonyms = (ConfigSynonym(name, shown, source),)
        entries.append(ConfigEntry(key, shown, source, not key.mode, synonyms, key.sensitive))
    return entries


def _entry(
    key: ConfigKey[Any],
    value: ConfigValue,
    overrides: Mapping[str, str],
    own_source: ConfigSource,
    fallback: tuple[ConfigSynonym, ...],
) -> ConfigEntry:
    shown = None if value is None else _shown(key, format_value(value))
    synonyms = fallback
    if key.name in overrides:
        synonyms = (ConfigSynonym(key.name, shown, own_source), *fallback)
    source = synonyms[0].source if synonyms else ConfigSource.DEFAULT
    return ConfigEntry(key, shown, source, False, synonyms, key.sensitive)


def _shown(key: ConfigKey[Any], text: str) -> str | None:
    return None if key.sensitive else text


def _name(key: ConfigKey[Any]) -> str:
    return key.name
