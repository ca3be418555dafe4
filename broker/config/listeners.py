"""`listeners` and `advertised.listeners`: texts of the form NAME://HOST:PORT, parsed to addresses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from shareq.broker.security.listener_security import PLAINTEXT, SERVED_PROTOCOLS
from shareq.protocol.config_def import ConfigError, ConfigValue, format_value

# NAME://HOST:PORT; the host may be empty, or an IPv6 address in brackets.
_ADDRESS: Final = r"([^:/]+)://(\[[0-9A-Fa-f:.%]+\]|[^\[\]/:,]*):([0-9]{1,5})"
HIGHEST_PORT: Final = 65_535
_EVERY_INTERFACE: Final = ("", "0.0.0.0", "::")


class Listener(NamedTuple):
    """One listener. The hosts "" and 0.0.0.0 mean every interface; port 0 means any free port.

    `protocol` is PLAINTEXT, or another one of listener.security.protocol.map that is served. The advertised host is
    None if clients should connect to the machine's own name (`host` means every interface and no other is
    configured); the advertised port is None if it is the bound port.
    """

    name: str
    host: str
    port: int
    advertised_host: str | None
    advertised_port: int | None
    protocol: str = PLAINTEXT


def parse_listeners(values: Mapping[str, ConfigValue]) -> tuple[Listener, ...]:
    """Return the listeners to open, in the order of `listeners`, without those of controllers.

    Raise ConfigError if they are invalid.
    """
    protocols = _protocol_map(values)
    controllers = tuple(name.upper() for name in _texts(values, "controller.listener.names"))
    advertised = _addresses(values, "advertised.listeners")
    result: list[Listener] = []
    addresses = _addresses(values, "listeners")
    _check_ports(values, addresses)
    for name, (host, port) in addresses.items():
        if name in controllers:
            continue
        protocol = _protocol(values, name, protocols)
        fallback = (None if host in _EVERY_INTERFACE else host, port or None)
        shown_host, shown_port = advertised.pop(name, fallback)
        result.append(Listener(name, host, port, shown_host or None, shown_port or None, protocol))
    if not result:
        raise ConfigError("listeners", _text(values, "listeners"), "must have a listener that is not a controller's")
    _check_advertised(values, advertised, result, controllers)
    return tuple(result)


def _addresses(values: Mapping[str, ConfigValue], key: str) -> dict[str, tuple[str, int]]:
    result: dict[str, tuple[str, int]] = {}
    for text in _texts(values, key):
        match = re.fullmatch(_ADDRESS, text)
        if match is None:
            raise ConfigError(key, text, "must be NAME://HOST:PORT, with commas between several")
        if int(match[3]) > HIGHEST_PORT:
            raise ConfigError(key, text, f"must have a port of at most {HIGHEST_PORT}")
        name = match[1].upper()
        if name in result:
            raise ConfigError(key, _text(values, key), f"must not name the listener {name} twice")
        result[name] = (match[2].strip("[]"), int(match[3]))
    return result


def _check_ports(values: Mapping[str, ConfigValue], addresses: Mapping[str, tuple[str, int]]) -> None:
    """Raise ConfigError if listeners share a port, unless one has an IPv4 and the other an IPv6 address (as in
    Apache Kafka).

    Listeners of controllers count, too, so that a file that is valid here is valid in Apache Kafka. Advertised ports
    may be shared.
    """
    families: dict[int, list[str]] = {}
    for host, port in addresses.values():
        if port:
            families.setdefault(port, []).append(_family(host))
    for taken in families.values():
        if len(taken) > 1 and sorted(taken) != ["IPv4", "IPv6"]:
            allowed = "must give each listener a port of its own, or one the IPv4 and one the IPv6 address on it"
            raise ConfigError("listeners", _text(values, "listeners"), allowed)


def _family(host: str) -> str:
    if ":" in host:
        return "IPv6"
    return "IPv4" if re.fullmatch(r"[0-9]+(\.[0-9]+){3}", host) else "name"


def _protocol_map(values: Mapping[str, ConfigValue]) -> dict[str, str]:
    key = "listener.security.protocol.map"
    result: dict[str, str] = {}
    texts = _text(values, key)
    for text in texts.split(",") if texts else ():
        name, separator, protocol = text.partition(":")
        if not separator or not name.strip() or not protocol.strip():
            raise ConfigError(key, text.strip(), "must be NAME:PROTOCOL, with commas between several")
        result[name.strip().upper()] = protocol.strip().upper()
    return result


def _protocol(values: Mapping[str, ConfigValue], name: str, protocols: Mapping[str, str]) -> str:
    protocol = protocols.get(name)
    if protocol is None:
        allowed = f"must be in listener.security.protocol.map, which does not have the listener {name}"
        raise ConfigError("listeners", _text(values, "listeners"), allowed)
    if protocol not in SERVED_PROTOCOLS:
        allowed = f"must use one of the security protocols {', '.join(SERVED_PROTOCOLS)}, and {name} uses {protocol}"
        raise ConfigError("listeners", _text(values, "listeners"), allowed)
    return protocol


def _check_advertised(
    values: Mapping[str, ConfigValue],
    unused: Mapping[str, tuple[str, int]],
    listeners: list[Listener],
    controllers: tuple[str, ...],
) -> None:
    key = "advertised.listeners"
    for name in unused:
        if name not in controllers:
            raise ConfigError(key, _text(values, key), f"must only name listeners, and {name} is none")
    for listener in listeners:
        if listener.advertised_host in _EVERY_INTERFACE:
            allowed = "must be addresses that clients can connect to, not 0.0.0.0"
            raise ConfigError(key, _text(values, key), allowed)


def _texts(values: Mapping[str, ConfigValue], key: str) -> tuple[str, ...]:
    value = values[key]
    return value if isinstance(value, tuple) else ()


def _text(values: Mapping[str, ConfigValue], key: str) -> str:
    return format_value(values[key])
