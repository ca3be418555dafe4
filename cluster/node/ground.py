"""A Kafka cluster without share groups, as the ground of a broker. Such a broker is a node: it keeps no data.

    the cluster     topics, records        mirror, records, forward
                    __shareq_state         the states of share partitions, each slot written by its owner alone
                    __shareq_groups        the share groups likewise
    the nodes       a group of the cluster that divides the slots: membership

A node serves the slots that it owns. Others are served by other nodes, or by none until one takes them over.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.config.service import ConfigService
from shareq.broker.coordinator_runtime.partitions import CoordinatorPartitions
from shareq.broker.coordinator_runtime.ports import CoordinatorHost
from shareq.broker.foundation.environment import Environment
from shareq.broker.foundation.loop.coroutines import beginner
from shareq.broker.foundation.loop.turns import Turns
from shareq.broker.foundation.pending import Pending
from shareq.broker.metadata.features import FEATURES, SHARE_VERSION
from shareq.broker.topics.endpoint import Endpoint
from shareq.broker.topics.lookup import PartitionLookup
from shareq.broker.topics.nodes import NodeFigures
from shareq.cluster.forward.coordinators import Coordinators
from shareq.cluster.forward.dead_letter_queues import ClusterQueues
from shareq.cluster.forward.forwarding import Forwarding
from shareq.cluster.forward.produce_by_leader import Batches
from shareq.cluster.forward.state_changes import StateChanges
from shareq.cluster.link.counted import CountedLink
from shareq.cluster.link.ports import BrokerAddress, NodeLink
from shareq.cluster.link.versions import Served, features_of_cluster
from shareq.cluster.membership.group import Membership, MembershipSettings
from shareq.cluster.membership.lease import LeaseClock, Leases, LeaseWatch
from shareq.cluster.membership.nodes import Endpoint as MemberEndpoint
from shareq.cluster.membership.nodes import Node, NodeMap, Placement, SlotId
from shareq.cluster.membership.ownership import Ownership
from shareq.cluster.membership.peers import MakePeerLinks, Peers
from shareq.cluster.mirror.topics import TopicMirror
from shareq.cluster.node.leaders import NodeLeaders
from shareq.cluster.node.metadata import NodeMetadata
from shareq.cluster.node.routes import BY_TOPIC, slot_of
from shareq.cluster.node.slot_logs import SlotLogs
from shareq.cluster.node.slots import NodeSlots, SlotServices, SlotSettings
from shareq.cluster.node.spread_states import OwnGroup, SpreadStates
from shareq.cluster.node.state_topics import GROUPS, STATES, StateTopics
from shareq.cluster.node.table import node_table
from shareq.cluster.node.view import NodesAround
from shareq.cluster.records.feed import RecordFeed
from shareq.cluster.state.pruning import PruningSettings
from shareq.cluster.state.slot import StateTopic
from shareq.cluster.state.take_over import TakeOverSettings
from shareq.coordinator.shard import CoordinatorResult
from shareq.coordinator.share.shard import ShareCoordinatorShard
from shareq.protocol.names import SHARE_GROUP_STATE

if TYPE_CHECKING:
    from shareq.broker.services import Services
    from shareq.broker.share.coordinator import ShareCoordinatorService
    from shareq.cluster.node.metadata import KeptByNodes
    from shareq.protocol.errors import ApiError

logger = logging.getLogger(__name__)


class Cluster(NamedTuple):
    """The cluster as the checks of the start have found it. `topics` are the state topics, by the coordinators' names
    for them; `name`, its bootstrap servers, is its name in texts.
    """

    name: str
    cluster_id: str
    served: Served
    topics: Mapping[str, StateTopic]


class NodeSettings(NamedTuple):
    """The properties that only nodes have, in bytes and milliseconds.

    Unless `proxies`, producers are sent to the cluster.
    """

    version: str
    proxies: bool
    read_ahead_bytes: int
    lease_ms: int
    membership: MembershipSettings
    take_over: TakeOverSettings
    pruning: PruningSettings = PruningSettings()
    placement: Placement = Placement.ONE


class NodeGround:
    """The `Ground` of a node, and its `MembershipListener`.

    `kept` is the metadata that the nodes share. `lease_clock` also counts the time in which the machine was suspended.
    `make_peers` makes the connections whose loss shows that another node has died; `nodes` sends requests to other
    nodes: for states if several own slots, and for what operators look at.

    `open` joins the other nodes. Call `leave` before `close`, or the other nodes wait for this one's session to time
    out.
    """

    metrics: Final = "shareq.cluster.node.metrics"
    first_used: Final = ()

    def __init__(
        self,
        env: Environment,
        config: BrokerConfig,
        link: CountedLink,
        cluster: Cluster,
        settings: NodeSettings,
        *,
        kept: KeptByNodes,
        endpoints: Mapping[str, Endpoint],
        lease_clock: LeaseClock,
        make_peers: MakePeerLinks,
        nodes: NodeLink | None = None,
    ) -> None:
        self.name = f"cluster {cluster.name}"
        self.link: Final = link
        self.cluster: Final = cluster
        self.settings: Final = settings
        self._env: Final = env
        self._config: Final = config
        self._kept: Final = kept
        self._endpoints: Final = endpoints
        self._slots: Final = cluster.topics[SHARE_GROUP_STATE].partitions
        self._begin = begin = beginner(env.budget, Turns(env.clock.call_soon).run)
        self.mirror: Final = TopicMirror(env, link, begin)
        self.metadata: Final = NodeMetadata(
            env,
            self.mirror,
            kept,
            cluster_id=cluster.cluster_id,
            features=_features(config, cluster.served),
            internal=cluster.topics,
        )
        self.internal_topics: Final = StateTopics()
        self.configs: Final = ConfigService(config, self.metadata)
        self.leases: Final = Leases(lease_clock, settings.lease_ms)
        self.leaders: Final = NodeLeaders(self.mirror, self._slot_of, self._may_hand_out)
        self.logs: Final = SlotLogs(env.clock, cluster.topics)
        self.host: Final = CoordinatorHost(
            env, self.metadata, self.logs, self.leaders, routes=BY_TOPIC, believes_absence=False
        )
        self.sources = self.fetched = RecordFeed(
            env,
            link,
            self.mirror,
            self.metadata,
            begin,
            budget=settings.read_ahead_bytes,
            led_epoch=lambda topic_id, _partition: self.leaders.epoch_of(topic_id),
        )
        self.lookup: Final = PartitionLookup(self.metadata, self.sources, self.leaders)
        self.handlers: Final = node_table(cluster.served, proxies=settings.proxies)
        self._batches: Final = Batches(link, self.mirror, env.clock, self.sources.committed)
        self.forwarding: Final = Forwarding(
            link,
            self.mirror,
            self._batches,
            Coordinators(link),
            cluster.name,
            settings.membership.group_id,
            begins_at=self.sources.begins_at,
        )
        self.slots: Final = NodeSlots(
            env,
            link,
            begin,
            topics=cluster.topics,
            logs=self.logs,
            leaders=self.leaders,
            leases=self.leases,
            slot_of_topic=self._slot_of,
            settings=SlotSettings(settings.take_over, settings.pruning),
        )
        self.ownership: Final = Ownership(self.slots, self.leases)
        self.membership: Final = Membership(env, link, self, settings.membership)
        self.state_changes: Final = StateChanges(self._slot_of_group, self._owner_of_group)
        self._nodes: Final = nodes
        spreads = settings.placement is Placement.TOPIC
        self.states: Final = self._spread(nodes) if nodes is not None and spreads else None
        self._listener: Final = next(iter(endpoints))
        self.nodes: Final = NodesAround(
            begin,
            env.budget.breathe,
            clock=env.clock,
            link=nodes,
            listener=self._listener,
            own=self.describe,
            figures=self.figures,
            epoch_of=self.leaders.epoch_of_slot,
            owner_of_slot_of=self._owner_of_slot_of,
        )
        self._peers: Final = Peers(self._listener)
        self._peer_links: Final = make_peers(self._peers.opened, self._peer_lost)
        self._watch: LeaseWatch | None = None
        self._services: Services | None = None
        self._is_closed = False
        self._is_leaving = False
        self._twin: str | None = None
        self.metadata.on_topics_deleted(self.sources.topics_deleted)

    def _spread(self, nodes: NodeLink) -> SpreadStates:
        env = self._env

        def own() -> ShareCoordinatorService:
            assert self._services is not None, "states are asked for when the node is open"
            return self._services.share_states

        return SpreadStates(
            env.clock,
            self._begin,
            env.budget.breathe,
            link=nodes,
            own=own,
            elsewhere=self.leaders.owner_elsewhere,
            coordinated=self._coordinated,
        )

    def queues(self, turns: Turns) -> ClusterQueues:
        """Return the cluster's topics as dead-letter queues."""
        return ClusterQueues(
            self.link,
            self.mirror,
            self._batches,
            clock=self._env.clock,
            begin=self._begin,
            config=lambda: self.configs.broker,
        )

    async def auto_create(self, names: Sequence[str]) -> Mapping[str, ApiError]:
        """Have the cluster create topics, with its own defaults."""
        return await self.mirror.auto_create(names)

    @property
    def problem(self) -> str | None:
        """Return why the node is no member, or does not serve all slots that the map assigns to it; None if neither is
        the case.
        """
        if self.leaders.is_cut_off:
            return f"cut off from {self.name}"
        if self.membership.problem is not None:
            return f"no member of group {self.settings.membership.group_id}: {self.membership.problem}"
        if self._twin is not None:
            return f"node.id {self._config.node_id} is that of the node at {self._twin}, too"
        waiting = self.slots.waiting
        return f"{waiting} slots are being taken over" if waiting else None

    async def figures(self) -> NodeFigures:
        """Return this node's figures."""
        assert self._services is not None, "figures are asked for when the node is open"
        share, partitions, in_flight = self._services.made.share, 0, 0
        for leader in [] if share is None else list(share.partitions.leaders()):
            partitions += leader.is_active
            in_flight += leader.core.in_flight_records if leader.is_active else 0
            await self._env.budget.breathe()
        slots = self.slots
        served = len(self.ownership.holds)
        return NodeFigures(served, slots.waiting, slots.take_overs.count, slots.lost, partitions, in_flight)

    async def reply_to(self, question: str) -> tuple[int, str]:
        """Return status and text of this node's own answer to a question of the records API."""
        from shareq.broker.records_api.here import reply_to

        assert self._services is not None, "questions are asked when the node is open"
        return await reply_to(self._services, question)

    # -- start and stop

    def open(self, services: Services) -> None:
        """Join the other nodes. This node takes over and serves its slots as soon as they are assigned."""
        self._services = services
        states = services.share_states.partitions
        self.slots.open(
            SlotServices(
                self.ownership,
                self.membership.hear_soon,
                {STATES: states, GROUPS: services.groups.coordinator.partitions},
                partial(_needed_from, states),
                lambda: [(each.topic_id, each.topic, each.partition) for each in self.sources.sources()],
            )
        )
        self._watch = LeaseWatch(
            self._env.clock, self.leases, lambda: self.ownership.holds, self.slots.say_alive, self._cut_off
        )
        self._begin(self.membership.run())

    def leave(self) -> Pending[None]:
        """Give up all slots, and leave the other nodes; completes when they know, or cannot be reached."""
        self._is_leaving = True
        self._peer_links.close()
        self.slots.close()
        return self.membership.leave()

    def close(self, *, clean: bool) -> None:
        """End all running work. All confirmed data is in the cluster."""
        if self._is_closed:
            return
        self._is_closed = True
        self._peer_links.close()
        if self._nodes is not None:
            self._nodes.close()
        if self._watch is not None:
            self._watch.close()
        self.slots.close()
        self.sources.close()
        self.mirror.close()
        self._kept.close()
        self.link.close()

    # -- MembershipListener

    def describe(self) -> Node:
        listeners = {name: MemberEndpoint(each.host, each.port) for name, each in self._endpoints.items()}
        zone, holds = self._config.broker_rack, dict(self.ownership.holds)
        placement = self.settings.placement
        return Node(self._config.node_id, self.settings.version, listeners, zone, holds, placement)

    def partitions(self) -> Mapping[str, int]:
        return {topic.name: topic.partitions for topic in self.cluster.topics.values()}

    def on_found(self, members: Mapping[str, Node]) -> None:
        """Drop members that have ended, since there may be no other node to do it."""
        found = self._peers.find(self.describe(), members)
        for member_id in found.ended:
            logger.info("member %s was this node before it started: it is dropped", member_id)
            self.membership.ended(member_id)
        if not self._is_leaving:
            for peer, endpoint in found.open.items():
                self._peer_links.connect(peer, *endpoint)

    def on_map(self, member_id: str, node_map: NodeMap, heard: Callable[[], None]) -> None:
        """Learn the nodes of a new generation, then take slots over and give them up by its map."""
        self._know_nodes(member_id, node_map)
        self.ownership.on_map(member_id, node_map, heard)

    def attempt(self) -> Callable[[], None]:
        return self.ownership.attempt()

    # -- between the parts

    def _slot_of(self, topic_id: bytes) -> SlotId:
        return SlotId(STATES, slot_of(topic_id, self._slots))

    def _slot_of_group(self, group_id: str) -> int:
        return BY_TOPIC.group(group_id, self._slots)

    def _owner_of_group(self, slot: int) -> int | None:
        """Return the other node that owns a slot of groups; None if this node does, or has no current map."""
        return self.leaders.owner_of(SlotId(GROUPS, slot)) if self.membership.generation >= 0 else None

    def _owner_of_slot_of(self, group_or_topic: str | bytes) -> int | None:
        if isinstance(group_or_topic, str):
            return self.leaders.owner_of(SlotId(GROUPS, self._slot_of_group(group_or_topic)))
        return self.leaders.owner_of(self._slot_of(group_or_topic))

    def _coordinated(self, group_id: str) -> OwnGroup | None:
        slot = SlotId(GROUPS, self._slot_of_group(group_id))
        generation = self.ownership.holds.get(slot)
        return None if generation is None else OwnGroup(self._config.node_id, generation)

    def _know_nodes(self, member_id: str, node_map: NodeMap) -> None:
        """Name the other nodes to clients, and connect to each, since a lost connection shows that its node has
        died.
        """
        self.leaders.take_map(member_id, node_map)
        self.nodes.take_map(member_id, self.membership.generation, node_map)
        if self._nodes is not None:
            self._nodes.know(
                {
                    node.node_id: BrokerAddress(*node.listeners[self._listener])
                    for other, node in node_map.nodes.items()
                    if other != member_id and self._listener in node.listeners
                }
            )
        self._look_for_twin(member_id, node_map)
        changes = self._peers.update(member_id, node_map)
        for peer in changes.close:
            self._peer_links.disconnect(peer)
        if not self._is_leaving:
            for peer, endpoint in changes.open.items():
                self._peer_links.connect(peer, *endpoint)

    def _look_for_twin(self, member_id: str, node_map: NodeMap) -> None:
        """Warn of another node with the same node id: clients would confuse the two."""
        mine = self._config.node_id
        twin = next((each for id, each in node_map.nodes.items() if id != member_id and each.node_id == mine), None)
        where = None if twin is None else ", ".join(f"{each.host}:{each.port}" for each in twin.listeners.values())
        if where is not None and where != self._twin:
            logger.warning(
                "node.id %d is that of the node at %s, too: unless that is an earlier start of this one, which is "
                "forgotten in %d ms, one of them has to have another node.id",
                mine,
                where,
                self.settings.membership.session_timeout_ms,
            )
        self._twin = where

    def _peer_lost(self, peer: str, has_ended: bool) -> None:
        loss = self._peers.lost(peer, has_ended=has_ended)
        if loss.joins_again:
            logger.info("node %s is lost: the others join again", peer)
            self.leaders.lose(peer)
            self.membership.rebalance()
        if loss.has_ended:
            logger.info("node %s has ended: it is dropped", peer)
            self.membership.ended(peer)

    def _may_hand_out(self, slot: SlotId) -> bool:
        return self.ownership.may_hand_out(slot)

    def _cut_off(self, is_cut_off: bool) -> None:
        """Note that the node is cut off, or no longer is. While it is, it leads nothing for clients; connected ones are
        sent away.
        """
        self.leaders.is_cut_off = is_cut_off
        if is_cut_off:
            logger.warning("cut off from %s: clients are sent to other nodes", self.name)
            assert self._services is not None
            self._services.send_clients_away()
        else:
            logger.info("%s is heard again", self.name)


def _features(config: BrokerConfig, served: Served) -> dict[str, int]:
    """Return the feature levels that clients see: the configured one for share groups, the cluster's for all others."""
    initial = FEATURES[SHARE_VERSION].initial
    wanted = config.requested_features.get(SHARE_VERSION, initial)
    return {**features_of_cluster(served), SHARE_VERSION: initial if wanted is None else wanted}


def _needed_from(partitions: CoordinatorPartitions[ShareCoordinatorShard], partition: int) -> Pending[int | None]:
    """Return the lowest offset that a load of a partition of `__share_group_state` still needs; None if it is unknown
    now.
    """

    def ask(shard: ShareCoordinatorShard) -> CoordinatorResult[int | None]:
        return CoordinatorResult(shard.needed_from())

    return partitions.get(partition).run(ask, lambda _error: None)
