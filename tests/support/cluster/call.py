"""One request as a broker receives it, and its answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from shareq.broker.foundation.pending import Pending
from shareq.coordinator.group.groups import Client
from shareq.protocol.primitives import Message

if TYPE_CHECKING:
    from tests.support.cluster.broker import SimulatedBroker

Answer: TypeAlias = Message | Pending[Message | None] | None
"""The answer to a request; None if no answer is sent."""


@dataclass(frozen=True, slots=True)
class Call:
    broker: SimulatedBroker
    version: int
    client: Client
