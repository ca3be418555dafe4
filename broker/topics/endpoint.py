"""The address to which clients connect."""

from __future__ import annotations

import socket
from typing import NamedTuple

from shareq.broker.config.broker_config import BrokerConfig


class Endpoint(NamedTuple):
    """The address of this broker for one listener's clients."""

    node_id: int
    host: str
    port: int


def advertised_endpoints(config: BrokerConfig, bound_ports: dict[str, int]) -> dict[str, Endpoint]:
    """Return the endpoint of each listener, by name. `bound_ports` has the bound ports of listeners configured with
    port 0.
    """
    result: dict[str, Endpoint] = {}
    for listener in config.endpoints:
        host = listener.advertised_host or socket.gethostname()
        port = listener.advertised_port or bound_ports.get(listener.name, listener.port)
        result[listener.name] = Endpoint(config.node_id, host, port)
    return result
