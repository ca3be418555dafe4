"""The node as a member of the nodes' group: what it says of itself, and what it does with the map."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from shareq.broker.topics.endpoint import Endpoint
from shareq.cluster.membership.nodes import Endpoint as MemberEndpoint
from shareq.cluster.membership.nodes import Node, NodeMap
from shareq.cluster.membership.ownership import Ownership
from shareq.cluster.state.slot import StateTopic

__all__ = ["Member"]


class Member:
    """`MembershipListener` of a node. `slots` are the state topics that are shared out. Of `parts` the second is called
    with each map, and this node's member id, before slots are taken over and given up by it, the third with this node
    and those that are members before it.
    """

    def __init__(
        self,
        node_id: int,
        version: str,
        endpoints: Mapping[str, Endpoint],
        zone: str | None,
        slots: Mapping[str, StateTopic],
        parts: tuple[Ownership, Callable[[str, NodeMap], None], Callable[[Node, Mapping[str, Node]], None]],
    ) -> None:
        self._node_id: Final = node_id
        self._version: Final = version
        self._listeners: Final = {name: MemberEndpoint(each.host, each.port) for name, each in endpoints.items()}
        self._zone: Final = zone
        self._slots: Final = slots
        self._ownership, self._know_nodes, self._find_nodes = parts

    def describe(self) -> Node:
        """Return the node's description of itself, as of now."""
        return Node(self._node_id, self._version, self._listeners, self._zone, dict(self._ownership.holds))

    def on_found(self, members: Mapping[str, Node]) -> None:
        """Take those that are members before this node is."""
        self._find_nodes(self.describe(), members)

    def partitions(self) -> Mapping[str, int]:
        """Return how many slots each state topic has."""
        return {topic.name: topic.partitions for topic in self._slots.values()}

    def on_map(self, member_id: str, node_map: NodeMap, heard: Callable[[], None]) -> None:
        """Take the map of a new generation."""
        self._know_nodes(member_id, node_map)
        self._ownership.on_map(member_id, node_map, heard)

    def attempt(self) -> Callable[[], None]:
        """Note that a heartbeat, or a SyncGroup, is sent."""
        return self._ownership.attempt()
