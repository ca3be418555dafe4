"""The part of configuration that serves the Admin API: descriptions of the values in effect with their sources, and
changes.This module is imported with the first admin request; the rest of the broker uses `ConfigService`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import NamedTuple

from shareq.broker.config import describe, group_config, topic_config
from shareq.broker.config.broker_config import broker_key, dynamic_key
from shareq.broker.config.changes import Alteration, ConfigOp, apply_alterations
from shareq.broker.config.describe import ConfigEntry
from shareq.broker.config.group_config import GROUP_KEYS
from shareq.broker.config.listener_properties import is_listener_property, listener_of, per_listener
from shareq.broker.config.service import BROKER, GROUP, TOPIC, ConfigService
from shareq.broker.config.topic_config import TOPIC_KEYS
from shareq.broker.foundation.bounded_log import cut
from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.metadata.changes import PutConfig, ResourceName
from shareq.broker.metadata.news import few
from shareq.broker.metadata.ports import Metadata
from shareq.protocol.config_def import ConfigError, UpdateMode
from shareq.protocol.errors import NO_ERROR, ApiError, ErrorCode

logger = logging.getLogger(__name__)


class Planned(NamedTuple):
    """Checked changes of one resource, to be stored. `stored`, if given, is called after they were stored."""

    resource: ResourceName
    changes: Sequence[PutConfig]
    stored: Callable[[], None] | None = None


class ConfigAdmin:
    """The operations of the Admin API on configuration, through a `ConfigService` and the metadata that it reads. It
    has no state of its own.
    """

    def __init__(self, configs: ConfigService, metadata: Metadata) -> None:
        self._configs = configs
        self._metadata = metadata

    # -- describing

    def describe_topic(self, name: str) -> list[ConfigEntry]:
        """Return all public properties of an existing topic, by name."""
        own = self._metadata.configs(TOPIC, name)
        return describe.describe_topic(self._configs.topic(name), own, self._layers())

    def describe_new_topic(self, name: str, own: Mapping[str, str]) -> list[ConfigEntry]:
        """Return the properties that a topic with these `own` properties would have after its creation, by name."""
        values = topic_config.topic_values(name, self._configs.broker, own)
        return describe.describe_topic(values, own, self._layers())

    def describe_group(self, group_id: str) -> list[ConfigEntry]:
        """Return all properties of a group, by name.

        Properties of the group itself are shown as they were set, even if they exceed the present bounds.
        """
        own = self._metadata.configs(GROUP, group_id)
        values = group_config.stored_values(group_id, self._configs.broker, own)
        return describe.describe_group(values, own, self._layers())

    def describe_broker(self, *, cluster: bool) -> list[ConfigEntry]:
        """Return this broker's public properties; with `cluster`, those set for all brokers."""
        return describe.describe_cluster(self._layers()) if cluster else describe.describe_broker(self._layers())

    # -- changing

    def check_new_topic(self, name: str, own: Mapping[str, str]) -> ApiError:
        """Return INVALID_CONFIG if a topic cannot have these properties."""
        try:
            topic_config.check_topic_configs(name, self._configs.broker, own)
        except ConfigError as error:
            return ApiError(ErrorCode.INVALID_CONFIG, str(error))
        return NO_ERROR

    def plan_topic(self, name: str, alterations: Sequence[Alteration]) -> Planned | ApiError:
        """Plan changes of a topic's properties that have passed `check_alterations`; return the plan or the error.

        The properties are checked before the topic's existence.
        """
        current = self._metadata.configs(TOPIC, name)
        after = apply_alterations(current, alterations, TOPIC_KEYS.keys.get, self._configs.topic(name).get)
        if isinstance(after, ApiError):
            return after
        missing = self._metadata.topic(name) is None
        # An internal topic's own rules come with the topic.
        error = self.check_new_topic("" if missing else name, after)
        if not error and missing:
            error = ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")
        return error or _planned(ResourceName(TOPIC, name), current, after)

    def plan_group(self, group_id: str, alterations: Sequence[Alteration]) -> Planned | ApiError:
        """Plan changes of a group's properties; the group need not exist. Return the plan or the error."""
        current = self._metadata.configs(GROUP, group_id)
        after = apply_alterations(current, alterations, GROUP_KEYS.keys.get, self._configs.group(group_id).get)
        if isinstance(after, ApiError):
            return after
        try:
            group_config.check_group_configs(self._configs.broker, after)
        except ConfigError as error:
            return ApiError(ErrorCode.INVALID_CONFIG, str(error))
        return _planned(ResourceName(GROUP, group_id), current, after)

    def plan_broker(self, name: str, alterations: Sequence[Alteration]) -> Planned | ApiError:
        """Plan changes of the dynamic properties of this broker (`name` is its id) or of all brokers (`name` is "").
        Return the plan or the error.
        """
        refused = _refused_for_broker(alterations, cluster=not name)
        if refused:
            return refused
        current = self._metadata.configs(BROKER, name)
        after = apply_alterations(current, alterations, broker_key, self._configs.broker.values.get)
        if isinstance(after, ApiError):
            return after
        own, cluster = self._configs.dynamic_layers()
        shown = {**cluster, **after} if name else {**after, **own}
        try:
            for alteration in alterations:  # a value that is overridden by a later change must be valid, too
                key = broker_key(alteration.key)
                if key is not None and alteration.key in after:
                    key.parse(after[alteration.key])
            config = self._configs.static.with_dynamic(shown)
            # This is done even if no text changes, because a file of the same name may have other certificates.
            listeners = {listener_of(one.key) for one in alterations if is_listener_property(one.key)}
            use = self._configs.prepare_listeners(config, listeners) if listeners else None
        except ConfigError as error:
            return ApiError(ErrorCode.INVALID_REQUEST, str(error))
        return _planned(ResourceName(BROKER, name), current, after)._replace(stored=use)

    def store(self, planned: Sequence[Planned]) -> Pending[ApiError]:
        """Store planned changes of several resources, each named once, in one commit.

        Return the error of that commit, for all of them, or NO_ERROR.
        """
        changes = list(chain.from_iterable(plan.changes for plan in planned))
        stored = self._metadata.alter_configs(changes) if changes else completed(NO_ERROR)
        return stored.then(partial(_stored, planned))

    def _layers(self) -> describe.BrokerLayers:
        own, cluster = self._configs.dynamic_layers()
        static = self._configs.static
        return describe.BrokerLayers(
            self._configs.broker, own, cluster, {**static.originals, **static.listener_properties}
        )


def _planned(resource: ResourceName, current: Mapping[str, str], after: Mapping[str, str]) -> Planned:
    changes = [PutConfig(resource, key, after.get(key)) for key in {**current, **after}]
    return Planned(resource, [change for change in changes if change.value != current.get(change.key)])


def _stored(planned: Sequence[Planned], failure: ApiError) -> ApiError:
    """Log the stored changes and notify the parts that use them, or log why nothing was stored. Return the error or
    NO_ERROR.
    """
    if failure:
        logger.error("%s: properties not changed: %s", _named(planned), failure.message)
        return failure
    for kind, name, keys in few(logger, [_line(plan) for plan in planned if plan.changes], "resources changed"):
        logger.info("%s %s: changed %s", kind, name, keys)
    for plan in planned:
        if plan.stored is not None:
            plan.stored()
    return NO_ERROR


def _line(plan: Planned) -> tuple[str, str, str]:
    keys = ", ".join(sorted(change.key for change in plan.changes))  # the values might be secrets
    return plan.resource.kind, str(cut(plan.resource.name)) or "<default>", keys


def _named(planned: Sequence[Planned]) -> str:
    """Return the first resource's name, and the number of the others."""
    kind, name = planned[0].resource
    return f"{kind} {cut(name)}" + (f" and {len(planned) - 1} more" if len(planned) > 1 else "")


def _refused_for_broker(alterations: Sequence[Alteration], *, cluster: bool) -> ApiError:
    set_keys = [alteration.key for alteration in alterations if alteration.op != ConfigOp.DELETE]
    bare = sorted(key for key in set_keys if per_listener(key))
    if bare:
        message = f"These configs can be updated only behind listener.name.NAME., of one listener: {', '.join(bare)}"
        return ApiError(ErrorCode.INVALID_REQUEST, message)
    fixed = sorted(key for key in set_keys if dynamic_key(key) is None)
    if fixed:
        return ApiError(ErrorCode.INVALID_REQUEST, f"These configs cannot be updated dynamically: {', '.join(fixed)}")
    own = [key for key in set_keys if (found := broker_key(key)) and found.mode is UpdateMode.PER_BROKER]
    if cluster and own:
        message = f"These configs can be updated only with a broker id: {', '.join(sorted(own))}"
        return ApiError(ErrorCode.INVALID_REQUEST, message)
    return NO_ERROR
