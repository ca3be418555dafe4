"""The current configuration: the broker's properties with their dynamic changes, and those of topics and groups.

Values are looked up on every use. Only resources with properties of their own are cached, so names that clients
invent take no memory.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence

from shareq.broker.config import group_config, topic_config
from shareq.broker.config.broker_config import BrokerConfig, dynamic_key
from shareq.broker.log.cleaner.schedule import CleanerSettings
from shareq.broker.log.settings import LogSettings
from shareq.broker.metadata.changes import ResourceName
from shareq.broker.metadata.ports import Metadata
from shareq.coordinator.ports import ConsumerGroupSettings, ShareGroupSettings, TopicImage
from shareq.protocol.config_def import ConfigError, ConfigValue

logger = logging.getLogger(__name__)

TOPIC = "topic"
BROKER = "broker"
GROUP = "group"


class ConfigService:
    """The configuration in effect. It is the coordinators' `ShareGroupSettingsSource`.

    `static` is the configuration at the start; `broker` includes the dynamic changes, and each change replaces it.
    `prepare_listeners` is called, with the names of listeners, before their properties change. It raises ConfigError
    if the named files or values cannot be used; otherwise it returns a function that applies them.
    """

    def __init__(self, config: BrokerConfig, metadata: Metadata) -> None:
        self.static = config
        self.broker = config
        self.prepare_listeners: Callable[[BrokerConfig, Collection[str]], Callable[[], None]] = _no_listeners
        self._metadata = metadata
        self._topics: dict[str, dict[str, ConfigValue]] = {}
        self._logs: dict[str, LogSettings] = {}
        self._share_groups: dict[str, ShareGroupSettings] = {}
        self._consumer_groups: dict[str, ConsumerGroupSettings] = {}
        self._listeners: list[Callable[[ResourceName], None]] = []
        self._refresh_broker()
        metadata.on_config_changed(self._changed)
        metadata.on_features_changed(self._share_groups.clear)
        metadata.on_topics_deleted(self._forget_topics)

    def topic(self, name: str) -> Mapping[str, ConfigValue]:
        """Return a topic's effective properties; for a topic that does not exist, the broker's defaults."""
        overrides = self._metadata.configs(TOPIC, name)
        if not overrides:
            return self._plain_topic
        values = self._topics.get(name)
        if values is None:
            values = self._topics[name] = topic_config.topic_values(name, self.broker, overrides)
        return values

    def log_settings(self, name: str) -> LogSettings:
        """Return a topic's effective properties in the form that its logs use."""
        settings = self._logs.get(name)
        if settings is None:
            if not self._metadata.configs(TOPIC, name):
                return self._plain_log
            settings = self._logs[name] = topic_config.log_settings(self.topic(name), self.broker)
        return settings

    def group(self, group_id: str) -> Mapping[str, ConfigValue]:
        """Return a group's effective properties. The group need not exist."""
        return group_config.group_values(group_id, self.broker, self._metadata.configs(GROUP, group_id))

    def share_group(self, group_id: str) -> ShareGroupSettings:
        """Return a share group's effective settings. The group need not exist."""
        settings = self._share_groups.get(group_id)
        if settings is None:
            if not self._metadata.configs(GROUP, group_id):
                return self._plain_share_group
            settings = self._share_groups[group_id] = group_config.share_group_settings(
                self.group(group_id), dead_letters=self._metadata.dead_letters_enabled
            )
        return settings

    def consumer_group(self, group_id: str) -> ConsumerGroupSettings:
        """Return a consumer group's effective settings. The group need not exist."""
        settings = self._consumer_groups.get(group_id)
        if settings is None:
            if not self._metadata.configs(GROUP, group_id):
                return self._plain_consumer_group
            settings = self._consumer_groups[group_id] = group_config.consumer_group_settings(self.group(group_id))
        return settings

    def flush_every_message(self) -> bool:
        """Return True if a write is answered only once it survives power loss (`log.flush.interval.messages=1`)."""
        return self.broker.log_flush_interval_messages == 1

    def cleaner_settings(self) -> CleanerSettings:
        """Return `log.cleaner.*` in the form that the cleaner uses."""
        config = self.broker
        return CleanerSettings(
            enable=config.log_cleaner_enable,
            backoff_ms=config.log_cleaner_backoff_ms,
            memory_bytes=int(config.log_cleaner_dedupe_buffer_size * config.log_cleaner_io_buffer_load_factor),
            bytes_per_second=max(config.log_cleaner_io_max_bytes_per_second, 1.0),
        )

    def dynamic_layers(self) -> tuple[dict[str, str], dict[str, str]]:
        """Return the texts set at run time: those of this broker, and those of all brokers. The former override the
        latter.
        """
        configs = self._metadata.configs
        return _known(configs(BROKER, str(self.static.node_id))), _known(configs(BROKER, ""))

    def on_change(self, listener: Callable[[ResourceName], None]) -> None:
        """Call `listener` after a resource's properties have changed here."""
        self._listeners.append(listener)

    def _changed(self, resource: ResourceName) -> None:
        if resource.kind == BROKER:
            self._refresh_broker()
        elif resource.kind == TOPIC:
            self._forget_topic(resource.name)
        else:
            self._share_groups.pop(resource.name, None)
            self._consumer_groups.pop(resource.name, None)
        for listener in self._listeners:
            listener(resource)

    def _forget_topics(self, topics: Sequence[TopicImage]) -> None:
        for topic in topics:
            self._forget_topic(topic.name)

    def _forget_topic(self, name: str) -> None:
        self._topics.pop(name, None)
        self._logs.pop(name, None)

    def _refresh_broker(self) -> None:
        own, cluster = self.dynamic_layers()
        try:
            self.broker = self.static.with_dynamic({**cluster, **own}) if own or cluster else self.static
        except ConfigError as error:
            # What the broker is started with may have changed since these were accepted.
            logger.error("dynamic broker properties are not applied: %s", error)
            self.broker = self.static
        self._topics.clear()
        self._logs.clear()
        self._share_groups.clear()
        self._consumer_groups.clear()
        self._plain_topic = topic_config.topic_defaults(self.broker)
        self._plain_log = topic_config.log_settings(self._plain_topic, self.broker)
        plain_group = group_config.group_values("", self.broker, {})
        self._plain_share_group = group_config.share_group_settings(plain_group)
        self._plain_consumer_group = group_config.consumer_group_settings(plain_group)


def _known(texts: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in texts.items() if dynamic_key(name) is not None}


def _no_listeners(_config: BrokerConfig, _names: Collection[str]) -> Callable[[], None]:
    return lambda: None
