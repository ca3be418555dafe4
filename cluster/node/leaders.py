"""The nodes that lead partitions, by the slots that they own.

    partition of a coordinator's topic   its own slot; led as soon as it is being loaded
    topic of the cluster                 the slot of its states; led once that is loaded, in the epoch of its take-over

To clients every node is a broker. Any node accepts changes of the cluster and forwards them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final, Protocol

from shareq.broker.topics.endpoint import Endpoint
from shareq.broker.topics.leaders import Leader, Node
from shareq.cluster.membership.nodes import Node as Member
from shareq.cluster.membership.nodes import NodeMap, SlotId
from shareq.cluster.node.state_topics import NAMES, slot_of
from shareq.coordinator.ports import TopicImage
from shareq.protocol.names import TRANSACTION_STATE


class KnownTopics(Protocol):
    """The port to the cluster's topics that are mirrored."""

    def known(self, name: str) -> TopicImage | None:
        """Return a mirrored topic, or None."""


class NodeLeaders:
    """`Leaders` of one node. `slot_of_topic` returns the slot of a topic's states, by topic id; `may_hand_out` returns
    True if the lease of a slot is valid.

    `is_cut_off`: no proof of ownership has come for so long that clients should look for another node. The node leads
    nothing for them then, and leads the same again once it has a lease.
    """

    is_alone: Final = False
    knows_epochs: Final = False  # of others they come with maps, and slots are taken over between two of them
    controller: Final = None

    def __init__(
        self,
        topics: KnownTopics,
        slot_of_topic: Callable[[bytes], SlotId],
        may_hand_out: Callable[[SlotId], bool],
    ) -> None:
        self.is_cut_off = False
        self._topics: Final = topics
        self._slot_of_topic: Final = slot_of_topic
        self._may_hand_out: Final = may_hand_out
        self._others: dict[str, Node] = {}  # by member id
        self._owners: Mapping[SlotId, str] = {}  # by the last map
        self._epochs: dict[SlotId, int] = {}  # the highest that was heard of
        self._loading: set[SlotId] = set()
        self._served: dict[SlotId, int] = {}
        self._moved: list[Callable[[str, int], None]] = []

    # -- what the broker asks

    @property
    def others(self) -> Collection[Node]:
        """The other nodes of the last map."""
        return self._others.values()

    def other_leader(self, topic: str, partition: int) -> Leader | None:
        """Return the node that leads a partition; None if this node does. Any node leads the partitions of
        `__transaction_state`, for which it asks the cluster's coordinators.
        """
        if topic == TRANSACTION_STATE:
            return None
        if topic in NAMES:
            slot = slot_of(topic, partition)
            if slot in self._loading and not self.is_cut_off:
                return None
        else:
            image = self._topics.known(topic)
            if image is None:
                return Leader(None, 0)
            slot = self._slot_of_topic(image.topic_id)
            if slot in self._served and not self.is_cut_off:
                return None
        return self._owner(slot)

    def own_epoch(self, topic: str, partition: int) -> int:
        """Return the generation of the partition's slot, or the last known one while the slot is loaded.

        For a served slot of a topic of the cluster, it is the generation of this node's take-over, even if a later one
        is known. For a coordinator's topic, it is always the last known one.
        """
        if topic in NAMES:
            return self._epochs.get(slot_of(topic, partition), 0)
        image = self._topics.known(topic)
        return 0 if image is None else self.epoch_of(image.topic_id)

    def epoch_of(self, topic_id: bytes) -> int:
        """Return the leader epoch of a topic of the cluster: the generation of its slot."""
        return self.epoch_of_slot(self._slot_of_topic(topic_id))

    def epoch_of_slot(self, slot: SlotId) -> int:
        """Return the generation of a slot's last known take-over; of a served slot, of this node's take-over."""
        return self._served.get(slot, self._epochs.get(slot, 0))

    def owner_elsewhere(self, topic_id: bytes) -> Leader | None:
        """Return the node that owns the slot of a topic's states; None if this node does, or is taking it over."""
        slot = self._slot_of_topic(topic_id)
        return None if slot in self._loading else self._owner(slot)

    def owner_of(self, slot: SlotId) -> int | None:
        """Return the id of the other node that owns a slot by the last map; None if it is lost, or this node is the
        owner.
        """
        node = self._owner(slot).node
        return None if node is None else node.node_id

    def _owner(self, slot: SlotId) -> Leader:
        return Leader(self._others.get(self._owners.get(slot, "")), self._epochs.get(slot, 0))

    def may_hand_out(self, topic: str, partition: int) -> bool:
        """Return True if records of a partition that this node leads may be handed out now."""
        image = self._topics.known(topic)
        return image is not None and self._may_hand_out(self._slot_of_topic(image.topic_id))

    def on_move(self, listener: Callable[[str, int], None]) -> None:
        """Call `listener` with topic and partition whenever a partition gets another leader, or none."""
        self._moved.append(listener)

    # -- what the node sets

    def take_map(self, member_id: str, node_map: NodeMap) -> None:
        """Apply a map: the other nodes, and the slots that each node is to own."""
        self._others = {other: _as_broker(node) for other, node in node_map.nodes.items() if other != member_id}
        self._owners = node_map.owners
        for node in node_map.nodes.values():
            for slot, generation in node.holds.items():
                self._heard_of(slot, generation)

    def lose(self, member_id: str) -> None:
        """Drop a node that is not reached. Until the next map names new owners, clients that ask for the leader of its
        partitions are answered that there is none. They ask again soon, instead of trying a dead node.
        """
        self._others.pop(member_id, None)

    def begins_to_load(self, slot: SlotId) -> None:
        """Lead the coordinators' partition of a slot, which refuses all requests until it is loaded."""
        self._loading.add(slot)

    def serves(self, slot: SlotId, epoch: int) -> None:
        """Lead the topics whose states are in a slot."""
        self._served[slot] = epoch
        self._heard_of(slot, epoch)

    def leaves(self, slot: SlotId) -> None:
        """Stop leading the partitions of a slot. The caller has to call `moved` for each of them."""
        self._loading.discard(slot)
        self._served.pop(slot, None)

    def moved(self, topic: str, partition: int) -> None:
        """Notify the listeners that another node, or none, leads a partition from now on."""
        for listener in self._moved:
            listener(topic, partition)

    def _heard_of(self, slot: SlotId, epoch: int) -> None:
        self._epochs[slot] = max(epoch, self._epochs.get(slot, 0))


def _as_broker(member: Member) -> Node:
    endpoints = {name: Endpoint(member.node_id, *address) for name, address in member.listeners.items()}
    return Node(member.node_id, endpoints, member.zone)
