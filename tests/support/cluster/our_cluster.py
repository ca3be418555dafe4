"""A node in front of a broker of ours, both in memory: the cluster has all RPCs, and nothing takes time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from random import Random
from typing import Final, NamedTuple

from devtools.in_memory.mock_transport import BrokerWorld, MockConnection
from shareq.broker.broker import Broker
from shareq.broker.dispatch.table import HANDLERS
from shareq.broker.foundation.environment import Environment
from shareq.broker.foundation.pending import Pending
from shareq.broker.network.answers import Buffer
from shareq.broker.network.request_limits import RequestLimits
from shareq.broker.topics.endpoint import Endpoint
from shareq.cluster.link.ports import BrokerAddress, Failure, LinkFailure, Purpose
from shareq.cluster.link.versions import Served
from shareq.protocol.api_keys import ApiKey, codec
from shareq.protocol.primitives import Message
from tests.support.cluster.forwarding_world import NODE_ID, ForwardingFolder

LinkAnswer = Pending[Message | LinkFailure]
BROKER: Final = 1
SERVED: Final = Served({key: (row.served.first, row.served.last) for key, row in HANDLERS.items() if not row.own}, {})


class _LinkConnection(MockConnection):
    def __init__(self, world: BrokerWorld, number: int) -> None:
        super().__init__(world, number, "node", RequestLimits())
        self._world = world
        self.waiting: deque[tuple[Message, LinkAnswer]] = deque()

    def write(self, buffers: list[Buffer]) -> None:
        super().write(buffers)
        while self.frames:
            request, answer = self.waiting.popleft()
            response = self.requests.response(self.frames.popleft())
            assert isinstance(response, codec(request.API_KEY).response_class)
            self._world.clock.call_soon(partial(answer.complete, response))


class Sent(NamedTuple):
    purpose: Purpose
    lane: int
    message: Message
    timeout_ms: int | None


class BrokerLink:
    def __init__(self, world: BrokerWorld) -> None:
        self.brokers: Final[Mapping[int, BrokerAddress]] = {BROKER: BrokerAddress("127.0.0.1", 9092)}
        self.sent: list[Sent] = []
        self._world = world
        self._connections: dict[tuple[Purpose, int], _LinkConnection] = {}

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
        assert node in (None, BROKER)
        served = SERVED.versions.get(ApiKey(message.API_KEY), (0, -1))
        version = served[1] if max_version is None else min(served[1], max_version)
        if version < max(served[0], min_version):
            answer.complete(LinkFailure(Failure.UNSUPPORTED, f"no {type(message).__name__} up to {max_version}"))
            return answer
        self.sent.append(Sent(purpose, lane, message, timeout_ms))
        connection = self._connections.get((purpose, lane))
        if connection is None:
            number = 1_000 + len(self._connections)
            connection = self._connections[purpose, lane] = _LinkConnection(self._world, number)
        connection.waiting.append((message, answer))
        connection.send(message, version)
        return answer

    def offers(self, node: int | None, api_key: int) -> int | None:
        return SERVED.versions[ApiKey(api_key)][1]

    def on_lost(self, listener: Callable[[int, Purpose], None]) -> None: ...

    def close(self) -> None: ...


class OurClusterWorld(BrokerWorld):
    """The node; `cluster` is the broker behind it. Share groups are the node's, which keeps them in memory."""

    def __init__(self, properties: Mapping[str, str] | None = None) -> None:
        self.cluster = BrokerWorld({"node.id": str(BROKER)})
        self.link = BrokerLink(self.cluster)
        super().__init__({"node.id": str(NODE_ID), **(properties or {})}, clock=self.cluster.clock)

    def asked(self, key: ApiKey) -> list[Sent]:
        return [sent for sent in self.link.sent if key == sent.message.API_KEY]

    def _boot(self) -> Broker:
        env = Environment(self.clock, Random(self._seed), self.fs)
        ground = ForwardingFolder(env, self.config, self.db, link=self.link, served=SERVED)
        endpoints = {"PLAINTEXT": Endpoint(self.config.node_id, "127.0.0.1", 9092)}
        broker = Broker(env, self.config, ground, endpoints=endpoints)
        broker.start()
        return broker
