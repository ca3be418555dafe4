"""The faults between nodes and brokers, as data that connections look at. The test sets it.

A cut holds back what is on its way in one direction, as TCP does: it comes when the cut is over, if the connection
lives until then. A lost answer takes its connection along: the request was handled, and nobody hears of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

from shareq.protocol.primitives import Message


class Direction(Enum):
    """A way between a node and a broker."""

    TO_BROKER = "to the broker"
    TO_NODE = "to the node"


class Loss(Enum):
    """The message that gets lost with the connection."""

    REQUEST = "request"
    ANSWER = "answer"


@dataclass(slots=True)
class PlannedLoss:
    """The next request that `matches`, of a node to a broker, gets lost, or its answer."""

    loss: Loss
    node: str
    broker: int
    matches: Callable[[Message], bool]


@dataclass(slots=True)
class Faults:
    """Cuts between nodes, by name, and brokers; losses that are planned; delays in milliseconds on top of latency."""

    cuts: set[tuple[str, int, Direction]] = field(default_factory=set)
    losses: list[PlannedLoss] = field(default_factory=list)
    delays: dict[tuple[str, int, Direction], int] = field(default_factory=dict)

    def is_cut(self, node: str, broker: int, direction: Direction) -> bool:
        """Return whether nothing comes through."""
        return (node, broker, direction) in self.cuts

    def delay_ms(self, node: str, broker: int, direction: Direction) -> int:
        """Return how much longer everything takes."""
        return self.delays.get((node, broker, direction), 0)

    def take_loss(self, loss: Loss, node: str, broker: int, message: Message) -> bool:
        """Return whether this is the request that a loss was planned for; the plan is done then."""
        for planned in self.losses:
            if (planned.loss, planned.node, planned.broker) == (loss, node, broker) and planned.matches(message):
                self.losses.remove(planned)
                return True
        return False
