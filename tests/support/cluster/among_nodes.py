"""Requests between nodes in one process: frames on virtual time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, NamedTuple

from devtools.clients.wire import RequestsInFlight
from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.broker import Broker
from shareq.broker.foundation.environment import Clock
from shareq.broker.foundation.pending import Pending
from shareq.broker.network.answers import Buffer
from shareq.broker.network.client_lines import ClientLines
from shareq.broker.network.connection import Connection
from shareq.broker.network.request_limits import RequestLimits
from shareq.cluster.link.ports import BrokerAddress, Failure, LinkFailure
from shareq.protocol.framing import SIZE_BYTES
from shareq.protocol.primitives import Message

LATENCY_MS: Final = 1

Deliver = Callable[[Callable[[], None]], None]


class Reached(NamedTuple):
    """The process that listens at a node's address: its broker, and a way to run an action in it."""

    broker: Broker
    clock: Clock
    deliver: Deliver


class AmongNodes:
    """The `NodeLink` of one process.

    `reach` returns the process that listens at a host, or None if there is none or it is unreachable. `deliver` runs an
    action in this process. `sent` records what was sent. `loses`: how many of the next answers are lost, each with its
    connection.
    """

    def __init__(self, clock: VirtualClock, reach: Callable[[str], Reached | None], deliver: Deliver) -> None:
        self.sent: list[Message] = []
        self.is_closed = False
        self.loses = 0
        self._clock = clock
        self._reach = reach
        self._deliver = deliver
        self._hosts: Mapping[int, BrokerAddress] = {}
        self._open: dict[tuple[int, int], _ToNode] = {}  # by node and lane

    def know(self, nodes: Mapping[int, BrokerAddress]) -> None:
        self._hosts = nodes

    def send(
        self, node: int, message: Message, *, timeout_ms: int, min_version: int = 0, lane: int = 0
    ) -> Pending[Message | LinkFailure]:
        answer: Pending[Message | LinkFailure] = Pending()
        reached = self._reach(self._hosts[node].host) if node in self._hosts and not self.is_closed else None
        connection = self._open.get((node, lane))
        if connection is not None and (
            connection.is_over or reached is None or connection.broker is not reached.broker
        ):
            connection.end()
            connection = None
        if reached is None:
            failure = LinkFailure(Failure.NOT_SENT, f"node {node} is not reached")
            self._clock.call_soon(lambda: self._deliver(lambda: answer.complete(failure)))
            return answer
        if connection is None:
            connection = self._open[node, lane] = _ToNode(self._clock, node, reached, self._deliver, self._is_lost)
        self.sent.append(message)
        connection.send(message, min_version, timeout_ms, answer)
        return answer

    def _is_lost(self) -> bool:
        is_lost = self.loses > 0
        self.loses -= is_lost
        return is_lost

    def cut(self, broker: Broker) -> None:
        for each in self._open.values():
            if each.broker is broker:
                each.end()

    def close(self) -> None:
        self.is_closed = True
        for each in self._open.values():
            each.end()


class _ToNode:
    def __init__(
        self, clock: VirtualClock, node: int, reached: Reached, deliver: Deliver, is_lost: Callable[[], bool]
    ) -> None:
        self.broker: Final = reached.broker
        self.is_over = False
        self._clock = clock
        self._node = node
        self._reached = reached
        self._deliver = deliver
        self._is_lost = is_lost
        self._requests = RequestsInFlight("node")
        self._waiting: deque[Pending[Message | LinkFailure]] = deque()
        self._side = Connection(
            id(self),
            "127.0.0.1",
            "PLAINTEXT",
            handler_for=reached.broker.handler_for,
            call_soon=reached.clock.call_soon,
            outlet=self,
            limits=RequestLimits(),
            now_ns=reached.clock.now_ns,
            budget=reached.broker.services.request_budget,
            lines=ClientLines(reached.broker.services.client_lines),
        )

    def send(self, message: Message, version: int, timeout_ms: int, answer: Pending[Message | LinkFailure]) -> None:
        frame = self._requests.frame_of(message, version)
        self._waiting.append(answer)
        self._later(lambda: self._reached.deliver(lambda: self._side.receive(frame)))
        timer = self._clock.call_at(self._clock.now_ms() + timeout_ms, self.end)
        answer.on_complete(lambda _answer: timer.cancel())

    def end(self) -> None:
        if self.is_over:
            return
        self.is_over = True
        self._later(lambda: self._reached.deliver(self._side.lost))
        failure = LinkFailure(Failure.LOST, f"the connection to node {self._node} is lost")
        while self._waiting:
            self._deliver(partial(self._waiting.popleft().complete, failure))

    def _later(self, call: Callable[[], None]) -> None:
        self._clock.call_at(self._clock.now_ms() + LATENCY_MS, call)

    def _arrived(self, payload: bytes) -> None:
        if not self.is_over:
            self._waiting.popleft().complete(self._requests.response(payload))

    # -- the outlet of the other side

    def write(self, buffers: list[Buffer]) -> None:
        data, at = b"".join(buffers), 0
        if not self.is_over and self._is_lost():
            self.end()
        while at < len(data):
            end = at + SIZE_BYTES + int.from_bytes(data[at : at + SIZE_BYTES], "big")
            payload = data[at + SIZE_BYTES : end]
            self._later(partial(self._deliver, partial(self._arrived, payload)))
            at = end

    def close(self) -> None:
        self._later(self.end)

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...
