"""The brokers of a cluster on the running event loop: connections that are made when needed and made again when lost.

A broker may have several connections, by what they are for: a fetch that waits for records holds up all that is sent
behind it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import ssl
from collections.abc import Collection, Iterable
from typing import Final

from shareq.client.aio.connection import Connection
from shareq.client.chance import CHANCE
from shareq.client.cluster import Cluster
from shareq.client.config import Address, ClientConfig
from shareq.client.errors import BrokerError, ClientError, Unintelligible, Unreachable, understood
from shareq.client.network import BY_TOPIC_ID, SEVERAL_KEYS, TELL_AFTER_S, Down, backoff_s
from shareq.client.security.tls import tls_context
from shareq.protocol.errors import ErrorCode, is_retriable
from shareq.protocol.generated.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from shareq.protocol.generated.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from shareq.protocol.primitives import Message

logger = logging.getLogger(__name__)

GENERAL: Final = ""
"""What connections are for that are not for anything in particular."""
_GROUP: Final = 0


class Network:
    """Connections to a cluster. Nothing is opened before it is needed; `close` ends them all, and `wait_closed` waits
    until their sockets are closed.

    Times in milliseconds. A call that may try again does so until its timeout (default: default.api.timeout.ms).
    """

    def __init__(self, config: ClientConfig) -> None:
        self.config = config
        self._cluster = Cluster()
        self._connections: dict[tuple[int, str], Connection] = {}
        self._opening: dict[tuple[int, str], asyncio.Lock] = {}
        self._sockets: set[Connection] = set()  # what has one yet, closed connections among them
        self._bootstrapping = asyncio.Lock()
        self._down: dict[Address, Down] = {}
        self._bootstrap_turn = 0
        self._context: ssl.SSLContext | None = None
        self._closed = False

    @property
    def now(self) -> float:
        """The event loop's clock, in seconds."""
        return asyncio.get_running_loop().time()

    # -- requests

    async def request(
        self,
        node: int | None,
        message: Message,
        *,
        purpose: str = GENERAL,
        timeout_ms: int | None = None,
        min_version: int = 0,
    ) -> Message:
        """Send a request to a broker, None for any, and wait for its answer.

        It is sent again when its connection is lost: only for requests that may be handled twice. Raises Unreachable
        when there is no answer within the timeout, UnsupportedApi, AuthenticationFailed, ConfigError.
        """
        tries = self.tries(timeout_ms)
        while True:
            try:
                connection = await (self._any() if node is None else self.connection(node, purpose))
                return await connection.request(message, min(self._patience_s, tries.left_s), min_version)
            except Unreachable as error:
                await tries.wait(error)
            if node is not None:
                with contextlib.suppress(Unreachable):  # a broker that is missed may have moved
                    await self._hear_of_brokers(await self._any())

    async def request_once(
        self,
        node: int,
        message: Message,
        *,
        purpose: str = GENERAL,
        timeout_ms: int | None = None,
        min_version: int = 0,
    ) -> Message:
        """As `request`, in one try that waits for request.timeout.ms by default. Raises Unreachable soon while the
        broker is left alone after a failure."""
        connection = await self.connection(node, purpose)
        timeout_s = self._patience_s if timeout_ms is None else timeout_ms / 1000
        return await connection.request(message, timeout_s, min_version)

    async def connection(self, node: int, purpose: str = GENERAL) -> Connection:
        """An open connection to a broker, opened if need be. Raises as `request_once`."""
        self._check_open()
        known = self._connections.get((node, purpose))
        if known is not None and known.alive:
            return known
        if node not in self._cluster.brokers:
            await self._hear_of_brokers(await self._any())
        async with self._opening.setdefault((node, purpose), asyncio.Lock()):
            known = self._connections.get((node, purpose))
            if known is not None and known.alive:
                return known
            address = self._cluster.brokers.get(node)
            if address is None:
                raise Unreachable(f"broker {node} is not one of the cluster")
            found = await self._open(address, f"broker {node}")
            self._connections[node, purpose] = found
            return found

    def tries(self, timeout_ms: int | None = None) -> Tries:
        """For a call that tries several times within a timeout (default.api.timeout.ms)."""
        return Tries(self.config, self.config.default_api_timeout_ms if timeout_ms is None else timeout_ms)

    def close(self) -> None:
        """End all connections. Nothing is sent. Calls after it raise ClientError."""
        self._closed = True
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    async def wait_closed(self) -> None:
        """Return when nothing of the network is open any more: a second or so after `close` at the latest."""
        while self._sockets:
            await asyncio.gather(*(connection.wait_closed() for connection in self._sockets))

    # -- the cluster

    async def topic_ids(self, names: Collection[str]) -> dict[str, bytes]:
        """The ids of topics; a topic that does not exist (yet) is left out.

        Asks for what it does not know; `refresh` asks again. Raises BrokerError for a topic that may not be seen, and
        for a bad name.
        """
        if unknown := [name for name in names if self._cluster.topic_id(name) is None]:
            await self.refresh(unknown)
        found: dict[str, bytes] = {}
        for name in names:
            topic_id, error = self._cluster.topic_id(name), self._cluster.name_error(name)
            if topic_id is not None:
                found[name] = topic_id
            elif error not in (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) and not is_retriable(error):
                raise BrokerError(error, f"topic {name}")
        return found

    async def leader(self, topic_id: bytes, partition: int) -> int | None:
        """The broker that leads a partition; None if none does now, or there is no such partition.

        Asks when nothing is known, or what is known is old. After an error that names a wrong leader: `refresh`.
        """
        await self._freshen(topic_id, partition)
        return self._cluster.leader(topic_id, partition)

    async def partitions(self, topic_id: bytes) -> list[int]:
        """The partitions of a topic, at least one. BrokerError if there is no such topic, or it may not be seen."""
        await self._freshen(topic_id)
        topic = self._cluster.topic(topic_id)
        if topic is None or (topic.error and not topic.partitions):
            error = ErrorCode.UNKNOWN_TOPIC_ID if topic is None else topic.error
            raise BrokerError(error, f"topic {topic.name if topic and topic.name else topic_id.hex()}")
        if not topic.partitions:
            raise Unintelligible(f"topic {topic.name or topic_id.hex()} has no partitions")
        return sorted(topic.partitions)

    async def refresh(self, topics: Iterable[str | bytes], *, create: bool = False) -> None:
        """Ask for topics, by name (str) or id (bytes), and for the brokers. Raises as `request`.

        With `create`, a broker that creates topics on demand may do so.
        """
        wanted = list(topics)
        names = [MetadataRequestTopic(name=name) for name in wanted if isinstance(name, str)]
        ids = [MetadataRequestTopic(topic_id=topic_id, name=None) for topic_id in wanted if isinstance(topic_id, bytes)]
        # Apart: where there are ids, Apache Kafka does not look at names.
        if names or not ids:
            await self._ask_metadata(names, 0, create)
        if ids:
            await self._ask_metadata(ids, BY_TOPIC_ID, False)

    async def coordinator(self, group_id: str, *, once: bool = False) -> int:
        """The node of a group's coordinator. Raises BrokerError, and as `request`; `once`: as `request_once`."""
        known = self._cluster.coordinator(group_id)
        if known is not None:
            return known
        tries = self.tries()
        request = FindCoordinatorRequest("", _GROUP, [group_id])
        while True:
            if once:
                answer = await (await self._any()).request(request, self._patience_s, SEVERAL_KEYS)
            else:
                answer = await self.request(None, request, min_version=SEVERAL_KEYS)
            assert isinstance(answer, FindCoordinatorResponse)
            with understood(f"the coordinator of group {group_id}"):
                found = answer.coordinators[0]
            if not found.error_code:
                self._cluster.set_coordinator(group_id, found.node_id, Address(found.host, found.port))
                return found.node_id
            error = BrokerError(found.error_code, f"coordinator of group {group_id}", found.error_message)
            if once or not is_retriable(found.error_code):
                raise error
            await tries.wait(error)

    def forget_coordinator(self, group_id: str) -> None:
        """After NOT_COORDINATOR, or when it cannot be reached: ask for it again."""
        self._cluster.forget_coordinator(group_id)

    async def _ask_metadata(self, rows: list[MetadataRequestTopic], min_version: int, create: bool) -> None:
        request = MetadataRequest(rows, allow_auto_topic_creation=create)
        answer = await self.request(None, request, min_version=min_version)
        assert isinstance(answer, MetadataResponse)
        self._cluster.add(answer, self.now)

    async def _freshen(self, topic_id: bytes, partition: int | None = None) -> None:
        topic = self._cluster.topic(topic_id)
        if topic is not None:
            lacking = topic.error or (partition is not None and self._cluster.leader(topic_id, partition) is None)
            max_age_ms = self.config.retry_backoff_ms if lacking else self.config.metadata_max_age_ms
            if (self.now - topic.heard_at) * 1000 < max_age_ms:
                return
        try:
            await self.refresh([topic_id])
        except Unreachable:
            if topic is None:
                raise

    # -- connections

    @property
    def _patience_s(self) -> float:
        return self.config.request_timeout_ms / 1000

    async def _any(self) -> Connection:
        """The least busy of the open general connections, or the first that can be opened. Raises Unreachable."""
        self._check_open()
        async with self._bootstrapping:
            alive = [one for (_, purpose), one in self._connections.items() if one.alive and purpose == GENERAL]
            if alive:
                return min(alive, key=lambda connection: connection.in_flight)
            found = await self._any_broker()
            return await self._bootstrap() if found is None else found

    async def _any_broker(self) -> Connection | None:
        nodes = list(self._cluster.brokers)
        CHANCE.shuffle(nodes)  # not every client at the same broker
        for node in nodes:
            with contextlib.suppress(Unreachable):
                return await self.connection(node)
        return None

    async def _bootstrap(self) -> Connection:
        failure = Unreachable("no broker can be reached")
        servers = self.config.bootstrap_servers
        for _ in servers:
            address = servers[self._bootstrap_turn % len(servers)]
            try:
                connection = await self._open(address, "")
                try:
                    await self._hear_of_brokers(connection)
                except BaseException:  # also a call that is cancelled: nothing else knows of the connection
                    connection.close()
                    raise
            except Unreachable as error:
                failure = error
                self._bootstrap_turn += 1
                continue
            for node, advertised in self._cluster.brokers.items():
                if advertised == address:
                    self._connections[node, GENERAL] = connection
                    return connection
            connection.close()
            if (found := await self._any_broker()) is not None:
                return found
            whys = [self._down[one].why for one in self._cluster.brokers.values() if one in self._down]
            failure = Unreachable(whys[0]) if whys else failure
        raise failure

    async def _hear_of_brokers(self, connection: Connection) -> None:
        answer = await connection.request(MetadataRequest([], allow_auto_topic_creation=False), self._patience_s)
        assert isinstance(answer, MetadataResponse)
        self._cluster.add(answer, self.now)

    async def _open(self, address: Address, name: str) -> Connection:
        self._check_open()
        down = self._down.get(address)
        if down is not None and self.now < down.until:
            raise Unreachable(down.why)
        if self._context is None and self.config.tls is not None:
            self._context = tls_context(self.config.tls)
        try:
            connection = await Connection.open(address, name, self.config, self._context, self._sockets)
        except Unreachable as error:
            failures = 1 if down is None else down.failures + 1
            first, most = self.config.reconnect_backoff_ms, self.config.reconnect_backoff_max_ms
            self._down[address] = Down(failures, self.now + backoff_s(first, most, failures), str(error))
            raise
        if self._closed:
            connection.close()
            self._check_open()
        self._down.pop(address, None)
        return connection

    def _check_open(self) -> None:
        if self._closed:
            raise ClientError("the client was closed")


class Tries:
    """One call's tries: the time it has, and the pauses in between, which grow."""

    def __init__(self, config: ClientConfig, total_ms: int) -> None:
        self._config = config
        self._total_ms = total_ms
        self._clock = asyncio.get_running_loop().time
        self._failures = 0
        self._tell_at = self._clock() + TELL_AFTER_S
        self._deadline = self._clock() + total_ms / 1000

    @property
    def left_s(self) -> float:
        """How much of the time is left. At least a millisecond."""
        return max(0.001, self._deadline - self._clock())

    async def wait(self, error: ClientError) -> None:
        """Before the next try. Raises Unreachable, with what the last try failed of, when there is no time for one."""
        self._failures += 1
        pause = backoff_s(self._config.retry_backoff_ms, self._config.retry_backoff_max_ms, self._failures)
        left = self._deadline - self._clock()
        if left <= pause:
            raise Unreachable(f"{error}; given up after {self._total_ms} ms") from None
        await asyncio.sleep(pause)
        if self._clock() >= self._tell_at:
            self._tell_at = self._deadline
            logger.warning("%s; trying again for %d s", error, round(self.left_s))
