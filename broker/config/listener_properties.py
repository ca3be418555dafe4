"""Protection of listeners: `listener.security.protocol.map`, `sasl.*`, `ssl.*`, and their overrides by listener.

A property of one listener overrides the broker's, and one of a mechanism overrides the listener's. Errors name only
the property of an invalid value, because the value may be a secret.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from shareq.broker.config.keys.tls import TlsProperties
from shareq.broker.security.listener_security import (
    MECHANISMS,
    OAUTHBEARER,
    PLAINTEXT,
    SASL_SSL,
    SSL,
    ListenerSecurity,
)
from shareq.protocol.config_def import ConfigError, ConfigKey, ConfigValue, UpdateMode, declared, int_value

_PREFIX: Final = "listener.name."
_PLAIN_MODULE: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"
_SCRAM_MODULE: Final = "org.apache.kafka.common.security.scram.ScramLoginModule"
_HIDDEN: Final = "[hidden]"
_STORES: Final = {key.name: key for key in declared(TlsProperties) if key.mode}


def is_listener_property(name: str) -> bool:
    """Return True if the property belongs to one listener."""
    return name.startswith(_PREFIX)


def listener_of(name: str) -> str:
    """Return the name of the listener to which a property belongs, in lower case."""
    return name[len(_PREFIX) :].partition(".")[0]


def per_listener(name: str) -> bool:
    """Return True if the property may change while the broker runs, but only with a `listener.name.NAME.` prefix."""
    return name in _STORES


def listener_key(name: str) -> ConfigKey[Any] | None:
    """Return the key of a property of one listener that may change while the broker runs; None for every other name."""
    if not is_listener_property(name):
        return None
    listener, _, base = name[len(_PREFIX) :].partition(".")
    store = _STORES.get(base)
    if store is None or not listener or listener != listener.lower():
        return None
    return ConfigKey(name, store.type, None, store.doc, mode=UpdateMode.PER_BROKER)


def listener_security(
    values: Mapping[str, ConfigValue], protocols: Mapping[str, str], properties: Mapping[str, str]
) -> dict[str, ListenerSecurity]:
    """Return the security of each listener, by its name.

    `protocols` are those of the listeners to open, `properties` all that begin with `listener.name.`. Raise ConfigError
    if a user could never log in, or a value is invalid.
    """
    result: dict[str, ListenerSecurity] = {}
    for name, protocol in protocols.items():
        if protocol == PLAINTEXT:
            result[name] = ListenerSecurity()
            continue
        prefix = f"{_PREFIX}{name.lower()}."
        own = {key[len(prefix) :]: text for key, text in properties.items() if key.startswith(prefix)}
        tls = None
        if protocol in (SSL, SASL_SSL):
            from shareq.broker.config.tls_properties import tls_settings  # only listeners with TLS pay for it

            tls = tls_settings(values, prefix, own, sasl=protocol == SASL_SSL)
        if protocol == SSL:
            result[name] = ListenerSecurity(protocol, tls=tls)
            continue
        mechanisms = _mechanisms(values, prefix, own)
        oauth = None
        if OAUTHBEARER in mechanisms:
            from shareq.broker.config.oauth_properties import oauth_settings

            oauth = oauth_settings(values, prefix, own)
        result[name] = ListenerSecurity(
            protocol=protocol,
            mechanisms=mechanisms,
            plain_users=_plain_users(prefix, own, mechanisms),
            max_reauth_ms=_reauth(values, prefix, own, mechanisms),
            max_receive_bytes=int_value(values, "sasl.server.max.receive.size"),
            failed_delay_ms=int_value(values, "connection.failed.authentication.delay.ms"),
            tls=tls,
            oauth=oauth,
        )
    return result


def _mechanisms(values: Mapping[str, ConfigValue], prefix: str, own: Mapping[str, str]) -> tuple[str, ...]:
    key = "sasl.enabled.mechanisms"
    if key in own:
        name, mechanisms = prefix + key, tuple(filter(None, (text.strip() for text in own[key].split(","))))
    else:
        value = values[key]
        name, mechanisms = key, value if isinstance(value, tuple) else ()
    if not mechanisms or any(mechanism not in MECHANISMS for mechanism in mechanisms):
        raise ConfigError(name, ",".join(mechanisms), f"must be of {', '.join(MECHANISMS)} where a listener uses SASL")
    return tuple(dict.fromkeys(mechanisms))


def _plain_users(prefix: str, own: Mapping[str, str], mechanisms: Iterable[str]) -> dict[str, str]:
    from shareq.protocol.jaas import parse_jaas  # only listeners with SASL pay for it

    users: dict[str, str] = {}
    for mechanism in mechanisms:
        if mechanism == OAUTHBEARER:
            continue
        key = f"{mechanism.lower()}.sasl.jaas.config"
        text = own.get(key)
        if text is None and mechanism == "PLAIN":
            allowed = f'must be given, with a user_NAME="PASSWORD" for each user ({_PLAIN_MODULE})'
            raise ConfigError(prefix + key, "(none)", allowed)
        if text is None:
            continue  # users of SCRAM are in the metadata
        try:
            entry = parse_jaas(text)
        except ValueError as error:
            raise ConfigError(prefix + key, _HIDDEN, str(error)) from None
        module = _PLAIN_MODULE if mechanism == "PLAIN" else _SCRAM_MODULE
        if entry.module != module:
            raise ConfigError(prefix + key, _HIDDEN, f"must name the login module {module}")
        if mechanism == "PLAIN":
            users = {option[5:]: value for option, value in entry.options.items() if option.startswith("user_")}
    return users


def _reauth(
    values: Mapping[str, ConfigValue], prefix: str, own: Mapping[str, str], mechanisms: Iterable[str]
) -> dict[str, int]:
    key = "connections.max.reauth.ms"
    result: dict[str, int] = {}
    for mechanism in mechanisms:
        name = f"{mechanism.lower()}.{key}"
        text = own.get(name, own.get(key))
        try:
            result[mechanism] = int_value(values, key) if text is None else int(text)
        except ValueError:
            raise ConfigError(prefix + (name if name in own else key), text, "must be a whole number") from None
    return result
