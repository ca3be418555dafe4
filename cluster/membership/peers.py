"""The other nodes to hold connections to, and when the loss of one is news. The sockets are others' business.

A node that dies resets its connections. The nodes that notice join the membership again at once, with changed metadata,
and the lost one is dropped after the rebalance timeout instead of the session timeout; at once if its machine refuses
connections, since nobody listens there any longer. A node that cannot be reached but stays a member counts as lost only
once, until a connection to it was open again: a cut between two nodes that both reach the cluster must not cause one
rebalance after the other.

A node that starts connects to the existing members, to drop those that have ended: all may have been killed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from shareq.cluster.membership.nodes import Endpoint, Node, NodeMap


class PeerLinks(Protocol):
    """One connection to each peer. The node is called back when one is open, and when one is lost."""

    def connect(self, peer: str, host: str, port: int) -> None:
        """Be connected to a peer from now on, as far as that can be."""

    def disconnect(self, peer: str) -> None:
        """Close the connection to a peer. No call follows."""

    def close(self) -> None:
        """Close all connections."""


MakePeerLinks = Callable[[Callable[[str], None], Callable[[str, bool], None]], PeerLinks]
"""Makes them, given what is called with a peer's member id when its connection is open, and when it is lost: then also
with true if its machine refuses connections.
"""


class PeerChanges(NamedTuple):
    """The connections to open, by member id, and those to close."""

    open: dict[str, Endpoint]
    close: list[str]


class Found(NamedTuple):
    """The members from before: those that have ended, and those to connect to."""

    ended: list[str]
    open: dict[str, Endpoint]


class Loss(NamedTuple):
    """The news that a connection is lost, or was not to be had: whether to join again, and to drop who has ended."""

    joins_again: bool
    has_ended: bool


class Peers:
    """The other members of the last map, as this node sees them. `listener`: the name of the one to connect to."""

    def __init__(self, listener: str) -> None:
        self._listener = listener
        self._wanted: dict[str, Endpoint] = {}
        self._open: set[str] = set()
        self._unmet: set[str] = set()  # members before this node was one, not connected to yet

    def find(self, own: Node, members: Mapping[str, Node]) -> Found:
        """Take the members that exist before this node is one. What has its number and addresses is an earlier life."""
        mine = own.node_id, own.listeners
        ended = [each for each, node in members.items() if (node.node_id, node.listeners) == mine]
        for member_id, node in members.items():
            if member_id not in ended and self._listener in node.listeners:
                self._wanted[member_id] = node.listeners[self._listener]
        self._unmet.update(self._wanted)
        return Found(ended, dict(self._wanted))

    def update(self, member_id: str, node_map: NodeMap) -> PeerChanges:
        """Take a map; return the changes to make. A node without such a listener is none to connect to."""
        wanted = {
            other: node.listeners[self._listener]
            for other, node in node_map.nodes.items()
            if other != member_id and self._listener in node.listeners
        }
        before, self._wanted = self._wanted, wanted
        to_close = [other for other, endpoint in before.items() if wanted.get(other) != endpoint]
        self._open.difference_update(to_close)
        self._unmet.difference_update(to_close)
        return PeerChanges({other: each for other, each in wanted.items() if before.get(other) != each}, to_close)

    def opened(self, member_id: str) -> None:
        """Note that the connection to a peer is open."""
        self._unmet.discard(member_id)
        if member_id in self._wanted:
            self._open.add(member_id)

    def lost(self, member_id: str, *, has_ended: bool) -> Loss:
        """Note that it was lost, or could not be opened; return the immediate actions.

        The connection is to be tried again as long as the peer is a member.
        """
        was_open, is_unmet = member_id in self._open, member_id in self._unmet
        self._open.discard(member_id)
        self._unmet.discard(member_id)
        return Loss(was_open, has_ended and (was_open or is_unmet))

    def wants(self, member_id: str) -> Endpoint | None:
        """Return the address at which to connect to a peer; None if it is no longer a member."""
        return self._wanted.get(member_id)
