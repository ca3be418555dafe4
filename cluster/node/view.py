"""The view of all nodes from one of them: its map, and the figures that it requests from each other node."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

from shareq.broker.foundation.environment import Clock
from shareq.broker.foundation.loop.coroutines import Begin
from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.foundation.turn_budget import Breathe
from shareq.broker.topics.nodes import NodeFigures, NodeReply, SeenNode, SeenNodes, SeenSlot
from shareq.cluster.forward import node_figures as questions
from shareq.cluster.link.ports import Failure, LinkFailure, NodeLink
from shareq.cluster.membership.nodes import Node, NodeMap, SlotId
from shareq.protocol.generated.read_share_group_state_summary import ReadShareGroupStateSummaryResponse
from shareq.protocol.primitives import Message

PATIENCE_MS: Final = 2_000
"""The time in which another node has to answer."""
LANE: Final = 1
"""The lane of these requests. A late answer ends their connection, and the requests about states have another one."""
QUESTIONS_LANE: Final = 3
"""The lane of questions, whose answers take longer to make than figures."""
SILENT_MS: Final = 3_000
"""The time for which a node that did not answer is asked no more questions."""
_WHY_NOT: Final = "its release has none, or this node's user lacks ClusterAction there"
_EMPTY: Final = NodeMap({}, {})


class NodesAround:
    """`NodesView` of a node. `own` returns the node's description of itself, `figures` its figures, `epoch_of` the
    generation of a slot, and `owner_of_slot_of` the other node that owns the slot of a group or a topic id.
    """

    def __init__(
        self,
        begin: Begin,
        breathe: Breathe,
        *,
        clock: Clock,
        link: NodeLink | None,
        listener: str,
        own: Callable[[], Node],
        figures: Callable[[], Awaitable[NodeFigures]],
        epoch_of: Callable[[SlotId], int],
        owner_of_slot_of: Callable[[str | bytes], int | None],
    ) -> None:
        self._clock: Final = clock
        self._owner_of_slot_of: Final = owner_of_slot_of
        self._silent: dict[int, tuple[int, str]] = {}  # until when, and why, by node id
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
        others = _others(node_map, member_id)
        answers = [self._ask(node) for node in others]
        seen = [self._seen(self._own(), await self._figures())]
        for node, answer in zip(others, answers, strict=True):
            seen.append(self._seen(node, await answer))
            await self._breathe()
        return SeenNodes(generation, sorted(seen), await self._slots(node_map.owners, node_map.nodes))

    def ask(self, question: str, node_id: int | None = None) -> Pending[Sequence[NodeReply]]:
        """Ask the other nodes, or one of them, what they know themselves."""
        asked = _others(self._map, self._member_id)
        return self._begin(self._replies(question, [each for each in asked if node_id in (None, each.node_id)]))

    def owner_of_group(self, group_id: str) -> int | None:
        """Return the other node that coordinates a group; None if this node does, or none."""
        return self._owner_of_slot_of(group_id)

    def owner_of_topic(self, topic_id: bytes) -> int | None:
        """Return the other node that leads a topic; None if this node does, or none."""
        return self._owner_of_slot_of(topic_id)

    async def _replies(self, question: str, nodes: Sequence[Node]) -> Sequence[NodeReply]:
        sent = [self._send(node, questions.question(question), QUESTIONS_LANE) for node in nodes]
        found = []
        for node, answer in zip(nodes, sent, strict=True):
            status, text = _reply_or_problem(await answer)
            found.append(NodeReply(node.node_id, self._address(node), status, text))
            await self._breathe()
        return found

    def _ask(self, node: Node) -> Pending[NodeFigures | str]:
        return self._send(node, questions.request(), LANE).then(_figures_or_problem)

    def _send(self, node: Node, message: Message, lane: int) -> Pending[Message | LinkFailure]:
        """Send a request to a node, but no question to one that did not answer lately."""
        if self._link is None:
            return completed(LinkFailure(Failure.NOT_SENT, "nodes do not ask each other here"))
        until_ms, why = self._silent.get(node.node_id, (0, ""))
        if lane == QUESTIONS_LANE and self._clock.now_ms() < until_ms:
            return completed(LinkFailure(Failure.NOT_SENT, why))
        sent = self._link.send(node.node_id, message, timeout_ms=PATIENCE_MS, lane=lane)
        return sent.then(lambda answer: self._noted(node.node_id, answer))

    def _noted(self, node_id: int, answer: Message | LinkFailure) -> Message | LinkFailure:
        self._silent.pop(node_id, None)
        if isinstance(answer, LinkFailure):
            self._silent[node_id] = self._clock.now_ms() + SILENT_MS, answer.text
        return answer

    def _address(self, node: Node) -> str:
        endpoint = node.listeners.get(self._listener)
        return "" if endpoint is None else f"{endpoint.host}:{endpoint.port}"

    def _seen(self, node: Node, found: NodeFigures | str) -> SeenNode:
        address = self._address(node)
        known, problem = (None, found) if isinstance(found, str) else (found, None)
        return SeenNode(node.node_id, address, node.version, node.zone, known, problem)

    async def _slots(self, owners: Mapping[SlotId, str], nodes: Mapping[str, Node]) -> list[SeenSlot]:
        seen = []
        for slot in sorted(owners):
            owner = nodes.get(owners[slot])
            seen.append(SeenSlot(*slot, None if owner is None else owner.node_id, self._epoch_of(slot)))
            await self._breathe()
        return seen


def _others(node_map: NodeMap, member_id: str) -> list[Node]:
    return [node for each, node in sorted(node_map.nodes.items()) if each != member_id]


def _figures_or_problem(answer: Message | LinkFailure) -> NodeFigures | str:
    if isinstance(answer, LinkFailure):
        return answer.text
    found = questions.figures_in(answer) if isinstance(answer, ReadShareGroupStateSummaryResponse) else None
    return found or f"it gave no figures: {_WHY_NOT}"


def _reply_or_problem(answer: Message | LinkFailure) -> tuple[int, str]:
    if isinstance(answer, LinkFailure):
        return 0, answer.text
    found = questions.reply_in(answer) if isinstance(answer, ReadShareGroupStateSummaryResponse) else None
    return found or (0, f"it gave no answer: {_WHY_NOT}")
