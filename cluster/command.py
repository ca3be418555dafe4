"""A node on the network, for `shareq serve --cluster`: it reaches its cluster, checks it, and serves it to clients.

    node_of   at the command line: what the options and properties mean
    make      when its listeners are bound: the link, the checks, the ground
    findings_at   what a trial finds, without a node

The command line imports only this module of the nodes' package, and only for a node.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Mapping
from functools import partial
from random import SystemRandom
from typing import Final, NamedTuple

from shareq import __version__
from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.foundation.environment import Environment
from shareq.broker.foundation.loop.coroutines import Begin, beginner
from shareq.broker.foundation.loop.turns import Turns
from shareq.broker.foundation.os_clock import LoopClock
from shareq.broker.foundation.os_fs import OsFs
from shareq.broker.process.sockets import ServeError
from shareq.broker.topics.endpoint import Endpoint
from shareq.cluster.link.boot_clock import BootClock
from shareq.cluster.link.counted import CountedLink
from shareq.cluster.link.network import NetworkLink, arrived
from shareq.cluster.link.peer_connections import PeerConnections
from shareq.cluster.link.ports import Link
from shareq.cluster.membership.group import MembershipSettings
from shareq.cluster.membership.nodes import Placement
from shareq.cluster.node.checks import PATIENCE_MS, Checked, Reached, Unreachable, Wanted, check_cluster, reach
from shareq.cluster.node.ground import Cluster, NodeGround, NodeSettings
from shareq.cluster.node.options import ClusterOptions, client_of_nodes, cluster_options, node_id_of, replication_of
from shareq.cluster.node.state_topics import GROUPS, NAMES, STATES
from shareq.cluster.node.trial import Finding, try_cluster
from shareq.cluster.state.config_log import CONFIG_TOPIC, ConfigLog, wanted_config_topic
from shareq.cluster.state.pruning import PruningSettings
from shareq.cluster.state.take_over import TakeOverSettings
from shareq.cluster.state.topics import WantedTopic

logger = logging.getLogger(__name__)


class Node(NamedTuple):
    """The configuration of a node, with its number, and the function that opens its ground."""

    config: BrokerConfig
    ground: NodeStart


def node_of(
    config: BrokerConfig,
    bootstrap: str,
    client: Mapping[str, str],
    *,
    proxies: bool,
    among_nodes: Mapping[str, str] | None = None,
) -> Node:
    """Return a node with these options, with its number chosen. `client` are the properties of the client by which the
    node reaches its cluster, `among_nodes` those of the client by which it reaches other nodes.

    Raises the ConfigError of clients.
    """
    options = cluster_options(bootstrap, client, proxies=proxies, among_nodes=among_nodes)
    node_id = node_id_of(config, socket.gethostname(), SystemRandom().randrange)
    numbered = config.with_dynamic({"node.id": str(node_id)})
    return Node(numbered, NodeStart(numbered, options))


async def findings_at(bootstrap: str, client: Mapping[str, str]) -> list[Finding] | str:
    """Try the cluster at these addresses; return the findings, or a text that says why it could not be reached.

    Raises the ConfigError of clients.
    """
    options = cluster_options(bootstrap, client)
    loop = asyncio.get_running_loop()
    fs = OsFs(loop.call_soon_threadsafe)
    env = Environment(LoopClock(loop), SystemRandom(), fs)
    link = NetworkLink(options.client)
    begin = beginner(env.budget, Turns(env.clock.call_soon).run)
    try:
        found = await _reached(env, link, begin, options.bootstrap)
        mark = env.rng.randbytes(4).hex()
        return await arrived(begin(try_cluster(env, link, found, replication_of(BrokerConfig.load({})), mark)))
    except ServeError as error:
        return str(error)
    finally:
        link.close()
        await link.wait_closed()
        fs.close()


async def _reached(env: Environment, link: Link, begin: Begin, name: str) -> Reached:
    found = await arrived(begin(reach(env, link, PATIENCE_MS)))
    if isinstance(found, Unreachable):
        what = "it refuses the node" if found.refused else f"it was not reached in {PATIENCE_MS / 1000:g} s"
        raise ServeError(f"cluster {name}: {what}: {found.text}")
    return found


class NodeStart:
    """The start of a node: makes its ground (`OtherGround`), and closes its connections to the cluster and to other
    nodes.
    """

    def __init__(self, config: BrokerConfig, options: ClusterOptions) -> None:
        self._config: Final = config
        self._options: Final = options
        self._link: NetworkLink | None = None
        self._nodes: NetworkLink | None = None
        self._kept: ConfigLog | None = None

    async def make(self, env: Environment, endpoints: Mapping[str, Endpoint]) -> NodeGround:
        """Reach the cluster, check it, and make the node's ground. Raises ServeError."""
        self._refuse_unreachable(next(iter(endpoints)))
        self._link = NetworkLink(self._options.client)
        link = CountedLink(env.clock, self._link)
        begin = beginner(env.budget, Turns(env.clock.call_soon).run)
        try:
            checked = await self._check(env, link, begin)
            self._kept = ConfigLog(env, link, checked.topics[CONFIG_TOPIC], begin)
            problem = await arrived(begin(self._kept.open()))
            if problem is not None:
                raise ServeError(f"cluster {self._options.bootstrap}: {problem}")
            return self._ground(env, endpoints, link, checked)
        except BaseException:
            self._close()
            raise

    async def wait_closed(self) -> None:
        """Close the connections to the cluster and to other nodes; return when none of them is open."""
        self._close()
        for link in (self._link, self._nodes):
            if link is not None:
                await link.wait_closed()

    def _close(self) -> None:
        if self._kept is not None:
            self._kept.close()
        for link in (self._link, self._nodes):
            if link is not None:
                link.close()

    async def _check(self, env: Environment, link: Link, begin: Begin) -> Checked:
        name = self._options.bootstrap
        found = await _reached(env, link, begin, name)
        checked = await arrived(begin(check_cluster(env, link, self._wanted(), found)))
        for warning in checked.warnings:
            logger.warning("cluster %s: %s", name, warning)
        for refusal in checked.refusals[1:]:
            logger.error("cluster %s: %s", name, refusal)
        if checked.refusals:
            others = f" ({len(checked.refusals) - 1} more in the log)" if len(checked.refusals) > 1 else ""
            raise ServeError(f"cluster {name}: {checked.refusals[0]}{others}")
        return checked

    def _wanted(self) -> Wanted:
        slots, replication = self._config.shareq_cluster_slots, replication_of(self._config)
        topics = (
            WantedTopic(STATES, slots, compacted=False),
            WantedTopic(GROUPS, slots, compacted=True),
            wanted_config_topic(replication.factor, replication.min_isr),
        )
        return Wanted(topics, replication, self._config.shareq_cluster_group, slotted=(STATES, GROUPS))

    def _refuse_unreachable(self, listener: str) -> None:
        """Refuse to start without `--node-config` if nodes have to ask each other at a listener with TLS or a login."""
        security = self._config.security[listener]
        if not self._spreads or self._options.among_nodes or (security.tls is None and not security.mechanisms):
            return
        raise ServeError(
            f"shareq.cluster.placement=topic: nodes ask each other at listener {listener}, which is "
            f"{security.protocol}: --node-config has to name a file with the properties of a client for it",
            usage=True,
        )

    @property
    def _spreads(self) -> bool:
        return self._config.shareq_cluster_placement == Placement.TOPIC.value

    def _links_of_nodes(self, endpoint: Endpoint) -> NetworkLink:
        """Return the link to other nodes."""
        self._nodes = NetworkLink(client_of_nodes(self._options.among_nodes, endpoint.host, endpoint.port))
        return self._nodes

    def _ground(
        self, env: Environment, endpoints: Mapping[str, Endpoint], link: CountedLink, checked: Checked
    ) -> NodeGround:
        assert self._kept is not None
        topics = {name: checked.topics[topic] for name, topic in NAMES.items()}
        cluster = Cluster(self._options.bootstrap, checked.cluster.cluster_id, checked.cluster.served, topics)
        among_nodes = self._config.security[next(iter(endpoints))]
        return NodeGround(
            env,
            self._config,
            link,
            cluster,
            settings_of(self._config, self._options),
            kept=self._kept,
            endpoints=endpoints,
            lease_clock=BootClock(),
            make_peers=partial(PeerConnections, tls=among_nodes.tls is not None),
            nodes=self._links_of_nodes(next(iter(endpoints.values()))),
        )


def settings_of(config: BrokerConfig, options: ClusterOptions) -> NodeSettings:
    """Return the settings of a node's parts, from its properties and options."""
    return NodeSettings(
        version=__version__,
        proxies=options.proxies,
        read_ahead_bytes=config.shareq_cluster_read_ahead_bytes,
        lease_ms=config.shareq_cluster_lease_ms,
        membership=MembershipSettings(
            group_id=config.shareq_cluster_group,
            session_timeout_ms=config.shareq_cluster_session_timeout_ms,
            heartbeat_interval_ms=config.shareq_cluster_heartbeat_interval_ms,
        ),
        take_over=TakeOverSettings(config.node_id),
        pruning=PruningSettings(config.share_coordinator_state_topic_prune_interval_ms),
        placement=Placement(config.shareq_cluster_placement),
    )
