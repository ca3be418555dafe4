"""The link on asyncio, over the connections of our client: these handle TLS, logins, deadlines and pipelining.

    send ---> lane of (node, purpose, number) ---> open, reads, login valid: written in this call, without a task
                      |
                      +-- else it waits in the lane, whose task opens a connection, or waits for the peer, and sends

A lane's requests leave in the order of calls. When its connection ends, all that it holds fail, in order.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from shareq.broker.foundation.loop.coroutines import result_of
from shareq.broker.foundation.pending import Pending
from shareq.client.aio.network import Network
from shareq.client.config import Address, ClientConfig
from shareq.client.core.connection import TOO_LATE, Connection, Exchange
from shareq.client.core.network import GENERAL
from shareq.client.errors import AuthenticationFailed, ClientError, Disconnected, UnsupportedApi
from shareq.cluster.link.ports import BrokerAddress, Failure, LinkFailure, Purpose
from shareq.cluster.link.versions import newest_of
from shareq.protocol.generated.describe_cluster import DescribeClusterResponse
from shareq.protocol.generated.find_coordinator import FindCoordinatorResponse
from shareq.protocol.generated.metadata import MetadataResponse
from shareq.protocol.primitives import Message, UnencodableMessage

logger = logging.getLogger(__name__)

T = TypeVar("T")

_NAMES_BROKERS: Final = frozenset({MetadataResponse, DescribeClusterResponse, FindCoordinatorResponse})
SENT_TOGETHER: Final = 64
"""The most waiting requests that are sent in one turn of the loop."""

_CLOSED: Final = LinkFailure(Failure.NOT_SENT, "the link was closed")
_Outcome = Message | LinkFailure


async def arrived(pending: Pending[T]) -> T:
    """Wait for a `Pending` in a task of the running loop; return its value."""
    future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
    pending.on_complete(lambda value: None if future.done() else future.set_result(value))
    return await future


class NetworkLink:
    """The `Link` to a cluster, on the running event loop. `close` ends it; `wait_closed` waits until its sockets are
    closed.
    """

    def __init__(self, config: ClientConfig) -> None:
        self.network: Final = Network(config)
        self.loop: Final = asyncio.get_running_loop()
        self.offered: Final[dict[int, Mapping[int, tuple[int, int]]]] = {}
        """The versions that each broker was heard to serve, by node id."""
        self.closed = False
        self._timeout_s: Final = config.request_timeout_ms / 1000
        self._lanes: dict[tuple[int | None, Purpose, int], _Lane] = {}
        self._listeners: list[Callable[[int, Purpose], None]] = []

    @property
    def brokers(self) -> Mapping[int, BrokerAddress]:
        """The addresses of the known brokers, by node id."""
        return {node: BrokerAddress(*address) for node, address in self.network.known_brokers.items()}

    def send(
        self,
        node: int | None,
        message: Message,
        *,
        purpose: Purpose = Purpose.GENERAL,
        timeout_ms: int | None = None,
        min_version: int = 0,
        max_version: int | None = None,
        lane: int = 0,
    ) -> Pending[_Outcome]:
        """Send a request to a broker; None as `node`: to the least busy connected one, or to any if none is
        connected.
        """
        by = self.loop.time() + (self._timeout_s if timeout_ms is None else timeout_ms / 1000)
        request = _Request(self, message, by, min_version, max_version)
        if self.closed:
            request.end(_CLOSED)
        else:
            (self.lane(node, purpose, lane) if node is not None else self._any_lane(purpose)).add(request)
        return request.answer

    def know(self, nodes: Mapping[int, BrokerAddress]) -> None:
        """Set the addresses of all brokers, instead of learning them from answers."""
        self.network.know({node: Address(*address) for node, address in nodes.items()})

    def offers(self, node: int | None, api_key: int) -> int | None:
        """Return the highest version of an API that both a broker and this release serve, or None. None as `node`: that
        all known brokers serve.
        """
        if node is not None:
            return newest_of(api_key, self.offered.get(node, {}))
        versions = [newest_of(api_key, offered) for offered in self.offered.values()]
        known = [version for version in versions if version is not None]
        return min(known) if known and len(known) == len(versions) else None

    def on_lost(self, listener: Callable[[int, Purpose], None]) -> None:
        self._listeners.append(listener)

    def close(self) -> None:
        """End all connections."""
        self.closed = True
        self.network.close()
        for lane in list(self._lanes.values()):
            lane.close()

    async def wait_closed(self) -> None:
        """Wait until no socket of the closed link is open; this takes about a second at most."""
        await self.network.wait_closed()

    # -- for lanes

    def lane(self, node: int | None, purpose: Purpose, number: int = 0) -> _Lane:
        """Return the lane of a broker and purpose; None as `node`: the lane of requests for any broker."""
        lane = self._lanes.get((node, purpose, number))
        if lane is None:
            lane = self._lanes[node, purpose, number] = _Lane(self, node, purpose, number)
        return lane

    def lost(self, node: int, purpose: Purpose) -> None:
        """Notify the listeners of a lost connection, unless the link was closed."""
        if not self.closed:
            for listener in self._listeners:
                _guarded(listener, node, purpose)

    def _any_lane(self, purpose: Purpose) -> _Lane:
        lanes = [lane for (_, for_what, _), lane in self._lanes.items() if for_what is purpose and lane.is_open]
        return min(lanes, key=lambda lane: len(lane.in_flight)) if lanes else self.lane(None, purpose)


class _Request:
    """A request until its answer comes. It is the `Waiter` of the client's exchange, which hands it the answer."""

    __slots__ = ("answer", "by", "exchange", "highest", "lane", "link", "lowest", "message")

    def __init__(self, link: NetworkLink, message: Message, by: float, lowest: int, highest: int | None) -> None:
        self.link = link
        self.message = message
        self.by = by
        self.lowest = lowest
        self.highest = highest
        self.lane: _Lane | None = None  # that sent it
        self.exchange: Exchange | None = None
        self.answer: Pending[_Outcome] = Pending()

    @property
    def name(self) -> str:
        """The request's name in logs and errors."""
        return type(self.message).__name__.removesuffix("Request")

    def end(self, outcome: _Outcome) -> None:
        """Complete the caller's `Pending` with the answer or the failure. An exception of the caller is logged, so that
        it ends no connection.
        """
        _guarded(self.answer.complete, outcome)

    # -- what its exchange calls

    def done(self) -> bool:
        """Return True if the request has an outcome already, because its lane has failed."""
        return self.answer.done

    def set_result(self, _: None, /) -> None:
        """Accept the answer to the oldest request in flight, which is this one."""
        lane, exchange = self.lane, self.exchange
        outcome = None if exchange is None else exchange.outcome
        assert lane is not None
        assert isinstance(outcome, Message), "a lane that is lost fails its requests itself"
        lane.in_flight.popleft()
        if type(outcome) in _NAMES_BROKERS:
            self.link.network.hear(outcome)
        self.end(outcome)


class _Lane:
    """The requests to one broker for one purpose. They share a connection, which is replaced after it is lost.

    The lane of requests for any broker has no connection: its requests move to the lane of the first broker that is
    reached.
    """

    def __init__(self, link: NetworkLink, node: int | None, purpose: Purpose, number: int) -> None:
        self._link = link
        self._node = node
        self._purpose = purpose
        self._name = GENERAL if purpose is Purpose.GENERAL and not number else f"{purpose.value}-{number}"
        self._connection: Connection | None = None
        self._waiting: deque[_Request] = deque()
        self.in_flight: deque[_Request] = deque()
        self._task: asyncio.Task[None] | None = None  # that sends what waits
        self._timer: asyncio.TimerHandle | None = None  # at the first deadline of all, or earlier

    @property
    def is_open(self) -> bool:
        """True while there is a connection."""
        return self._connection is not None

    def add(self, request: _Request) -> None:
        """Send a request at once, or after those that wait already."""
        request.lane = self
        timer = self._timer
        if timer is None or request.by < timer.when():
            self._set_timer(request.by)
        connection = self._connection
        if connection is not None and not self._waiting and connection.is_ready:
            self._send(request, connection)
            return
        self._waiting.append(request)
        if self._task is None:
            self._task = self._link.loop.create_task(self._send_waiting())

    def close(self) -> None:
        """Fail waiting requests. Sent ones have failed when the connection was closed."""
        if self._task is not None:
            self._task.cancel()
        if self._timer is not None:
            self._timer.cancel()
        self._refuse_waiting(_CLOSED)

    # -- sending

    def _send(self, request: _Request, connection: Connection) -> None:
        message = request.message
        self.in_flight.append(request)
        try:
            exchange = result_of(connection.send(message, request.by, request.lowest, request.highest))
        except Disconnected:
            return  # it has failed with the lane
        except (UnsupportedApi, UnencodableMessage) as error:
            self.in_flight.pop()
            request.end(LinkFailure(Failure.UNSUPPORTED, f"{error} ({request.name})"))
            return
        request.exchange = exchange
        exchange.waiters.append(request)

    async def _send_waiting(self) -> None:
        try:
            while self._waiting:
                if self._node is None:
                    await self._hand_over()
                elif (connection := self._connection) is None:
                    await self._open(self._node)
                elif connection.is_ready:
                    self._send_some(connection)
                    await asyncio.sleep(0)
                else:
                    await _ready(connection, self._waiting[0].by)
            self._task = None
        except ClientError as error:
            self._task = None  # before anything is asked for again: that gets a task of its own, behind others' turns
            self._refuse_waiting(_not_sent(error))
        except Exception as error:
            self._task = None
            logger.exception("%s: what waits cannot be sent", self)
            self._refuse_waiting(LinkFailure(Failure.NOT_SENT, f"{error}"))

    def _send_some(self, connection: Connection) -> None:
        for _ in range(SENT_TOGETHER):
            if not self._waiting or not connection.is_ready:
                return
            self._send(self._waiting.popleft(), connection)

    async def _hand_over(self) -> None:
        node = await self._link.network.any_broker()
        lane = self._link.lane(node, self._purpose)
        while self._waiting:
            lane.add(self._waiting.popleft())

    async def _open(self, node: int) -> None:
        connection = await self._link.network.connection(node, self._name)
        if connection.closed is not None:
            raise connection.closed
        self._link.offered[node] = connection.offered
        self._connection = connection
        connection.on_closed = self._lost

    # -- ends

    def _lost(self, error: ClientError) -> None:
        """Fail all sent requests, then all unsent ones."""
        failure = Failure.REFUSED if isinstance(error, AuthenticationFailed) else Failure.LOST
        sent, self.in_flight = self.in_flight, deque()
        waiting, self._waiting = self._waiting, deque()
        self._connection = None
        for request in sent:
            request.end(LinkFailure(failure, f"{error} (during {request.name})"))
        for request in waiting:
            request.end(LinkFailure(Failure.NOT_SENT, f"{error} (before {request.name})"))
        assert self._node is not None
        self._link.lost(self._node, self._purpose)

    def _refuse_waiting(self, failure: LinkFailure) -> None:
        waiting, self._waiting = self._waiting, deque()
        for request in waiting:
            request.end(LinkFailure(failure.failure, f"{failure.text} (before {request.name})"))

    # -- deadlines

    def _set_timer(self, when: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._link.loop.call_at(when, self._look_at_deadlines)

    def _look_at_deadlines(self) -> None:
        """Fail late requests. A late request that was sent closes its connection, on which the answer could still
        arrive.
        """
        self._timer = None
        now = self._link.loop.time()
        late = [request for request in self._waiting if request.by <= now]
        for request in late:
            self._waiting.remove(request)
        if self._connection is not None and any(request.by <= now for request in self.in_flight):
            self._connection.close(TOO_LATE)
        for request in late:
            request.end(LinkFailure(Failure.NOT_SENT, f"{self} was not reached in time (before {request.name})"))
        deadlines = [request.by for requests in (self.in_flight, self._waiting) for request in requests]
        if deadlines and not self._link.closed:
            self._set_timer(min(deadlines))

    def __str__(self) -> str:
        return "a broker" if self._node is None else f"broker {self._node}"


async def _ready(connection: Connection, by: float) -> None:
    """Wait until a connection accepts requests. Raises the error of a failed login; a closed connection is left for the
    lane to notice.
    """
    with contextlib.suppress(Disconnected):
        await connection.ready(by)


def _not_sent(error: ClientError) -> LinkFailure:
    match error:
        case AuthenticationFailed():
            return LinkFailure(Failure.REFUSED, str(error))
        case UnsupportedApi():
            return LinkFailure(Failure.UNSUPPORTED, str(error))
        case _:
            return LinkFailure(Failure.NOT_SENT, str(error))


def _guarded(call: Callable[..., None], *arguments: object) -> None:
    """Call a listener and log its exception, so that a fault of another part ends no connection."""
    try:
        call(*arguments)
    except Exception:
        logger.exception("what waited for the cluster failed")
