"""The faults between nodes and brokers, as data that a test sets and connections read.

A cut holds back messages in one direction, as TCP does: they arrive when the cut ends, if the connection still exists.
A lost answer also loses its connection: the request was handled, but its sender gets no answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

from shareq.protocol.primitives import Message


class Direction(Enum):
    TO_BROKER = "to the broker"
    TO_NODE = "to the node"


class Loss(Enum):
    REQUEST = "request"
    ANSWER = "answer"


@dataclass(slots=True)
class PlannedLoss:
    """The loss of the next request from a node to a broker that `matches`, or of its answer."""

    loss: Loss
    node: str
    broker: int
    matches: Callable[[Message], bool]


@dataclass(slots=True)
class Faults:
    """Cuts between nodes, by name, and brokers; planned losses; delays in milliseconds added to the latency."""

    cuts: set[tuple[str, int, Direction]] = field(default_factory=set)
    losses: list[PlannedLoss] = field(default_factory=list)
    delays: dict[tuple[str, int, Direction], int] = field(default_factory=dict)

    def is_cut(self, node: str, broker: int, direction: Direction) -> bool:
        return (node, broker, direction) in self.cuts

    def delay_ms(self, node: str, broker: int, direction: Direction) -> int:
        return self.delays.get((node, broker, direction), 0)

    def take_loss(self, loss: Loss, node: str, broker: int, message: Message) -> bool:
        """Return whether a loss was planned for this message, and use the plan up."""
        for planned in self.losses:
            if (planned.loss, planned.node, planned.broker) == (loss, node, broker) and planned.matches(message):
                self.losses.remove(planned)
                return True
        return False
