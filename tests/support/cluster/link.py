"""`Link` to the simulated cluster: connections for each broker and purpose, timeouts, losses, on virtual time.

Messages pass through their codecs in the negotiated version, so fields that it lacks are lost. A timeout closes its
connection, as in Kafka's own clients; the broker may still receive what was sent, even later.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shareq.broker.foundation.environment import TimerHandle
from shareq.broker.foundation.pending import Pending
from shareq.cluster.link.ports import BrokerAddress, Failure, LinkFailure, Purpose
from shareq.protocol.api_keys import ApiKey, codec
from shareq.protocol.generated.describe_cluster import DescribeClusterResponse
from shareq.protocol.generated.find_coordinator import FindCoordinatorResponse
from shareq.protocol.generated.metadata import MetadataResponse
from shareq.protocol.generated.produce import ProduceRequest
from shareq.protocol.primitives import Message
from tests.support.cluster.faults import Direction
from tests.support.cluster.wire import Endpoint, Pipe

if TYPE_CHECKING:
    from tests.support.cluster.cluster import SimulatedCluster

LinkAnswer = Pending[Message | LinkFailure]


@dataclass(slots=True, eq=False)
class _Request:
    message: Message
    min_version: int
    max_version: int | None
    answer: LinkAnswer
    timer: TimerHandle | None = None
    version: int = -1


class Connection:
    """One connection from its opening to its end. `on_end` is called once, with whether it was open."""

    def __init__(self, link: SimulatedLink, broker: int, purpose: Purpose, on_end: Callable[[bool], None]) -> None:
        self._link = link
        self._cluster = link.cluster
        self._broker, self._purpose, self._on_end = broker, purpose, on_end
        self._waiting: deque[_Request] = deque()
        self._sent: deque[_Request] = deque()
        self._is_open = False
        self.ended = False
        self._out = Pipe(self._cluster, link.name, broker, Direction.TO_BROKER)
        self._back = Pipe(self._cluster, link.name, broker, Direction.TO_NODE)
        self._endpoint = Endpoint(
            self._cluster,
            link.name,
            broker,
            on_answer=lambda data: self._back.put(lambda: self._arrived(data)),
            on_closed=lambda: self._back.put(lambda: self.end("closed the connection")),
        )
        self._cluster.connected(self)
        self._out.put(self._knock)

    @property
    def broker(self) -> int:
        return self._broker

    @property
    def is_over(self) -> bool:
        """Return whether nothing of the connection is left, on its way or in the broker's socket."""
        return self.ended and self._out.is_empty and self._endpoint.is_idle

    # -- the broker's end

    def _knock(self) -> None:
        if self._cluster.is_dead(self._broker):
            self._back.put(lambda: self.end("refused the connection"))
        else:
            self._endpoint.take(None)

    def pump(self) -> None:
        self._endpoint.pump()
        self._out.pump()
        self._back.pump()

    def broker_died(self) -> None:
        self._endpoint.close()
        self._back.put(lambda: self.end("was reset"))

    # -- the node's end

    def send(self, request: _Request, timeout_ms: int) -> None:
        clock = self._cluster.env.clock
        request.timer = clock.call_at(clock.now_ms() + timeout_ms, lambda: self._too_late(request))
        if self._is_open:
            self._write(request)
        else:
            self._waiting.append(request)

    def _write(self, request: _Request) -> None:
        api = ApiKey(request.message.API_KEY)
        version = self._link.version(self._broker, api, request.min_version, request.max_version)
        if version is None:
            text = f"broker {self._broker} has no {api.name} in the versions asked for"
            self._finish(request, LinkFailure(Failure.UNSUPPORTED, text))
            return
        request.version = version
        data = request.message.encode(version)
        if isinstance(request.message, ProduceRequest) and request.message.acks == 0:
            raise ValueError("acks=0 has no answer, and every request of a link has one")
        self._sent.append(request)
        self._out.put(lambda: self._endpoint.take((api, version, data)))

    def _arrived(self, data: bytes | None) -> None:
        if self.ended:
            return
        if data is None:
            self._is_open = True
            self._link.heard_versions(self._broker)
            while self._waiting:
                self._write(self._waiting.popleft())
            return
        request = self._sent.popleft()
        message, _ = codec(request.message.API_KEY).response_class.decode(data, request.version, 0)
        self._link.learn(message)
        self._finish(request, message)

    def _too_late(self, request: _Request) -> None:
        if request in self._waiting:
            self._waiting.remove(request)
            self._finish(request, LinkFailure(Failure.NOT_SENT, f"broker {self._broker} cannot be reached in time"))
        elif request in self._sent:
            self.end("did not answer in time")

    @staticmethod
    def _finish(request: _Request, answer: Message | LinkFailure) -> None:
        if request.timer is not None:
            request.timer.cancel()
        request.answer.complete(answer)

    def end(self, reason: str) -> None:
        """End the connection. Requests already sent may still be handled, so they fail as lost; the others do not."""
        if self.ended:
            return
        self.ended = True
        self._out.put(self._endpoint.left)
        text = f"broker {self._broker} {reason}"
        sent, waiting = list(self._sent), list(self._waiting)
        self._sent.clear()
        self._waiting.clear()
        self._on_end(self._is_open)
        for request in sent:
            self._finish(request, LinkFailure(Failure.LOST, text))
        for request in waiting:
            self._finish(request, LinkFailure(Failure.NOT_SENT, text))


class SimulatedLink:
    """The `Link` of one node, which faults know by `name`. `bootstrap`: ids of the brokers it knows at first."""

    def __init__(
        self, cluster: SimulatedCluster, name: str, bootstrap: tuple[int, ...], request_timeout_ms: int = 30_000
    ) -> None:
        self.cluster = cluster
        self.name = name
        self._bootstrap = bootstrap
        self._timeout_ms = request_timeout_ms
        self._brokers: dict[int, BrokerAddress] = {}
        self._offered: dict[int, Mapping[ApiKey, tuple[int, int]]] = {}
        self._connections: dict[tuple[int, Purpose, int], Connection] = {}
        self._on_lost: list[Callable[[int, Purpose], None]] = []
        self._any = 0
        self._closed = False

    @property
    def brokers(self) -> Mapping[int, BrokerAddress]:
        return self._brokers

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
    ) -> LinkAnswer:
        answer: LinkAnswer = Pending()
        if self._closed:
            return self._refused(answer, "the link is closed")
        broker = self._some_broker(purpose) if node is None else node
        if broker not in self._brokers and node is not None:
            return self._refused(answer, f"no broker {node} is known")
        request = _Request(message, min_version, max_version, answer)
        self._connection(broker, purpose, lane).send(request, self._timeout_ms if timeout_ms is None else timeout_ms)
        return answer

    def _refused(self, answer: LinkAnswer, text: str) -> LinkAnswer:
        failure = LinkFailure(Failure.NOT_SENT, text)
        self.cluster.env.clock.call_soon(lambda: answer.complete(failure))
        return answer

    def _some_broker(self, purpose: Purpose) -> int:
        """Return a broker with an open connection, otherwise the next in turn."""
        for (broker, used_for, _), connection in self._connections.items():
            if used_for is purpose and not connection.ended:
                return broker
        candidates = sorted(self._brokers) or list(self._bootstrap)
        self._any += 1
        return candidates[(self._any - 1) % len(candidates)]

    def _connection(self, broker: int, purpose: Purpose, lane: int) -> Connection:
        found = self._connections.get((broker, purpose, lane))
        if found is None or found.ended:
            connection = Connection(
                self, broker, purpose, lambda was_open: self._ended(broker, purpose, lane, was_open)
            )
            self._connections[broker, purpose, lane] = found = connection
        return found

    def _ended(self, broker: int, purpose: Purpose, lane: int, was_open: bool) -> None:
        del self._connections[broker, purpose, lane]
        if was_open and not self._closed:
            for listener in list(self._on_lost):
                listener(broker, purpose)

    def offers(self, node: int | None, api_key: int) -> int | None:
        broker = next(iter(self._offered), None) if node is None else node
        offered = self._offered.get(broker, {}) if broker is not None else {}
        versions = offered.get(ApiKey(api_key))
        return None if versions is None else min(versions[1], _newest(api_key))

    def on_lost(self, listener: Callable[[int, Purpose], None]) -> None:
        self._on_lost.append(listener)

    def close(self) -> None:
        self._closed = True
        for connection in list(self._connections.values()):
            connection.end("is not asked any more: the link was closed")

    def know(self, brokers: Mapping[int, BrokerAddress]) -> None:
        self._brokers.update(brokers)

    # -- for its connections

    def heard_versions(self, broker: int) -> None:
        self._offered[broker] = self.cluster.settings.release.apis

    def version(self, broker: int, api: ApiKey, lowest: int, highest: int | None) -> int | None:
        offered = self._offered[broker].get(api)
        if offered is None:
            return None
        newest = min(offered[1], _newest(api), *(() if highest is None else (highest,)))
        return newest if newest >= max(lowest, offered[0], codec(api).min_version) else None

    def learn(self, answer: Message) -> None:
        match answer:
            case MetadataResponse():
                rows = [(each.node_id, each.host, each.port) for each in answer.brokers]
            case DescribeClusterResponse():
                rows = [(each.broker_id, each.host, each.port) for each in answer.brokers]
            case FindCoordinatorResponse():
                rows = [(answer.node_id, answer.host, answer.port)] if answer.host else []
                rows += [(each.node_id, each.host, each.port) for each in answer.coordinators if each.host]
            case _:
                return
        self.know({node: BrokerAddress(host, port) for node, host, port in rows})


def _newest(api_key: int) -> int:
    known = codec(api_key)
    return known.max_version - known.latest_version_unstable
