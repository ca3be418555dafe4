"""All nodes that serve a cluster together, as one of them sees them, for operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from shareq.broker.foundation.pending import Pending


class NodeFigures(NamedTuple):
    """A node's figures, from its own memory.

    `slots`: those that it serves; `awaited` those that it is to own and does not serve yet. `take_overs` and `lost`
    count slots since its start. `in_flight` is the sum over `share_partitions`, those in its memory.
    """

    slots: int
    awaited: int
    take_overs: int
    lost: int
    share_partitions: int
    in_flight: int


class SeenNode(NamedTuple):
    """A node. Without `figures` it did not answer in time, for the reason in `problem`."""

    node_id: int
    address: str
    version: str
    zone: str | None
    figures: NodeFigures | None
    problem: str | None


class SeenSlot(NamedTuple):
    """A slot, and its owner by the map; None if no node is to own it. `epoch`: its last take-over that is known."""

    topic: str
    slot: int
    node_id: int | None
    epoch: int


class SeenNodes(NamedTuple):
    """The nodes of one generation, by their ids, and their slots."""

    generation: int
    nodes: Sequence[SeenNode]
    slots: Sequence[SeenSlot]


class NodeReply(NamedTuple):
    """A node's reply to a question: an HTTP status, and the body or why there is none. Status 0: it did not answer."""

    node_id: int
    address: str
    status: int
    text: str


class NodesView(Protocol):
    """The view of all nodes that each node has."""

    def ask(self, question: str, node_id: int | None = None) -> Pending[Sequence[NodeReply]]:
        """Ask the other nodes, or one of them, what they know themselves: `question` is a path of the records API with
        its query. Arrives within a few seconds, also if some of them do not answer.
        """

    def owner_of_group(self, group_id: str) -> int | None:
        """Return the other node that coordinates a group; None if this node does, or none."""

    def owner_of_topic(self, topic_id: bytes) -> int | None:
        """Return the other node that leads a topic; None if this node does, or none."""

    def look(self) -> Pending[SeenNodes]:
        """Ask all nodes for their figures; arrives within a few seconds, also if some of them do not answer."""
