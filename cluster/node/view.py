"""The view of all nodes from one of them: its map, and the figures that it requests from each other node."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from shareq.broker.foundation.loop.coroutines import Begin
from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.foundation.turn_budget import Breathe
from shareq.broker.topics.nodes import NodeFigures, SeenNode, SeenNodes, SeenSlot
from shareq.cluster.forward.node_figures import figures_in, request
from shareq.cluster.link.ports import LinkFailure, NodeLink
from shareq.cluster.membership.nodes import Node, NodeMap, SlotId
from shareq.protocol.generated.read_share_group_state_summary import ReadShareGroupStateSummaryResponse
from shareq.protocol.primitives import Message

PATIENCE_MS: Final = 2_000
"""The time in which another node has to answer."""
LANE: Final = 1
"""The lane of these requests. A late answer ends their connection, and the requests about states have another one."""
_EMPTY: Final = NodeMap({}, {})


class NodesAround:
    """`NodesView` of a node. `own` returns the node's description of itself, `figures` its figures, and `epoch_of` the
    generation of a slot.
    """

    def __init__(
        self,
        begin: Begin,
        breathe: Breathe,
        *,
        link: NodeLink | None,
        listener: str,
        own: Callable[[], Node],
        figures: Callable[[], Awaitable[NodeFigures]],
        epoch_of: Callable[[SlotId], int],
    ) -> None:
        self._begin: Final = begin
        self._breathe: Final = breathe
        self._link: Final = link
        self._listener: Final = listener
        self._own: Final = own
        self._figures: Final = figures
        self._epoch_of: Final = epoch_of
        self._member_id = ""
        self._generation = -1
        self._map = _EMPTY

    def take_map(self, member_id: str, generation: int, node_map: NodeMap) -> None:
        """Apply the map of a generation."""
        self._member_id, self._generation, self._map = member_id, generation, node_map

    def look(self) -> Pending[SeenNodes]:
        """Ask all other nodes for their figures; return what was answered in time, with the owners of all slots."""
        return self._begin(self._look(self._member_id, self._generation, self._map))

    async def _look(self, member_id: str, generation: int, node_map: NodeMap) -> SeenNodes:
        others = [node for each, node in sorted(node_map.nodes.items()) if each != member_id]
        answers = [self._ask(node) for node in others]
        seen = [self._seen(self._own(), await self._figures())]
        for node, answer in zip(others, answers, strict=True):
            seen.append(self._seen(node, await answer))
            await self._breathe()
        return SeenNodes(generation, sorted(seen), await self._slots(node_map.owners, node_map.nodes))

    def _ask(self, node: Node) -> Pending[NodeFigures | str]:
        if self._link is None:
            return completed("nodes do not ask each other here")
        return self._link.send(node.node_id, request(), timeout_ms=PATIENCE_MS, lane=LANE).then(_figures_or_problem)

    def _seen(self, node: Node, found: NodeFigures | str) -> SeenNode:
        endpoint = node.listeners.get(self._listener)
        address = "" if endpoint is None else f"{endpoint.host}:{endpoint.port}"
        known, problem = (None, found) if isinstance(found, str) else (found, None)
        return SeenNode(node.node_id, address, node.version, node.zone, known, problem)

    async def _slots(self, owners: Mapping[SlotId, str], nodes: Mapping[str, Node]) -> list[SeenSlot]:
        seen = []
        for slot in sorted(owners):
            owner = nodes.get(owners[slot])
            seen.append(SeenSlot(*slot, None if owner is None else owner.node_id, self._epoch_of(slot)))
            await self._breathe()
        return seen


def _figures_or_problem(answer: Message | LinkFailure) -> NodeFigures | str:
    if isinstance(answer, LinkFailure):
        return answer.text
    found = figures_in(answer) if isinstance(answer, ReadShareGroupStateSummaryResponse) else None
    return found or "it gave no figures: its release has none, or this node's user lacks ClusterAction there"
