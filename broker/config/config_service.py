"""What is configured now: the broker's properties with their dynamic changes, and those of topics and groups.

Values are looked up on every use. Only what has properties of its own is cached: names that clients make up are not.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence

from shareq.broker.api_error import NO_ERROR, ApiError, storage_failure
from shareq.broker.config import describe, group_config, topic_config
from shareq.broker.config.broker_config import BrokerConfig, dynamic_key
from shareq.broker.config.broker_keys import BROKER_KEYS
from shareq.broker.config.config_changes import Alteration, ConfigOp, apply_alterations
from shareq.broker.config.config_def import ConfigError, ConfigValue, UpdateMode
from shareq.broker.config.group_config import GROUP_KEYS, ConsumerGroupSettings
from shareq.broker.config.topic_config import TOPIC_KEYS
from shareq.broker.log.settings import LogSettings
from shareq.broker.meta_db import PutConfig, ResourceName
from shareq.broker.metadata import MetadataStore
from shareq.coordinator.ports import ShareGroupSettings
from shareq.protocol.errors import ErrorCode

logger = logging.getLogger(__name__)

TOPIC = "topic"
BROKER = "broker"
GROUP = "group"


class ConfigService:
    """Effective configuration. `ShareGroupSettingsSource` of the coordinators.

    `static` is what the broker was started with; `broker` has the dynamic changes on top and is replaced by each.
    """

    def __init__(self, config: BrokerConfig, metadata: MetadataStore) -> None:
        self.static = config
        self.broker = config
        self._metadata = metadata
        self._topics: dict[str, dict[str, ConfigValue]] = {}
        self._logs: dict[str, LogSettings] = {}
        self._share_groups: dict[str, ShareGroupSettings] = {}
        self._listeners: list[Callable[[ResourceName], None]] = []
        self._refresh_broker()
        metadata.on_config_changed(self._changed)
        metadata.on_topic_deleted(lambda topic: self._forget_topic(topic.name))

    # -- what is in effect

    def topic(self, name: str) -> Mapping[str, ConfigValue]:
        """A topic's effective properties; the broker's defaults for a topic that does not exist."""
        overrides = self._metadata.configs(TOPIC, name)
        if not overrides:
            return self._plain_topic
        values = self._topics.get(name)
        if values is None:
            values = self._topics[name] = topic_config.topic_values(name, self.broker, overrides)
        return values

    def log_settings(self, name: str) -> LogSettings:
        """A topic's effective properties as its logs take them."""
        if not self._metadata.configs(TOPIC, name):
            return self._plain_log
        settings = self._logs.get(name)
        if settings is None:
            settings = self._logs[name] = topic_config.log_settings(self.topic(name), self.broker)
        return settings

    def share_group(self, group_id: str) -> ShareGroupSettings:
        """A share group's effective settings, whether or not it exists."""
        if not self._metadata.configs(GROUP, group_id):
            return self._plain_share_group
        settings = self._share_groups.get(group_id)
        if settings is None:
            settings = group_config.share_group_settings(self._group_values(group_id))
            self._share_groups[group_id] = settings
        return settings

    def consumer_group(self, group_id: str) -> ConsumerGroupSettings:
        """A consumer group's effective settings, whether or not it exists."""
        return group_config.consumer_group_settings(self._group_values(group_id))

    def flush_every_message(self) -> bool:
        """Whether a write is answered only when it survives power loss (`log.flush.interval.messages=1`)."""
        return self.broker.log_flush_interval_messages == 1

    def on_change(self, listener: Callable[[ResourceName], None]) -> None:
        """Call back after a resource's properties changed and this service shows the new ones."""
        self._listeners.append(listener)

    # -- the Admin API's view

    def describe_topic(self, name: str) -> list[describe.ConfigEntry]:
        """All public properties of an existing topic, by name."""
        return describe.describe_topic(self.topic(name), self._metadata.configs(TOPIC, name), self._layers())

    def describe_new_topic(self, name: str, overrides: Mapping[str, str]) -> list[describe.ConfigEntry]:
        """The same for a topic that would be created with these properties of its own."""
        values = topic_config.topic_values(name, self.broker, overrides)
        return describe.describe_topic(values, overrides, self._layers())

    def describe_group(self, group_id: str) -> list[describe.ConfigEntry]:
        """All properties of a group, by name."""
        overrides = self._metadata.configs(GROUP, group_id)
        return describe.describe_group(self._group_values(group_id), overrides, self._layers())

    def describe_broker(self, *, cluster: bool) -> list[describe.ConfigEntry]:
        """This broker's public properties, or those set for all brokers."""
        return describe.describe_cluster(self._layers()) if cluster else describe.describe_broker(self._layers())

    def check_new_topic(self, name: str, overrides: Mapping[str, str]) -> ApiError:
        """INVALID_CONFIG when a topic cannot have these properties."""
        try:
            topic_config.check_topic_configs(name, self.broker, overrides)
        except ConfigError as error:
            return ApiError(ErrorCode.INVALID_CONFIG, str(error))
        return NO_ERROR

    def alter_topic(self, name: str, alterations: Sequence[Alteration], *, validate_only: bool) -> ApiError:
        """Change a topic's properties; `check_alterations` has passed them. They are checked before the topic is."""
        current = self._metadata.configs(TOPIC, name)
        after = apply_alterations(current, alterations, TOPIC_KEYS.keys.get, lambda key: self.topic(name).get(key))
        if isinstance(after, ApiError):
            return after
        error = self.check_new_topic(name, after)
        if not error and self._metadata.topic(name) is None:
            error = ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")
        return error or self._store(ResourceName(TOPIC, name), current, after, validate_only)

    def alter_group(self, group_id: str, alterations: Sequence[Alteration], *, validate_only: bool) -> ApiError:
        """Change a group's properties, whether or not it exists."""
        current = self._metadata.configs(GROUP, group_id)
        effective = self._group_values(group_id)
        after = apply_alterations(current, alterations, GROUP_KEYS.keys.get, effective.get)
        if isinstance(after, ApiError):
            return after
        try:
            group_config.check_group_configs(self.broker, after)
        except ConfigError as error:
            return ApiError(ErrorCode.INVALID_CONFIG, str(error))
        return self._store(ResourceName(GROUP, group_id), current, after, validate_only)

    def alter_broker(self, name: str, alterations: Sequence[Alteration], *, validate_only: bool) -> ApiError:
        """Change this broker's dynamic properties (`name` its id), or those of all brokers (`name` "")."""
        refused = _refused_for_broker(alterations, cluster=not name)
        if refused:
            return refused
        current = self._metadata.configs(BROKER, name)
        after = apply_alterations(current, alterations, BROKER_KEYS.keys.get, self.broker.values.get)
        if isinstance(after, ApiError):
            return after
        own, cluster = self._metadata.configs(BROKER, self._own_name), self._metadata.configs(BROKER, "")
        shown = {**cluster, **after} if name else {**after, **own}
        try:
            for alteration in alterations:  # a value that another one hides must be right too
                if alteration.key in after:
                    BROKER_KEYS[alteration.key].parse(after[alteration.key])
            self.static.with_dynamic(shown)
        except ConfigError as error:
            return ApiError(ErrorCode.INVALID_REQUEST, str(error))
        return self._store(ResourceName(BROKER, name), current, after, validate_only)

    # -- inside

    @property
    def _own_name(self) -> str:
        return str(self.static.node_id)

    def _group_values(self, group_id: str) -> dict[str, ConfigValue]:
        return group_config.group_values(group_id, self.broker, self._metadata.configs(GROUP, group_id))

    def _layers(self) -> describe.BrokerLayers:
        configs = self._metadata.configs
        own, cluster = _known(configs(BROKER, self._own_name)), _known(configs(BROKER, ""))
        return describe.BrokerLayers(self.broker, own, cluster, self.static.originals)

    def _store(
        self, resource: ResourceName, current: Mapping[str, str], after: Mapping[str, str], validate_only: bool
    ) -> ApiError:
        changes = [PutConfig(resource, key, after.get(key)) for key in {**current, **after}]
        changes = [change for change in changes if change.value != current.get(change.key)]
        if not changes or validate_only:
            return NO_ERROR
        try:
            self._metadata.alter_configs(changes)
        except OSError as error:
            logger.error("%s %s: properties not changed: %s", resource.kind, resource.name, error)
            return storage_failure(error)
        keys = ", ".join(sorted(change.key for change in changes))  # the values might be secrets
        logger.info("%s %s: changed %s", resource.kind, resource.name or "<default>", keys)
        return NO_ERROR

    def _changed(self, resource: ResourceName) -> None:
        if resource.kind == BROKER:
            self._refresh_broker()
        elif resource.kind == TOPIC:
            self._forget_topic(resource.name)
        else:
            self._share_groups.pop(resource.name, None)
        for listener in self._listeners:
            listener(resource)

    def _forget_topic(self, name: str) -> None:
        self._topics.pop(name, None)
        self._logs.pop(name, None)

    def _refresh_broker(self) -> None:
        configs = self._metadata.configs
        dynamic = {**_known(configs(BROKER, "")), **_known(configs(BROKER, self._own_name))}
        try:
            self.broker = self.static.with_dynamic(dynamic) if dynamic else self.static
        except ConfigError as error:
            # What the broker is started with may have changed since these were accepted.
            logger.error("dynamic broker properties are not applied: %s", error)
            self.broker = self.static
        self._topics.clear()
        self._logs.clear()
        self._share_groups.clear()
        self._plain_topic = topic_config.topic_defaults(self.broker)
        self._plain_log = topic_config.log_settings(self._plain_topic, self.broker)
        self._plain_share_group = group_config.share_group_settings(group_config.group_values("", self.broker, {}))


def _known(texts: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in texts.items() if dynamic_key(name) is not None}


def _refused_for_broker(alterations: Sequence[Alteration], *, cluster: bool) -> ApiError:
    set_keys = [alteration.key for alteration in alterations if alteration.op != ConfigOp.DELETE]
    fixed = sorted(key for key in set_keys if dynamic_key(key) is None)
    if fixed:
        return ApiError(ErrorCode.INVALID_REQUEST, f"These configs cannot be updated dynamically: {', '.join(fixed)}")
    own = [key for key in set_keys if BROKER_KEYS[key].mode is UpdateMode.PER_BROKER]
    if cluster and own:
        message = f"These configs can be updated only with a broker id: {', '.join(sorted(own))}"
        return ApiError(ErrorCode.INVALID_REQUEST, message)
    return NO_ERROR
