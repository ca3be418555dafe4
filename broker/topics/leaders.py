"""The leaders of partitions, their epochs, and their addresses for clients.

A single broker always leads all its partitions, in epoch 0. `Leaders` determines the answers about partitions that
another broker leads (Metadata and similar RPCs, KIP-932's NOT_LEADER_OR_FOLLOWER with the leader's address,
NOT_COORDINATOR, FindCoordinator). Share groups, the coordinators, and RPCs that read or write records use it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final, NamedTuple, Protocol

from shareq.broker.topics.endpoint import Endpoint


class Node(NamedTuple):
    """A broker, its endpoints by the names of its listeners, and its rack."""

    node_id: int
    endpoints: Mapping[str, Endpoint]
    rack: str | None = None

    def at(self, listener: str) -> Endpoint | None:
        """Return the address for clients of this listener; None if the broker has no such listener."""
        return self.endpoints.get(listener)


class Leader(NamedTuple):
    """Another broker, and the epoch in which it leads a partition. `node` is None if no broker leads it now."""

    node: Node | None
    epoch: int


class Leaders(Protocol):
    """The leaders of all partitions. `is_alone`: this broker leads all, in epoch 0. Unless it `knows_epochs`, other
    leaders may have newer epochs than those returned for them.
    """

    @property
    def is_alone(self) -> bool: ...

    @property
    def knows_epochs(self) -> bool: ...

    @property
    def others(self) -> Collection[Node]:
        """The other brokers that are alive, each once."""

    @property
    def controller(self) -> Node | None:
        """The broker that clients should use as the controller; None for this one."""

    def other_leader(self, topic: str, partition: int) -> Leader | None:
        """Return the other broker that leads the partition; None if this broker does."""

    def own_epoch(self, topic: str, partition: int) -> int:
        """Return the epoch in which this broker leads the partition."""

    def may_hand_out(self, topic: str, partition: int) -> bool:
        """Return True if records of a partition that this broker leads may be handed out to share groups now.

        It may have been deposed without knowing it yet. Acknowledgements are accepted in any case.
        """

    def on_move(self, listener: Callable[[str, int], None]) -> None:
        """Call `listener` with the topic and partition whenever this broker becomes, or stops being, a partition's
        leader.
        """


class LeaderMap:
    """The `Leaders` of a broker that leads every partition not listed here. A single broker leaves the list empty."""

    knows_epochs: Final = True

    def __init__(self) -> None:
        self.is_alone = True  # asked by each request that writes or reads
        self.controller: Node | None = None
        self._others: dict[int, Node] = {}
        self._elsewhere: dict[tuple[str, int], Leader] = {}
        self._epochs: dict[tuple[str, int], int] = {}
        self._moved: list[Callable[[str, int], None]] = []

    @property
    def others(self) -> Collection[Node]:
        return self._others.values()

    def know(self, *nodes: Node) -> None:
        """Replace the known other brokers, which are alive."""
        self._others = {node.node_id: node for node in nodes}
        self._look_around()

    def other_leader(self, topic: str, partition: int) -> Leader | None:
        return self._elsewhere.get((topic, partition)) if self._elsewhere else None

    def own_epoch(self, topic: str, partition: int) -> int:
        return self._epochs.get((topic, partition), 0)

    def may_hand_out(self, topic: str, partition: int) -> bool:
        return True

    def move(self, topic: str, partition: int, leader: Leader | None, own_epoch: int = 0) -> None:
        """Make `leader` the leader of the partition; with None, this broker leads it again, in `own_epoch`.

        The listeners are notified.
        """
        place = topic, partition
        self._elsewhere.pop(place, None)
        self._epochs.pop(place, None)
        if leader is not None:
            self._elsewhere[place] = leader
        elif own_epoch:
            self._epochs[place] = own_epoch
        self._look_around()
        for listener in self._moved:
            listener(topic, partition)

    def on_move(self, listener: Callable[[str, int], None]) -> None:
        self._moved.append(listener)

    def _look_around(self) -> None:
        self.is_alone = not (self._others or self._elsewhere or self._epochs)
