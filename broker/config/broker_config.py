"""The broker's own configuration, read once and checked as a whole.

Precedence: overrides (command-line options) over the environment over the property file over defaults. Within one of
these sources a canonical name wins over its older alias, with a warning.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from shareq.broker.config.connection_numbers import listener_numbers
from shareq.broker.config.keys.broker import BOUNDED, BROKER_KEYS, BrokerProperties
from shareq.broker.config.keys.effects import on_node, on_one_broker
from shareq.broker.config.listener_properties import (
    is_listener_property,
    listener_key,
    listener_security,
    per_listener,
)
from shareq.broker.config.listeners import Listener, parse_listeners
from shareq.broker.disk.policy import DiskSettings
from shareq.broker.network.connection_quotas import ConnectionNumbers
from shareq.broker.security.names import parse_principal
from shareq.protocol.config_def import ConfigError, ConfigKey, ConfigValue, format_value, int_value

NOTHING: Final[Mapping[str, str]] = MappingProxyType({})
_PROVIDERS: Final = "config.providers"
_HOUR_MS: Final = 3_600_000
_JAVA_ASSIGNORS: Final = "org.apache.kafka.coordinator.group.assignor."
_CONSUMER_ASSIGNORS: Final = {
    f"{_JAVA_ASSIGNORS}UniformAssignor": "uniform",
    f"{_JAVA_ASSIGNORS}RangeAssignor": "range",
}
_SIMPLE_ASSIGNORS: Final = frozenset(
    (
        "simple",
        "SimpleAssignor",
        "org.apache.kafka.coordinator.group.assignor.SimpleAssignor",
        "org.apache.kafka.coordinator.group.share.SimpleAssignor",
        "org.apache.kafka.server.group.share.SimpleAssignor",
    )
)


class BrokerConfig(BrokerProperties):
    """The broker's properties, each as a typed attribute:

    `group.share.max.size` is `group_share_max_size`. `values` includes the defaults of groups.

    `originals` are the texts that were set, by canonical name; other properties have their defaults. `hidden` are
    the names whose text came through a config provider, and is therefore never shown. `super_principals` are the
    entries of `super.users`, as TYPE:NAME; `security` is each listener's protection, by name; `listener_properties`
    are the texts of properties that begin with `listener.name.`. `warnings` are sentences for the user, in order.
    Instances are immutable: `with_dynamic` returns a new one.
    """

    def __init__(
        self,
        originals: Mapping[str, str],
        warnings: tuple[str, ...] = (),
        listener_properties: Mapping[str, str] = NOTHING,
        hidden: frozenset[str] = frozenset(),
    ) -> None:
        self.listener_properties = listener_properties
        self.hidden = hidden
        self.originals = dict(originals)
        self.warnings = warnings
        self.values: dict[str, ConfigValue] = BROKER_KEYS.defaults()
        for name, text in originals.items():
            self.values[name] = BROKER_KEYS[name].parse(text)
        for name, value in self.values.items():
            setattr(self, name.replace(".", "_"), value)
        self._normalise()
        self.super_principals = _principals(self.super_users)
        self.endpoints: tuple[Listener, ...] = parse_listeners(self.values)
        self.security = listener_security(
            self.values, {each.name: each.protocol for each in self.endpoints}, listener_properties
        )
        self._listener_numbers = listener_numbers(listener_properties, [each.name for each in self.endpoints])
        _check(self)

    @classmethod
    def load(
        cls,
        file_properties: Mapping[str, str] | None = None,
        overrides: Mapping[str, str] | None = None,
        environment: Mapping[str, str] = NOTHING,
        *,
        of_node: bool = False,
    ) -> BrokerConfig:
        """Return the configuration: the property file, overridden by the environment, and both by the options.

        `environment` has the variables by name. `of_node`: the configuration is for a node in front of a cluster,
        where other properties have an effect. Raise ConfigError for the first invalid value.
        """
        warnings: list[str] = []
        in_environment = _of_environment(environment, warnings)
        sources: Sequence[Mapping[str, str]] = (file_properties or NOTHING, in_environment, overrides or NOTHING)
        hidden: frozenset[str] = frozenset()
        if any(_PROVIDERS in source for source in sources):
            from shareq.broker.config.sources.providers import resolve  # only those who use them pay for it

            sources, found = resolve(sources, environment)
            hidden = frozenset(BROKER_KEYS.canonical(name) or name for name in found)
        try:
            return cls._of_sources(sources, warnings, hidden, of_node=of_node)
        except ConfigError as error:
            if (BROKER_KEYS.canonical(error.name) or error.name) not in hidden:
                raise
            raise ConfigError(error.name, "[hidden]", "cannot be used; it comes through a config provider") from None

    @classmethod
    def _of_sources(
        cls, sources: Sequence[Mapping[str, str]], warnings: list[str], hidden: frozenset[str], *, of_node: bool
    ) -> BrokerConfig:
        originals: dict[str, str] = {}
        of_listeners: dict[str, str] = {}
        for source in sources:
            if source:
                originals.update(_canonical(source, warnings))
                of_listeners.update((name, text) for name, text in source.items() if is_listener_property(name))
        without_effect = on_node(originals) if of_node else on_one_broker(originals)
        return cls(originals, (*warnings, *without_effect), of_listeners, hidden)

    def with_dynamic(self, dynamic: Mapping[str, str]) -> BrokerConfig:
        """Return a copy of this configuration in which the `dynamic` texts override others. Raise ConfigError if the
        result is invalid.
        """
        own = {name: text for name, text in dynamic.items() if is_listener_property(name)}
        plain = {name: text for name, text in dynamic.items() if name not in own}
        hidden = self.hidden - dynamic.keys()
        return BrokerConfig({**self.originals, **plain}, self.warnings, {**self.listener_properties, **own}, hidden)

    @property
    def data_dir(self) -> str:
        """The single data folder."""
        return self.log_dirs[0] if self.log_dirs else self.log_dir

    @property
    def retention_ms(self) -> int:
        """The default of `retention.ms` for topics, from `log.retention.ms`, `.minutes` or `.hours`; -1 means for
        ever.
        """
        millis = self.log_retention_ms
        if millis is None and self.log_retention_minutes is not None:
            millis = self.log_retention_minutes * 60_000
        if millis is None:
            millis = self.log_retention_hours * _HOUR_MS
        return millis if millis >= 0 else -1

    @property
    def roll_ms(self) -> int:
        """The default of `segment.ms` for topics."""
        return self.log_roll_ms if self.log_roll_ms is not None else self.log_roll_hours * _HOUR_MS

    @property
    def roll_jitter_ms(self) -> int:
        """The default of `segment.jitter.ms` for topics."""
        return self.log_roll_jitter_ms if self.log_roll_jitter_ms is not None else self.log_roll_jitter_hours * _HOUR_MS

    @property
    def flush_ms(self) -> int:
        """The default of `flush.ms` for topics."""
        millis = self.log_flush_interval_ms
        return millis if millis is not None else self.log_flush_scheduler_interval_ms

    @property
    def disk_settings(self) -> DiskSettings:
        """The limits of free space on the data folder's file system."""
        return DiskSettings(self.shareq_disk_warn_bytes, self.shareq_disk_refuse_bytes, self.shareq_disk_reserve_bytes)

    @property
    def metrics_names(self) -> bool:
        """True if metrics name topics and groups, although their address has no authentication."""
        return not self.authorizer_class_name if self.shareq_metrics_names is None else self.shareq_metrics_names

    @property
    def requested_features(self) -> dict[str, int | None]:
        """Feature levels that properties require, by feature; None for any level above 0. `group.share.enable`
        concerns share.version.
        """
        if self.group_share_enable is None:
            return {}
        return {"share.version": None if self.group_share_enable else 0}

    @property
    def connection_numbers(self) -> ConnectionNumbers:
        """The limits of open connections and of the rate of new ones."""
        return ConnectionNumbers(
            self.max_connections,
            self.max_connections_per_ip,
            self.connection_overrides(),
            self.max_connection_creation_rate,
            self._listener_numbers,
        )

    def connection_overrides(self) -> dict[str, int]:
        """Return `max.connections.per.ip.overrides` as a limit for each address. Raise ConfigError if it is invalid."""
        return _connection_overrides(self.max_connections_per_ip_overrides)

    def _normalise(self) -> None:
        if len(self.group_share_assignors) == 1 and self.group_share_assignors[0] in _SIMPLE_ASSIGNORS:
            vars(self)["group_share_assignors"] = ("simple",)
        names = (_CONSUMER_ASSIGNORS.get(name, name) for name in self.group_consumer_assignors)
        vars(self)["group_consumer_assignors"] = tuple(dict.fromkeys(names))


def _of_environment(environment: Mapping[str, str], warnings: list[str]) -> Mapping[str, str]:
    """Return the properties set by variables; add warnings about variables with the same prefix that name no
    property.
    """
    if not any(name.startswith("SHAREQ_") for name in environment):
        return NOTHING
    from shareq.broker.config.keys.known_names import is_property
    from shareq.broker.config.sources.environment import OF_CLIENTS, environment_properties, variable_name

    properties = environment_properties(environment)
    unknown = [name for name in properties if not is_property(name)]
    for name in unknown:
        del properties[name]
    ignored = sorted(each for each in map(variable_name, unknown) if not each.startswith(OF_CLIENTS))
    if ignored:
        warnings.append(f"Environment variables that stand for no property are ignored: {', '.join(ignored)}")
    return properties


def _canonical(source: Mapping[str, str], warnings: list[str]) -> dict[str, str]:
    result: dict[str, str] = {}
    for name, text in source.items():
        canonical = BROKER_KEYS.canonical(name)
        if canonical is None:
            _warn_unused(name, warnings)
        elif canonical == name:
            result[name] = text
        elif canonical in source:
            _note_alias(name, text, canonical, source[canonical], warnings)
        else:
            result[canonical] = text
    return result


def _note_alias(alias: str, text: str, name: str, winner: str, warnings: list[str]) -> None:
    if alias == "broker.id" and text.strip() != winner.strip():
        raise ConfigError(alias, text, f"must equal node.id ({winner}) where both are given")
    warnings.append(f"Property {alias} is ignored: it is an older name of {name}, which is given too")


def _warn_unused(name: str, warnings: list[str]) -> None:
    from shareq.broker.config.keys.known_names import (  # only files with such names pay for them
        did_you_mean,
        is_known,
        note_for,
    )

    if not is_known(name):
        warnings.append(f"Unknown property {name} is ignored{did_you_mean(name)}")
        return
    note = note_for(name)
    if note is not None:
        warnings.append(f"Property {name} {note}")


def _principals(text: str) -> tuple[str, ...]:
    principals = tuple(filter(None, (piece.strip() for piece in text.split(";"))))
    for principal in principals:
        try:
            parse_principal(principal)
        except ValueError:
            allowed = "must be TYPE:NAME, for example User:admin, with semicolons between several"
            raise ConfigError("super.users", principal, allowed) from None
    return principals


def _connection_overrides(text: str) -> dict[str, int]:
    overrides: dict[str, int] = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        address, _, limit = part.rpartition(":")
        if not address or not limit.isdecimal():
            raise ConfigError(
                "max.connections.per.ip.overrides", text, "must be ADDRESS:LIMIT, with commas between them"
            )
        overrides[address] = int(limit)
    return overrides


def _check(config: BrokerConfig) -> None:
    for rule in _RULES:
        rule(config)


def _check_bounded(config: BrokerConfig) -> None:
    """Raise ConfigError if the default of a group's property is outside of the bounds for groups."""
    for own, least, greatest in BOUNDED:
        value, low, high = (int_value(config.values, name) for name in (own, least, greatest))
        if low > high:
            raise ConfigError(greatest, high, f"must be at least {least} ({low})")
        if value < low:
            raise ConfigError(own, value, f"must be at least {least} ({low})")
        if value > high:
            raise ConfigError(own, value, f"must be at most {greatest} ({high})")


def _check_heartbeats(config: BrokerConfig) -> None:
    for prefix in ("group.share", "group.consumer"):
        interval = int_value(config.values, f"{prefix}.heartbeat.interval.ms")
        session = int_value(config.values, f"{prefix}.session.timeout.ms")
        if interval >= session:
            allowed = f"must be less than {prefix}.session.timeout.ms ({session})"
            raise ConfigError(f"{prefix}.heartbeat.interval.ms", interval, allowed)


def _check_consumer_groups(config: BrokerConfig) -> None:
    if not frozenset(_CONSUMER_ASSIGNORS.values()).issuperset(config.group_consumer_assignors):
        text = format_value(config.values["group.consumer.assignors"])
        raise ConfigError("group.consumer.assignors", text, "the assignors there are are uniform and range")


def _check_share_groups(config: BrokerConfig) -> None:
    if config.group_share_assignors != ("simple",):
        allowed = "must be exactly one assignor, and the only one there is is simple"
        raise ConfigError("group.share.assignors", format_value(config.values["group.share.assignors"]), allowed)
    if config.group_share_max_share_sessions < config.group_share_max_size:
        allowed = f"must be at least group.share.max.size ({config.group_share_max_size})"
        raise ConfigError("group.share.max.share.sessions", config.group_share_max_share_sessions, allowed)


def _check_classic_sessions(config: BrokerConfig) -> None:
    if config.group_min_session_timeout_ms > config.group_max_session_timeout_ms:
        allowed = f"must be at least group.min.session.timeout.ms ({config.group_min_session_timeout_ms})"
        raise ConfigError("group.max.session.timeout.ms", config.group_max_session_timeout_ms, allowed)


def _check_node(config: BrokerConfig) -> None:
    heartbeat = config.shareq_cluster_heartbeat_interval_ms
    for name in ("shareq.cluster.session.timeout.ms", "shareq.cluster.lease.ms"):
        most = int_value(config.values, name) // 3
        if heartbeat > most:
            allowed = f"must be at most a third of {name} ({most})"
            raise ConfigError("shareq.cluster.heartbeat.interval.ms", heartbeat, allowed)
    if not config.shareq_cluster_group:
        raise ConfigError("shareq.cluster.group", "", "must be the name of a group")


def _check_log(config: BrokerConfig) -> None:
    for name in ("log.retention.ms", "log.retention.minutes", "log.retention.hours"):
        if config.values[name] == 0:
            raise ConfigError(name, 0, "must be -1 for unlimited, or at least 1")
    least, most = config.log_cleaner_min_compaction_lag_ms, config.log_cleaner_max_compaction_lag_ms
    if least > most:
        allowed = f"must be at most log.cleaner.max.compaction.lag.ms ({most})"
        raise ConfigError("log.cleaner.min.compaction.lag.ms", least, allowed)
    if config.log_dirs is not None and len(config.log_dirs) != 1:
        raise ConfigError("log.dirs", format_value(config.log_dirs), "must be one folder")
    if not config.data_dir:
        raise ConfigError("log.dir", "", "must be a folder")


def _check_connections(config: BrokerConfig) -> None:
    queued, largest = config.queued_max_request_bytes, config.socket_request_max_bytes
    if 0 < queued < largest and "queued.max.request.bytes" in config.originals:
        allowed = f"must be 0 or less for no limit, or at least socket.request.max.bytes ({largest})"
        raise ConfigError("queued.max.request.bytes", queued, allowed)
    overrides = config.connection_overrides()
    if config.max_connections_per_ip == 0 and not overrides:
        allowed = "may be 0 only if max.connections.per.ip.overrides is given"
        raise ConfigError("max.connections.per.ip", 0, allowed)
    delay, idle = config.connection_failed_authentication_delay_ms, config.connections_max_idle_ms
    if 0 < idle <= delay:
        allowed = f"must be less than connections.max.idle.ms ({idle})"
        raise ConfigError("connection.failed.authentication.delay.ms", delay, allowed)


_RULES: Final[tuple[Callable[[BrokerConfig], None], ...]] = (
    _check_bounded,
    _check_heartbeats,
    _check_share_groups,
    _check_consumer_groups,
    _check_classic_sessions,
    _check_node,
    _check_log,
    _check_connections,
)


def broker_key(name: str) -> ConfigKey[Any] | None:
    """Return the key of a broker's property, or of a listener's that may change at run time; None for others."""
    return BROKER_KEYS.keys.get(name) or listener_key(name)


def dynamic_key(name: str) -> ConfigKey[Any] | None:
    """Return the key of a property that may change while the broker runs; None for every other name."""
    key = broker_key(name)
    return key if key is not None and key.mode and not per_listener(name) else None
