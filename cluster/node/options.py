"""The start options of a node beside a broker's properties: the cluster, and the way to it for clients' records.

Everything else about a node is a property (`shareq.cluster.`). Properties whose defaults on a node differ from those on
a single broker are handled here, too.
"""

from __future__ import annotations

from binascii import crc32
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.config.keys.node import FIRST_NODE_ID
from shareq.client.config import ClientConfig

BOOTSTRAP: Final = "bootstrap.servers"
REPLICATION_FACTOR: Final = "share.coordinator.state.topic.replication.factor"
MIN_ISR: Final = "share.coordinator.state.topic.min.isr"
_NODE_IDS: Final = 1_000_000_000
"""The number of ids that a node's id is chosen from."""


class ClusterOptions(NamedTuple):
    """The cluster that a node serves, and the client that reaches it. Unless `proxies`, producers are sent to the
    cluster. `among_nodes` are the properties of the client by which nodes reach each other; empty if nodes listen
    without TLS and login.
    """

    client: ClientConfig
    proxies: bool = True
    among_nodes: Mapping[str, str] = MappingProxyType({})

    @property
    def bootstrap(self) -> str:
        """The cluster's name in texts: its bootstrap servers as the operator gave them."""
        return ",".join(map(str, self.client.bootstrap_servers))


class Replication(NamedTuple):
    """The replicas of a state topic, and the number of in-sync replicas that a confirmed record needs.

    `given`: the operator has set them, so they are never lowered.
    """

    factor: int
    min_isr: int
    given: bool


def cluster_options(
    bootstrap: str, properties: Mapping[str, str], *, proxies: bool = True, among_nodes: Mapping[str, str] | None = None
) -> ClusterOptions:
    """Return the options for the brokers at these addresses. `properties` and `among_nodes` are a client's, by Kafka's
    names.

    Raises the ConfigError of clients.
    """
    client = ClientConfig.from_properties({**properties, BOOTSTRAP: bootstrap})
    among_nodes = among_nodes or {}
    client_of_nodes(among_nodes, "127.0.0.1", 1)
    return ClusterOptions(client, proxies, among_nodes)


def client_of_nodes(properties: Mapping[str, str], host: str, port: int) -> ClientConfig:
    """Return the configuration of a client that reaches the node at this address. Raises ConfigError."""
    return ClientConfig.from_properties({**properties, BOOTSTRAP: f"{host}:{port}"})


def replication_of(config: BrokerConfig) -> Replication:
    """Return the replication of state topics: factor 3 and min.isr 2 as in Apache Kafka, unless the properties are
    given.
    """
    given = REPLICATION_FACTOR in config.originals or MIN_ISR in config.originals
    factor = config.share_coordinator_state_topic_replication_factor if REPLICATION_FACTOR in config.originals else 3
    min_isr = config.share_coordinator_state_topic_min_isr if MIN_ISR in config.originals else min(2, factor)
    return Replication(factor, min(min_isr, factor), given)


def node_id_of(config: BrokerConfig, machine: str, chance: Callable[[int], int]) -> int:
    """Return the id of a node: `node.id`, or one that stays the same over restarts on this machine at this address.

    `machine` is the machine's name; `chance` returns a random number below its argument, used if the port is any free
    one.
    """
    if "node.id" in config.originals:
        return config.node_id
    first = config.endpoints[0]
    port = first.advertised_port or first.port
    address = f"{machine} {first.advertised_host or first.host}:{port}"
    return FIRST_NODE_ID + (crc32(address.encode()) if port else chance(_NODE_IDS)) % _NODE_IDS
