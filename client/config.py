"""A client's access to its cluster, in the property names of Kafka's Java client, and some of librdkafka's.

A `ClientConfig` is a plain value: it can be pickled, compared and used as a key, and its repr holds no secret.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, Self

from shareq.client.properties import Properties, boolean, listed, one_of, whole_number
from shareq.client.security.config import SaslConfig, TlsConfig, sasl_from, tls_from

__all__ = ["Address", "ClientConfig", "SaslConfig", "TlsConfig"]

_INT_MAX: Final = 2**31 - 1
# As Java reads an address: a protocol in front is passed over, an IPv6 address may stand in brackets.
_ADDRESS: Final = re.compile(r"(?:[0-9a-zA-Z\-._%]*://)?\[?([0-9a-zA-Z\-._%:]+)\]?:([0-9]+)")
_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")

_NUMBERS: Final[dict[str, tuple[str, int, int]]] = {
    # property: (field, lowest, highest)
    "request.timeout.ms": ("request_timeout_ms", 1, _INT_MAX),
    "default.api.timeout.ms": ("default_api_timeout_ms", 1, _INT_MAX),
    "socket.connection.setup.timeout.ms": ("connection_setup_timeout_ms", 1, _INT_MAX),
    "retry.backoff.ms": ("retry_backoff_ms", 0, _INT_MAX),
    "retry.backoff.max.ms": ("retry_backoff_max_ms", 0, _INT_MAX),
    "reconnect.backoff.ms": ("reconnect_backoff_ms", 0, _INT_MAX),
    "reconnect.backoff.max.ms": ("reconnect_backoff_max_ms", 0, _INT_MAX),
    "metadata.max.age.ms": ("metadata_max_age_ms", 0, _INT_MAX),
    "fetch.max.bytes": ("fetch_max_bytes", 1, _INT_MAX),
    "max.partition.fetch.bytes": ("max_partition_fetch_bytes", 1, _INT_MAX),
    "receive.message.max.bytes": ("receive_message_max_bytes", 1000, _INT_MAX),
    "receive.buffer.bytes": ("receive_buffer_bytes", -1, _INT_MAX),
    "send.buffer.bytes": ("send_buffer_bytes", -1, _INT_MAX),
}


class Address(NamedTuple):
    """The address of a broker. An IPv6 host is kept without brackets."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class ClientConfig:
    """The access to a cluster. Defaults are the Java client's, except three, which are marked.

    Times are in milliseconds, sizes in bytes.
    """

    bootstrap_servers: tuple[Address, ...]
    client_id: str = "shareq"
    client_rack: str = ""
    tls: TlsConfig | None = None
    """None for no encryption."""
    sasl: SaslConfig | None = None
    """None for no login."""
    request_timeout_ms: int = 30_000
    """The time that an answer may take before its connection is closed."""
    default_api_timeout_ms: int = 60_000
    """The time that a call may take in all, retries included."""
    connection_setup_timeout_ms: int = 10_000
    retry_backoff_ms: int = 100
    retry_backoff_max_ms: int = 1_000
    reconnect_backoff_ms: int = 50
    reconnect_backoff_max_ms: int = 1_000
    metadata_max_age_ms: int = 300_000
    fetch_max_bytes: int = 52_428_800
    max_partition_fetch_bytes: int = 52_428_800
    """Java: 1 MiB. Our fetches ask for one partition each, so `fetch.max.bytes` is the bound that counts."""
    receive_message_max_bytes: int = 268_435_456
    """The size of the longest accepted answer, by librdkafka's name."""
    receive_buffer_bytes: int = -1
    """-1: the kernel chooses, and grows it with the connection (Java: 64 KiB)."""
    send_buffer_bytes: int = -1
    """-1: the same as above (Java: 128 KiB)."""
    check_crcs: bool = True

    @classmethod
    def from_properties(cls, properties: Mapping[str, str], *, prefix: str = "") -> Self:
        """Read properties by their Kafka names. `prefix` stands before the names in errors, and nowhere else.

        Raises ConfigError for the first property that is missing, unknown, refused, or invalid.
        """
        given = Properties(properties, prefix)
        fields: dict[str, Any] = {"bootstrap_servers": given.required("bootstrap.servers", _addresses)}
        for name, (field, lowest, highest) in _NUMBERS.items():
            value = given.take(name, whole_number(lowest, highest))
            if value is not None:
                fields[field] = value
        for name, field in {"client.id": "client_id", "client.rack": "client_rack"}.items():
            if (text := given.take(name, str)) is not None:
                fields[field] = text
        if (checked := given.take("check.crcs", boolean)) is not None:
            fields["check_crcs"] = checked
        protocol = given.take("security.protocol", one_of(*_PROTOCOLS)) or "PLAINTEXT"
        fields["tls"] = tls_from(given, protocol)
        fields["sasl"] = sasl_from(given, protocol)
        given.nothing_left()
        config = cls(**fields)
        if config.receive_message_max_bytes < config.fetch_max_bytes + 512:
            raise given.error("receive.message.max.bytes", "must be at least 512 more than fetch.max.bytes")
        return config

    def within(self, timeout_ms: int) -> Self:
        """Return the same configuration without a timeout that is longer than this."""
        return replace(
            self,
            default_api_timeout_ms=min(self.default_api_timeout_ms, timeout_ms),
            request_timeout_ms=min(self.request_timeout_ms, timeout_ms),
            connection_setup_timeout_ms=min(self.connection_setup_timeout_ms, timeout_ms),
        )

    @property
    def security_protocol(self) -> str:
        """Kafka's name of the protocol that protects connections."""
        return ("SASL_" if self.sasl else "") + ("SSL" if self.tls else "PLAINTEXT")


def _addresses(text: str) -> tuple[Address, ...]:
    found = []
    for part in listed(text):
        match = _ADDRESS.fullmatch(part)
        if match is None or not 0 < int(match[2]) < 65536:
            raise ValueError(f"{part!r} is not HOST:PORT")
        found.append(Address(match[1], int(match[2])))
    if not found:
        raise ValueError("must be HOST:PORT, several with commas in between")
    return tuple(found)
