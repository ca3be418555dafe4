"""The connection between a node and a broker, without header bytes: two pipes and the broker's end.

A broker handles the requests of a connection one after the other, as Kafka does: while one waits (for followers,
records or members of a group), those behind it are queued.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from shareq.broker.foundation.environment import TimerHandle
from shareq.broker.foundation.pending import Pending
from shareq.coordinator.group.groups import Client
from shareq.protocol.api_keys import ApiKey, codec
from shareq.protocol.primitives import Message
from tests.support.cluster.call import Call
from tests.support.cluster.faults import Direction, Loss
from tests.support.cluster.handlers import HANDLERS

if TYPE_CHECKING:
    from tests.support.cluster.cluster import SimulatedCluster

_READ_AFTER_CLOSE: Final = 0.5
"""The chance that a broker reads one more request that a closed connection has left in its socket."""


class Pipe:
    """One direction of a connection. Items arrive in order; while the connection is cut, they wait."""

    def __init__(self, cluster: SimulatedCluster, node: str, broker: int, direction: Direction) -> None:
        self._cluster = cluster
        self._at = node, broker, direction
        self._items: deque[tuple[int, Callable[[], None]]] = deque()
        self._last_due = 0
        self._timer: TimerHandle | None = None

    def put(self, item: Callable[[], None]) -> None:
        env = self._cluster.env
        latency = env.rng.randint(*self._cluster.settings.latency_ms) + self._cluster.faults.delay_ms(*self._at)
        self._last_due = max(self._last_due, env.clock.now_ms() + latency)
        self._items.append((self._last_due, item))
        if self._timer is None:
            self._set_timer()

    @property
    def is_empty(self) -> bool:
        return not self._items

    def pump(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        now_ms = self._cluster.env.clock.now_ms()
        while self._items and self._items[0][0] <= now_ms and not self._cluster.faults.is_cut(*self._at):
            self._items.popleft()[1]()
        if self._timer is None:
            self._set_timer()

    def _set_timer(self) -> None:
        if self._items and not self._cluster.faults.is_cut(*self._at):
            self._timer = self._cluster.env.clock.call_at(self._items[0][0], self.pump)


class Endpoint:
    """The broker's end of one connection. `on_answer` gets versioned bytes; `on_closed`: the broker hung up."""

    def __init__(
        self,
        cluster: SimulatedCluster,
        node: str,
        broker: int,
        on_answer: Callable[[bytes | None], None],
        on_closed: Callable[[], None],
    ) -> None:
        self._cluster = cluster
        self._client = Client(node, "/127.0.0.1")
        self._node, self._broker = node, broker
        self._on_answer, self._on_closed = on_answer, on_closed
        self._received: deque[tuple[ApiKey, int, bytes] | None] = deque()
        self._busy = False
        self._left_by_node = False
        self._closed = False

    def take(self, request: tuple[ApiKey, int, bytes] | None) -> None:
        """Receive a request: API, version and bytes. None asks for the versions, which opens a connection."""
        if not self._closed:
            self._received.append(request)
            self.pump()

    @property
    def is_idle(self) -> bool:
        return not self._received and not self._busy

    def left(self) -> None:
        self._left_by_node = True

    def close(self) -> None:
        """Close the connection; received requests that are not handled are dropped."""
        self._closed = True
        self._received.clear()

    def pump(self) -> None:
        """Handle the next request, unless one is in progress or the broker is paused."""
        while self._received and not self._busy and self._cluster.is_running(self._broker):
            if self._left_by_node and self._cluster.env.rng.random() > _READ_AFTER_CLOSE:
                self.close()
                return
            request = self._received.popleft()
            if request is None:
                self._on_answer(None)
            else:
                self._handle(*request)

    def _handle(self, api: ApiKey, version: int, data: bytes) -> None:
        message, _ = codec(api).request_class.decode(data, version, 0)
        cluster, broker = self._cluster, self._broker
        if cluster.faults.take_loss(Loss.REQUEST, self._node, broker, message):
            self.close()
            self._on_closed()
            return
        loses_answer = cluster.faults.take_loss(Loss.ANSWER, self._node, broker, message)
        self._busy = True
        answer = HANDLERS[api](Call(cluster.brokers[broker], version, self._client), message)
        if isinstance(answer, Pending):
            answer.on_complete(lambda value: self._answered(value, version, loses_answer))
        else:
            self._answered(answer, version, loses_answer)

    def _answered(self, answer: Message | None, version: int, loses_answer: bool) -> None:
        self._busy = False
        if self._closed:
            return
        if loses_answer:
            self.close()
            self._on_closed()
            return
        if answer is not None:
            self._on_answer(answer.encode(version))
        self._cluster.env.clock.call_soon(self.pump)
