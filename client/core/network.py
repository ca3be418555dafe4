"""The brokers of a cluster, by node id: connections that are made when needed and made again when lost.

A broker may have several connections, by purpose: a fetch that waits for records holds up every later request. Times in
milliseconds. A call that may try again does so until its timeout (default.api.timeout.ms).
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Final

from shareq.client.chance import CHANCE
from shareq.client.cluster import Cluster
from shareq.client.config import Address, ClientConfig
from shareq.client.core.connection import Connection, Exchange
from shareq.client.core.ports import Driver
from shareq.client.core.reconnects import DownAddresses
from shareq.client.core.tries import Tries
from shareq.client.errors import BrokerError, ClientError, Disconnected, Unintelligible, Unreachable, understood
from shareq.protocol.errors import ErrorCode, is_retriable
from shareq.protocol.generated.describe_cluster import DescribeClusterResponse
from shareq.protocol.generated.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from shareq.protocol.generated.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from shareq.protocol.primitives import Message

GENERAL: Final = ""
"""The purpose of connections that serve no particular one."""
GROUP: Final = 0
"""FindCoordinator's key type for groups."""
BY_TOPIC_ID: Final = 12
"""The first version of Metadata that accepts topic ids."""
SEVERAL_KEYS: Final = 4
"""The first version of FindCoordinator that accepts a list of keys."""

_Place = tuple[int, str]  # node, purpose


class NetworkCore:
    """Connections to a cluster over a driver. Connections are opened when they are needed; `close` ends all.

    With `once`, a call makes one try only: the caller repeats it.
    """

    def __init__(self, config: ClientConfig, driver: Driver, *, once: bool = False) -> None:
        self.config = config
        self.driver = driver
        self.down = DownAddresses(config)
        self._once = once
        self._cluster = Cluster()
        self._connections: dict[_Place, Connection] = {}
        self._opening: dict[_Place, AbstractAsyncContextManager[object]] = {}
        self._bootstrapping = driver.lock()
        self._failed_at: dict[int, float] = {}
        self._bootstrap_turn = 0
        self._closed = False

    # -- requests

    async def request(
        self,
        node: int | None,
        message: Message,
        *,
        purpose: str = GENERAL,
        timeout_ms: int | None = None,
        min_version: int = 0,
        max_version: int | None = None,
        once: bool = False,
    ) -> Message:
        """Send a request to a broker, None for any, and wait for its answer.

        It is sent again when its connection is lost: only for requests that may be handled twice. Raises Unreachable
        when there is no answer within the timeout, UnsupportedApi, AuthenticationFailed, ConfigError.
        """
        tries = self.tries(timeout_ms, once=once)
        while True:
            try:
                return await self._attempt(node, purpose, message, tries.deadline, min_version, max_version)
            except Unreachable as error:
                await self.wait(tries, error)
            if node is not None:
                with contextlib.suppress(Unreachable):  # a broker that is missed may have moved
                    await self._hear_of_brokers(await self._any(tries.deadline), tries.deadline)

    async def submit(
        self,
        node: int,
        message: Message,
        *,
        purpose: str = GENERAL,
        timeout_ms: int | None = None,
        min_version: int = 0,
        max_version: int | None = None,
        on: Connection | None = None,
    ) -> Exchange:
        """Send a request and do not wait for its answer, which must come within the timeout (request.timeout.ms).

        It is never sent again: share sessions, and the locks taken in them, end with the connection that opened them.

        At most one connection is tried, and none during the pause after a failure: Unreachable is raised soon then.
        With `on`, it is sent on that connection or not at all: Disconnected.
        """
        by = self.deadline(timeout_ms)
        if on is not None and not on.alive():
            raise Disconnected(f"broker {node}: the connection was lost")
        connection = on or await self._connected(node, purpose, by)
        return await connection.send(message, by, min_version, max_version)

    async def request_once(
        self,
        node: int,
        message: Message,
        *,
        purpose: str = GENERAL,
        timeout_ms: int | None = None,
        min_version: int = 0,
        max_version: int | None = None,
    ) -> Message:
        """Send a request as `submit` does, and wait for its answer."""
        return await (
            await self.submit(
                node,
                message,
                purpose=purpose,
                timeout_ms=timeout_ms,
                min_version=min_version,
                max_version=max_version,
            )
        ).answer()

    async def connection(self, node: int, purpose: str = GENERAL, *, timeout_ms: int | None = None) -> Connection:
        """Return an open connection to a broker, opened if need be. Raises the errors of `submit`."""
        return await self._connected(node, purpose, self.deadline(timeout_ms))

    async def any_broker(self, *, timeout_ms: int | None = None) -> int:
        """Return a broker with an open general connection, or the first that can be connected. Raises like `submit`."""
        connection = await self._any(self.deadline(timeout_ms))
        return next(node for (node, _), one in self._connections.items() if one is connection)

    def hear(self, answer: Message) -> None:
        """Learn the brokers from an answer to the caller's own request."""
        match answer:
            case MetadataResponse():
                self._heard(answer)
            case DescribeClusterResponse(brokers=named, endpoint_type=1) if named:  # 2: these are controllers
                self._cluster.set_brokers({row.broker_id: Address(row.host, row.port) for row in named})
            case FindCoordinatorResponse():
                # Versions with one key have no list.
                rows: Sequence[Coordinator | FindCoordinatorResponse] = answer.coordinators or [answer]
                found = {row.node_id: Address(row.host, row.port) for row in rows if row.host and not row.error_code}
                self._cluster.set_brokers({**self._cluster.brokers, **found})

    def know(self, brokers: Mapping[int, Address]) -> None:
        """Set the addresses of all brokers, if they are known from another source than an answer."""
        self._cluster.set_brokers(dict(brokers))

    @property
    def known_brokers(self) -> Mapping[int, Address]:
        """The known brokers by node id. Not to be changed."""
        return self._cluster.brokers

    async def collect(self, exchanges: Sequence[Exchange]) -> None:
        """Wait for all answers, and take each when it comes: a missing one must not make others miss their deadline."""
        await self.driver.collect(exchanges)

    def close(self) -> None:
        """Close all connections, without a message to the brokers. Later calls raise ClientError."""
        self._closed = True
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    # -- time

    def tries(self, timeout_ms: int | None = None, *, once: bool = False) -> Tries:
        """Return the tries of a call within a timeout (default.api.timeout.ms), for `wait`."""
        total_ms = self.config.default_api_timeout_ms if timeout_ms is None else timeout_ms
        return Tries(self.config, total_ms, self.driver.now, once=once or self._once)

    async def wait(self, tries: Tries, error: ClientError) -> None:
        """Pause before the next try. Raises Unreachable, with the last error, at once if no time is left."""
        await self.driver.sleep(tries.failed(error))

    def deadline(self, timeout_ms: int | None = None) -> float:
        """Return when a timeout (request.timeout.ms) that begins now is over, on the driver's clock."""
        return self.driver.now() + (self.config.request_timeout_ms if timeout_ms is None else timeout_ms) / 1000

    def answer_by(self, deadline: float) -> float:
        """Return the deadline for the answer to one of several tries."""
        return min(deadline, self.deadline())

    # -- the cluster

    async def topic_ids(self, names: Collection[str], *, timeout_ms: int | None = None) -> dict[str, bytes]:
        """Return the ids of topics; topics that do not exist are left out.

        Asks for unknown topics; `refresh` asks for all. Raises BrokerError for a topic that may not be seen, and for a
        bad name.
        """
        if unknown := [name for name in names if self._cluster.topic_id(name) is None]:
            await self.refresh(unknown, timeout_ms=timeout_ms)
        found: dict[str, bytes] = {}
        for name in names:
            topic_id, error = self._cluster.topic_id(name), self._cluster.name_error(name)
            if topic_id is not None:
                found[name] = topic_id
            elif error not in (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) and not is_retriable(error):
                raise BrokerError(error, f"topic {name}")
        return found

    async def leader(self, topic_id: bytes, partition: int) -> int | None:
        """Return the broker that leads a partition; None if there is no leader, or no such partition.

        Requests metadata if the leader is unknown, or the metadata old. After an error about a wrong leader, call
        `refresh`.
        """
        await self._freshen(topic_id, partition)
        return self._cluster.leader(topic_id, partition)

    async def partitions(self, topic_id: bytes) -> list[int]:
        """Return the partitions of a topic, ascending, at least one.

        Raise BrokerError if the topic does not exist, or may not be described.
        """
        await self._freshen(topic_id)
        topic = self._cluster.topic(topic_id)
        if topic is None or (topic.error and not topic.partitions):
            error = ErrorCode.UNKNOWN_TOPIC_ID if topic is None else topic.error
            raise BrokerError(error, f"topic {topic.name if topic and topic.name else topic_id.hex()}")
        if not topic.partitions:
            raise Unintelligible(f"topic {topic.name or topic_id.hex()} has no partitions")
        return sorted(topic.partitions)

    async def refresh(
        self, topics: Iterable[str | bytes], *, timeout_ms: int | None = None, create: bool = False
    ) -> None:
        """Ask for topics, by name (str) or id (bytes), and for the brokers. Raises as `request`.

        With `create`, a broker that creates topics on demand may do so.
        """
        wanted = list(topics)
        names = [MetadataRequestTopic(name=name) for name in wanted if isinstance(name, str)]
        ids = [MetadataRequestTopic(topic_id=topic_id, name=None) for topic_id in wanted if isinstance(topic_id, bytes)]
        # Apart: where there are ids, Apache Kafka does not look at names.
        if names or not ids:
            await self._ask_metadata(names, timeout_ms, 0, create)
        if ids:
            await self._ask_metadata(ids, timeout_ms, BY_TOPIC_ID, False)

    async def coordinator(self, group_id: str, *, timeout_ms: int | None = None, once: bool = False) -> int:
        """Return the node of a group's coordinator.

        Raises BrokerError, and the errors of `request`; `once`: try only once.
        """
        known = self._cluster.coordinator(group_id)
        if known is not None:
            return known
        tries = self.tries(timeout_ms, once=once)
        while True:
            answer = await self._find_coordinators([group_id], GROUP, tries.left_ms, once)
            with understood(f"the coordinator of group {group_id}"):
                found = answer.coordinators[0]
            if not found.error_code:
                self._cluster.set_coordinator(group_id, found.node_id, Address(found.host, found.port))
                return found.node_id
            error = BrokerError(found.error_code, f"coordinator of group {group_id}", found.error_message)
            if not is_retriable(found.error_code):
                raise error
            await self.wait(tries, error)

    async def coordinators(
        self, keys: Sequence[str], kind: int = GROUP, *, timeout_ms: int | None = None
    ) -> dict[str, int | BrokerError]:
        """Return the coordinators' nodes, or errors, by key. The result is not cached.

        `kind`: 0 for groups, 1 for transactional ids. Raises as `request`.
        """
        answer = await self._find_coordinators(keys, kind, timeout_ms, False)
        found: dict[str, int | BrokerError] = {}
        for row in answer.coordinators:
            if row.error_code:
                found[row.key] = BrokerError(row.error_code, f"coordinator of {row.key}", row.error_message)
            else:
                self._cluster.learn_broker(row.node_id, Address(row.host, row.port))
                found[row.key] = row.node_id
        return found

    def forget_coordinator(self, group_id: str) -> None:
        """Forget a group's coordinator, after NOT_COORDINATOR or when it cannot be reached."""
        self._cluster.forget_coordinator(group_id)

    async def brokers(self, *, timeout_ms: int | None = None) -> dict[int, Address]:
        """Return all brokers by node id, as one of them reports now. Raises as `request`."""
        await self.refresh([], timeout_ms=timeout_ms)
        return dict(self._cluster.brokers)

    async def controller(self, *, timeout_ms: int | None = None) -> int | None:
        """Return the node that accepts changes of the cluster; None for any.

        Makes one try: after NOT_CONTROLLER, call `refresh`.
        """
        if self._cluster.controller is None:
            await self.refresh([], timeout_ms=timeout_ms)
        return self._cluster.controller

    def topic_name(self, topic_id: bytes) -> str | None:
        """Return the name of a topic; None while it is unknown, so that `refresh` has to ask for it."""
        topic = self._cluster.topic(topic_id)
        return None if topic is None else topic.name

    async def _find_coordinators(
        self, keys: Sequence[str], kind: int, timeout_ms: int | None, once: bool
    ) -> FindCoordinatorResponse:
        request = FindCoordinatorRequest("", kind, list(keys))
        answer = await self.request(None, request, timeout_ms=timeout_ms, min_version=SEVERAL_KEYS, once=once)
        assert isinstance(answer, FindCoordinatorResponse)
        return answer

    async def _ask_metadata(
        self, rows: list[MetadataRequestTopic], timeout_ms: int | None, min_version: int, create: bool
    ) -> None:
        request = MetadataRequest(rows, allow_auto_topic_creation=create)
        self._heard(await self.request(None, request, timeout_ms=timeout_ms, min_version=min_version))

    async def _freshen(self, topic_id: bytes, partition: int | None = None) -> None:
        """Ask for a topic whose data is missing, faulty or old, but not too often."""
        topic = self._cluster.topic(topic_id)
        if topic is not None:
            lacking = topic.error or (partition is not None and self._cluster.leader(topic_id, partition) is None)
            max_age_ms = self.config.retry_backoff_ms if lacking else self.config.metadata_max_age_ms
            if (self.driver.now() - topic.heard_at) * 1000 < max_age_ms:
                return
        try:
            await self.refresh([topic_id])
        except Unreachable:
            if topic is None:
                raise

    async def _hear_of_brokers(self, connection: Connection, deadline: float) -> None:
        request = MetadataRequest([], allow_auto_topic_creation=False)
        self._heard(await (await connection.send(request, self.answer_by(deadline))).answer())

    def _heard(self, answer: Message) -> None:
        assert isinstance(answer, MetadataResponse)
        self._cluster.add(answer, self.driver.now())

    # -- connections

    async def _attempt(
        self, node: int | None, purpose: str, message: Message, deadline: float, lowest: int, highest: int | None
    ) -> Message:
        connection = await (self._any(deadline) if node is None else self._connected(node, purpose, deadline))
        try:
            return await (await connection.send(message, self.answer_by(deadline), lowest, highest)).answer()
        except Disconnected:
            now = self.driver.now()
            self._failed_at |= {at: now for (at, _), one in self._connections.items() if one is connection}
            raise

    async def _any(self, deadline: float) -> Connection:
        """Return the least busy of the open general connections, or the first that can be opened.

        Raises Unreachable.
        """
        self._check_open()
        async with self._bootstrapping:
            general = [one for (_, purpose), one in list(self._connections.items()) if purpose == GENERAL]
            if alive := [one for one in general if one.alive()]:
                return min(alive, key=lambda connection: connection.in_flight)
            found = await self._any_broker(deadline)
            return await self._bootstrap(deadline) if found is None else found

    async def _any_broker(self, deadline: float) -> Connection | None:
        nodes = list(self._cluster.brokers)
        CHANCE.shuffle(nodes)  # not every client at the same broker
        nodes.sort(key=lambda node: self._failed_at.get(node, 0.0))
        for node in nodes:
            try:
                return await self._known(node, GENERAL, deadline)
            except Unreachable:
                self._failed_at[node] = self.driver.now()
        return None

    async def _bootstrap(self, deadline: float) -> Connection:
        failure = Unreachable("no broker can be reached")
        servers = self.config.bootstrap_servers
        for _ in servers:
            address = servers[self._bootstrap_turn % len(servers)]
            try:
                connection = await self._open(address, "", deadline)
                try:
                    await self._hear_of_brokers(connection, deadline)
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
            if (found := await self._any_broker(deadline)) is not None:
                return found
            whys = (self.down.why(one) for one in self._cluster.brokers.values())
            failure = next((Unreachable(why) for why in whys if why is not None), failure)
            self._bootstrap_turn += 1
        raise failure

    async def _connected(self, node: int, purpose: str, deadline: float) -> Connection:
        self._check_open()
        known = self._connections.get((node, purpose))
        if known is not None and known.alive():
            return known
        if node not in self._cluster.brokers:
            anyone = await self._any(deadline)
            if node not in self._cluster.brokers:  # the first contact names the brokers already
                await self._hear_of_brokers(anyone, deadline)
        return await self._known(node, purpose, deadline)

    async def _known(self, node: int, purpose: str, deadline: float) -> Connection:
        """Return a connection to a broker by its known address. Raises Unreachable if the address is unknown."""
        place = node, purpose
        async with self._opening.setdefault(place, self.driver.lock()):
            known = self._connections.get(place)
            if known is not None and known.alive():
                return known
            address = self._cluster.brokers.get(node)
            if address is None:
                raise Unreachable(f"broker {node} is not one of the cluster")
            found = self._connections[place] = await self._open(address, f"broker {node}", deadline)
            return found

    async def _open(self, address: Address, name: str, deadline: float) -> Connection:
        self._check_open()
        self.down.check(address, self.driver.now())
        by = min(deadline, self.driver.now() + self.config.connection_setup_timeout_ms / 1000)
        try:
            connection = await self.driver.open(address, name, by)
        except Unreachable as error:
            self.down.failed(address, self.driver.now(), error)
            raise
        if self._closed:
            connection.close()
            self._check_open()
        self.down.reached(address)
        return connection

    def _check_open(self) -> None:
        if self._closed:
            raise ClientError("the client was closed")
