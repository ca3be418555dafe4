"""The other nodes that a node stays connected to, and the decision when a lost connection matters. `PeerLinks` has the
sockets.

A node that dies resets its connections. The nodes that notice join the membership again at once, with changed metadata,
and the lost one is dropped after the rebalance timeout instead of the session timeout. If its machine refuses
connections, its process has ended, and it is dropped at once. A node that cannot be reached but stays a member counts
as lost only once until a connection to it is open again: a broken network between two nodes that both reach the cluster
must not cause one rebalance after the other.

A node that starts connects to the existing members, to drop those that have ended: all may have been killed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from shareq.cluster.membership.nodes import Endpoint, Node, NodeMap


class PeerLinks(Protocol):
    """The connections to peers, one for each. They call back when a connection is open, and when it is lost."""

    def connect(self, peer: str, host: str, port: int) -> None:
        """Open a connection to a peer, and open it again whenever it is lost."""

    def disconnect(self, peer: str) -> None:
        """Close the connection to a peer. Neither callback is called for it afterwards."""

    def close(self) -> None:
        """Close all connections."""


MakePeerLinks = Callable[[Callable[[str], None], Callable[[str, bool], None]], PeerLinks]
"""A function that makes `PeerLinks` from two callbacks.

One is called with a peer's member id when the connection to the peer is open; the other is called when it is lost or
could not be opened, with the id and with True if the peer's machine refused the connection.
"""


class PeerChanges(NamedTuple):
    """The connections to open, by member id, and those to close."""

    open: dict[str, Endpoint]
    close: list[str]


class Found(NamedTuple):
    """The members that exist before this node joins: those that have ended, and the addresses of the others."""

    ended: list[str]
    open: dict[str, Endpoint]


class Loss(NamedTuple):
    """The consequences of a lost connection: whether to join again, and whether the peer has ended and is to be
    dropped.
    """

    joins_again: bool
    has_ended: bool


class Peers:
    """The other members of the last map. `listener`: the name of the listener at which they are connected to."""

    def __init__(self, listener: str) -> None:
        self._listener = listener
        self._wanted: dict[str, Endpoint] = {}
        self._open: set[str] = set()
        self._unmet: set[str] = set()  # members before this node was one, not connected to yet

    def find(self, own: Node, members: Mapping[str, Node]) -> Found:
        """Take the members that exist before this node joins. One with its node id and addresses is its own earlier
        life.
        """
        mine = own.node_id, own.listeners
        ended = [each for each, node in members.items() if (node.node_id, node.listeners) == mine]
        for member_id, node in members.items():
            if member_id not in ended and self._listener in node.listeners:
                self._wanted[member_id] = node.listeners[self._listener]
        self._unmet.update(self._wanted)
        return Found(ended, dict(self._wanted))

    def update(self, member_id: str, node_map: NodeMap) -> PeerChanges:
        """Take a new map; return the connections to open and to close. Nodes without the listener are not connected
        to.
        """
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
        """Note that a connection was lost, or could not be opened; return the consequences.

        The connection is tried again as long as the peer is a member.
        """
        was_open, is_unmet = member_id in self._open, member_id in self._unmet
        self._open.discard(member_id)
        self._unmet.discard(member_id)
        return Loss(was_open, has_ended and (was_open or is_unmet))

    def wants(self, member_id: str) -> Endpoint | None:
        """Return the address at which to connect to a peer; None if it is no longer a member."""
        return self._wanted.get(member_id)
