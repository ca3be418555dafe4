"""Does a broker let a client in? What `shareq check --command-config` asks: handshake, ApiVersions, login."""

from __future__ import annotations

import time
from collections.abc import Mapping

from shareq.client.config import ClientConfig
from shareq.client.connection import open_connection
from shareq.client.errors import ClientError, ConfigError
from shareq.client.security.tls import tls_context

__all__ = ["ClientError", "ConfigError", "check"]


def check(host: str, port: int, properties: Mapping[str, str], timeout_s: float) -> None:
    """Return when the broker at this address has let in a client with these properties of Kafka's Java client.

    An empty host is this machine; `timeout_s` bounds everything but finding the host's addresses. Raises ConfigError
    for what is wrong in `properties`, and ClientError with the address in it.
    """
    host = host or "127.0.0.1"
    bootstrap = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    config = ClientConfig.from_properties({**properties, "bootstrap.servers": bootstrap})
    context = None if config.tls is None else tls_context(config.tls)
    (address,) = config.bootstrap_servers
    open_connection(address, "", config, context, time.monotonic() + timeout_s, time.monotonic).close()
