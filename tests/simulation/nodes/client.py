"""Clients' connections to simulated nodes: frames on virtual time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from devtools.clients.wire import RequestsInFlight
from shareq.broker.foundation.pending import Pending
from shareq.broker.network.answers import Buffer
from shareq.broker.network.client_lines import ClientLines
from shareq.broker.network.connection import Connection
from shareq.broker.network.request_limits import RequestLimits
from shareq.protocol.framing import SIZE_BYTES
from shareq.protocol.primitives import Message

if TYPE_CHECKING:
    from shareq.broker.broker import Broker
    from tests.simulation.nodes.node import Life
    from tests.simulation.nodes.world import NodesWorld

R = TypeVar("R", bound=Message)

LATENCY_MS: Final = 1


class Lost(Exception):
    """An error: the connection was lost, or an answer did not come in time."""


class ClientConnection:
    """A client's connection to a node; the `Outlet` of the node's side."""

    def __init__(self, world: NodesWorld, life: Life, broker: Broker, timeout_ms: int) -> None:
        self.is_over = False
        self._clock = world.clock
        self._node_clock = life.clock
        self._timeout_ms = timeout_ms
        self._requests = RequestsInFlight("sim")
        self._waiting: deque[Pending[Message | None]] = deque()
        self._life = life
        life.connections.append(self)
        world.connections += 1
        self._side = Connection(
            world.connections,
            "127.0.0.1",
            "PLAINTEXT",
            handler_for=broker.handler_for,
            call_soon=life.clock.call_soon,
            outlet=self,
            limits=RequestLimits(),
            now_ns=life.clock.now_ns,
            budget=broker.services.request_budget,
            lines=ClientLines(broker.services.client_lines),
        )

    async def ask(self, request: Message, version: int, response_class: type[R]) -> R:
        if self.is_over:
            raise Lost
        answer: Pending[Message | None] = Pending()
        frame = self._requests.frame_of(request, version)
        self._waiting.append(answer)
        self._later(lambda: self._node_clock.deliver(lambda: self._side.receive(frame)))
        timer = self._clock.call_at(self._clock.now_ms() + self._timeout_ms, self.end)
        answer.on_complete(lambda _answer: timer.cancel())
        found = await answer
        if not isinstance(found, response_class):
            raise Lost
        return found

    def end(self) -> None:
        if self.is_over:
            return
        self.is_over = True
        self._life.connections.remove(self)
        self._later(lambda: self._node_clock.deliver(self._side.lost))
        while self._waiting:
            self._waiting.popleft().complete(None)

    def _later(self, call: Callable[[], None]) -> None:
        self._clock.call_at(self._clock.now_ms() + LATENCY_MS, call)

    def _arrived(self, payload: bytes) -> None:
        if not self.is_over:
            self._waiting.popleft().complete(self._requests.response(payload))

    # -- the node's outlet

    def write(self, buffers: list[Buffer]) -> None:
        data, at = b"".join(buffers), 0
        while at < len(data):
            end = at + SIZE_BYTES + int.from_bytes(data[at : at + SIZE_BYTES], "big")
            payload = data[at + SIZE_BYTES : end]
            self._later(partial(self._arrived, payload))
            at = end

    def close(self) -> None:
        self._later(self.end)

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...
