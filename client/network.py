"""The brokers of a cluster, by node id: connections that are made when needed and made again when lost.

One thread at a time: a caller that shares a `Network` between threads holds a lock around every call, results included.
"""

from __future__ import annotations

import contextlib
import logging
import selectors
import ssl
import time
from collections.abc import Callable, Collection, Iterable, Sequence, Set
from typing import NamedTuple

from shareq.client.chance import CHANCE
from shareq.client.cluster import Cluster
from shareq.client.config import Address, ClientConfig
from shareq.client.connection import Clock, Connection, Exchange, open_connection
from shareq.client.errors import BrokerError, ClientError, Disconnected, Unintelligible, Unreachable, understood
from shareq.client.security.tls import tls_context
from shareq.protocol.errors import ErrorCode, is_retriable
from shareq.protocol.generated.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from shareq.protocol.generated.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from shareq.protocol.primitives import Message

__all__ = ["Exchange", "Network", "Tries"]

logger = logging.getLogger(__name__)

TELL_AFTER_S = 5
"""A restart of a broker is over by then; a user who waits for longer wants to know what for."""
_GROUP = 0
BY_TOPIC_ID = 12
"""The first version of Metadata that can be asked by topic id."""
SEVERAL_KEYS = 4
"""The first version of FindCoordinator with a list of keys."""


class Down(NamedTuple):
    """An address that failed: how often in a row, when it may be tried again, and why."""

    failures: int
    until: float
    why: str


class Network:
    """Connections to a cluster. Nothing is opened before it is needed; `close` ends them all.

    Times in milliseconds. A call that may try again does so until its timeout (default: default.api.timeout.ms).
    Without `tries_again` it does not: the caller has better things to do in between. `clock` is in seconds, `sleep`
    waits for some.
    """

    def __init__(
        self,
        config: ClientConfig,
        *,
        tries_again: bool = True,
        clock: Clock = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.config = config
        self._tries_again = tries_again
        self._clock = clock
        self._sleep = sleep
        self._cluster = Cluster()
        self._connections: dict[int, Connection] = {}
        self._epochs: dict[int, int] = {}
        self._down: dict[Address, Down] = {}
        self._failed_at: dict[int, float] = {}
        self._bootstrap_turn = 0
        self._context: ssl.SSLContext | None = None
        self._closed = False

    # -- requests

    def request(
        self,
        node: int | None,
        message: Message,
        *,
        timeout_ms: int | None = None,
        min_version: int = 0,
        max_version: int | None = None,
    ) -> Message:
        """Send a request to a broker, None for any, and wait for its answer.

        It is sent again when its connection is lost: only for requests that may be handled twice. Raises Unreachable
        when there is no answer within the timeout, UnsupportedApi, AuthenticationFailed, ConfigError.
        """
        tries = self.tries(timeout_ms)
        while True:
            try:
                return self._attempt(node, message, tries.deadline, min_version, max_version)
            except Unreachable as error:
                tries.wait(error)
            if node is not None:
                self._look_around(tries.deadline)

    def submit(
        self,
        node: int,
        message: Message,
        *,
        timeout_ms: int | None = None,
        min_version: int = 0,
        max_version: int | None = None,
        epoch: int | None = None,
    ) -> Exchange:
        """Send a request and do not wait for its answer, which must come within the timeout (request.timeout.ms).

        At most one connection is tried, and none while the broker is being left alone after a failure: Unreachable
        comes soon then. With `epoch`, it is sent on that connection (`connection_epoch`) or not at all: Disconnected.
        """
        deadline = self._deadline(timeout_ms)
        if epoch is None:
            connection = self._connected(node, deadline)
        else:
            known = self._connections.get(node)
            if known is None or epoch != self._epochs[node] or not known.alive():
                raise Disconnected(f"broker {node}: the connection was lost")
            connection = known
        return connection.submit(message, deadline, min_version, max_version)

    def collect(self, exchanges: Sequence[Exchange]) -> None:
        """Wait for the answers of all, and take each when it comes: one that stays out costs no other its deadline."""
        while waiting := [exchange for exchange in exchanges if not exchange.done]:
            first = min(waiting, key=lambda exchange: exchange.deadline)
            heard = _heard({exchange.connection for exchange in waiting}, first.deadline - self._clock())
            for connection in heard:
                connection.receive_one()
            if not heard:
                first.give_up()

    def connect(self, node: int, *, timeout_ms: int | None = None) -> int:
        """Make sure there is a connection to a broker, and return its epoch. Raises as `submit`."""
        self._connected(node, self._deadline(timeout_ms))
        return self._epochs[node]

    def connection_epoch(self, node: int) -> int:
        """How many connections to a broker were opened so far: what a session of an earlier one held is lost."""
        return self._epochs.get(node, 0)

    def tries(self, timeout_ms: int | None = None) -> Tries:
        """For a call that tries several times within a timeout (default.api.timeout.ms)."""
        total_ms = self.config.default_api_timeout_ms if timeout_ms is None else timeout_ms
        return Tries(self.config, total_ms, self._clock, self._sleep if self._tries_again else None)

    def close(self) -> None:
        """End all connections. Nothing is sent. Calls after it raise ClientError."""
        self._closed = True
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    # -- the cluster

    def topic_ids(self, names: Collection[str], *, timeout_ms: int | None = None) -> dict[str, bytes]:
        """The ids of topics; a topic that does not exist (yet) is left out.

        Asks for what it does not know; `refresh` asks again. Raises BrokerError for a topic that may not be seen, and
        for a bad name.
        """
        unknown = [name for name in names if self._cluster.topic_id(name) is None]
        if unknown:
            self.refresh(unknown, timeout_ms=timeout_ms)
        found: dict[str, bytes] = {}
        for name in names:
            topic_id, error = self._cluster.topic_id(name), self._cluster.name_error(name)
            if topic_id is not None:
                found[name] = topic_id
            elif error not in (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) and not is_retriable(error):
                raise BrokerError(error, f"topic {name}")
        return found

    def leader(self, topic_id: bytes, partition: int) -> int | None:
        """The broker that leads a partition; None if none does now, or there is no such partition.

        Asks when nothing is known, or what is known is old. After an error that names a wrong leader: `refresh`.
        """
        self._freshen(topic_id, partition)
        return self._cluster.leader(topic_id, partition)

    def partitions(self, topic_id: bytes) -> int:
        """How many partitions a topic has, 1 or more. BrokerError if there is no such topic, or it may not be seen."""
        self._freshen(topic_id)
        topic = self._cluster.topic(topic_id)
        if topic is None or (topic.error and not topic.partitions):
            error = ErrorCode.UNKNOWN_TOPIC_ID if topic is None else topic.error
            raise BrokerError(error, f"topic {topic.name if topic and topic.name else topic_id.hex()}")
        if not topic.partitions:
            raise Unintelligible(f"topic {topic.name or topic_id.hex()} has no partitions")
        return len(topic.partitions)

    def refresh(self, topics: Iterable[str | bytes], *, timeout_ms: int | None = None) -> None:
        """Ask for topics, by name (str) or id (bytes), and for the brokers. Raises as `request`."""
        wanted = list(topics)
        names = [MetadataRequestTopic(name=name) for name in wanted if isinstance(name, str)]
        ids = [MetadataRequestTopic(topic_id=topic_id, name=None) for topic_id in wanted if isinstance(topic_id, bytes)]
        # Apart: where there are ids, Apache Kafka does not look at names.
        if names or not ids:
            self._ask_metadata(names, timeout_ms, 0)
        if ids:
            self._ask_metadata(ids, timeout_ms, BY_TOPIC_ID)

    def coordinator(self, group_id: str, *, timeout_ms: int | None = None) -> int:
        """The node of a group's coordinator. Raises BrokerError, and as `request`."""
        known = self._cluster.coordinator(group_id)
        if known is not None:
            return known
        tries = self.tries(timeout_ms)
        request = FindCoordinatorRequest("", _GROUP, [group_id])
        while True:
            answer = self.request(None, request, timeout_ms=timeout_ms, min_version=SEVERAL_KEYS)
            assert isinstance(answer, FindCoordinatorResponse)
            with understood(f"the coordinator of group {group_id}"):
                found = answer.coordinators[0]
            if not found.error_code:
                self._cluster.set_coordinator(group_id, found.node_id, Address(found.host, found.port))
                return found.node_id
            error = BrokerError(found.error_code, f"coordinator of group {group_id}", found.error_message)
            if not is_retriable(found.error_code):
                raise error
            tries.wait(error)

    def coordinators(
        self, keys: Sequence[str], kind: int = _GROUP, *, timeout_ms: int | None = None
    ) -> dict[str, int | BrokerError]:
        """The nodes of coordinators by key, or why there is none. Nothing of it is remembered. Raises as `request`.

        `kind`: 0 of groups, 1 of transactional ids.
        """
        request = FindCoordinatorRequest("", kind, list(keys))
        answer = self.request(None, request, timeout_ms=timeout_ms, min_version=SEVERAL_KEYS)
        assert isinstance(answer, FindCoordinatorResponse)
        found: dict[str, int | BrokerError] = {}
        for row in answer.coordinators:
            if row.error_code:
                found[row.key] = BrokerError(row.error_code, f"coordinator of {row.key}", row.error_message)
            else:
                self._cluster.learn_broker(row.node_id, Address(row.host, row.port))
                found[row.key] = row.node_id
        return found

    def brokers(self, *, timeout_ms: int | None = None) -> dict[int, Address]:
        """All brokers by node id, as one of them says now. Raises as `request`."""
        self.refresh([], timeout_ms=timeout_ms)
        return dict(self._cluster.brokers)

    def controller(self, *, timeout_ms: int | None = None) -> int | None:
        """The node that takes changes of the cluster; None for any. Asks once: after NOT_CONTROLLER, `refresh`."""
        if self._cluster.controller is None:
            self.refresh([], timeout_ms=timeout_ms)
        return self._cluster.controller

    def topic_name(self, topic_id: bytes) -> str | None:
        """The name of a topic as far as is known; None: `refresh` asks for it."""
        topic = self._cluster.topic(topic_id)
        return None if topic is None else topic.name

    def forget_coordinator(self, group_id: str) -> None:
        """After NOT_COORDINATOR, or when it cannot be reached: ask for it again."""
        self._cluster.forget_coordinator(group_id)

    def _ask_metadata(self, rows: list[MetadataRequestTopic], timeout_ms: int | None, min_version: int) -> None:
        request = MetadataRequest(rows, allow_auto_topic_creation=False)
        answer = self.request(None, request, timeout_ms=timeout_ms, min_version=min_version)
        assert isinstance(answer, MetadataResponse)
        self._cluster.add(answer, self._clock())

    def _freshen(self, topic_id: bytes, partition: int | None = None) -> None:
        """Ask for a topic of which nothing, or nothing good, or nothing new is known; not too often."""
        topic = self._cluster.topic(topic_id)
        if topic is not None:
            lacking = topic.error or (partition is not None and self._cluster.leader(topic_id, partition) is None)
            max_age_ms = self.config.retry_backoff_ms if lacking else self.config.metadata_max_age_ms
            if (self._clock() - topic.heard_at) * 1000 < max_age_ms:
                return
        try:
            self.refresh([topic_id])
        except Unreachable:
            if topic is None:
                raise

    def _look_around(self, deadline: float) -> None:
        """Hear of the brokers again, if that is to be had at once: one that is missed may have moved."""
        with contextlib.suppress(Unreachable):
            self._hear_of_brokers(self._any(deadline), deadline)

    # -- connections

    def _attempt(
        self, node: int | None, message: Message, deadline: float, min_version: int, max_version: int | None
    ) -> Message:
        connection = self._any(deadline) if node is None else self._connected(node, deadline)
        try:
            return connection.submit(message, self._answer_by(deadline), min_version, max_version).result()
        except Disconnected:
            self._failed_at |= {node: self._clock() for node, one in self._connections.items() if one is connection}
            raise

    def _any(self, deadline: float) -> Connection:
        """The least busy of the open connections, or the first that can be opened. Raises Unreachable."""
        alive = [connection for connection in list(self._connections.values()) if connection.alive()]
        if alive:
            return min(alive, key=lambda connection: connection.in_flight)
        found = self._any_broker(deadline)
        return self._bootstrap(deadline) if found is None else found

    def _any_broker(self, deadline: float) -> Connection | None:
        nodes = list(self._cluster.brokers)
        CHANCE.shuffle(nodes)  # not every client at the same broker
        nodes.sort(key=lambda node: self._failed_at.get(node, 0.0))
        for node in nodes:
            try:
                return self._connected(node, deadline)
            except Unreachable:
                self._failed_at[node] = self._clock()
        return None

    def _bootstrap(self, deadline: float) -> Connection:
        failure = Unreachable("no broker can be reached")
        servers = self.config.bootstrap_servers
        for _ in servers:
            address = servers[self._bootstrap_turn % len(servers)]
            try:
                connection = self._open(address, "", deadline)
                try:
                    self._hear_of_brokers(connection, deadline)
                except BaseException:  # no other call knows of it
                    connection.close()
                    raise
            except Unreachable as error:
                failure = error
                self._bootstrap_turn += 1
                continue
            for node, advertised in self._cluster.brokers.items():
                if advertised == address:
                    return self._adopt(node, connection)
            connection.close()
            if (found := self._any_broker(deadline)) is not None:
                return found
            failure = self._why_down(failure)
        raise failure

    def _why_down(self, otherwise: Unreachable) -> Unreachable:
        whys = [self._down[address].why for address in self._cluster.brokers.values() if address in self._down]
        return Unreachable(whys[0]) if whys else otherwise

    def _hear_of_brokers(self, connection: Connection, deadline: float) -> None:
        request = MetadataRequest([], allow_auto_topic_creation=False)
        answer = connection.submit(request, self._answer_by(deadline)).result()
        assert isinstance(answer, MetadataResponse)
        self._cluster.add(answer, self._clock())

    def _connected(self, node: int, deadline: float) -> Connection:
        self._check_open()
        if node not in self._cluster.brokers:
            self._look_around(deadline)
        connection = self._connections.get(node)
        if connection is not None and connection.alive():
            return connection
        self._connections.pop(node, None)
        address = self._cluster.brokers.get(node)
        if address is None:
            raise Unreachable(f"broker {node} is not one of the cluster")
        return self._adopt(node, self._open(address, f"broker {node}", deadline))

    def _adopt(self, node: int, connection: Connection) -> Connection:
        self._connections[node] = connection
        self._epochs[node] = self.connection_epoch(node) + 1
        return connection

    def _open(self, address: Address, name: str, deadline: float) -> Connection:
        self._check_open()
        down = self._down.get(address)
        if down is not None and self._clock() < down.until:
            raise Unreachable(down.why)
        if self._context is None and self.config.tls is not None:
            self._context = tls_context(self.config.tls)
        by = min(deadline, self._clock() + self.config.connection_setup_timeout_ms / 1000)
        try:
            connection = open_connection(address, name, self.config, self._context, by, self._clock)
        except Unreachable as error:
            failures = 1 if down is None else down.failures + 1
            first, most = self.config.reconnect_backoff_ms, self.config.reconnect_backoff_max_ms
            self._down[address] = Down(failures, self._clock() + backoff_s(first, most, failures), str(error))
            raise
        self._down.pop(address, None)
        return connection

    def _check_open(self) -> None:
        if self._closed:
            raise ClientError("the client was closed")

    # -- time

    def _deadline(self, timeout_ms: int | None) -> float:
        return self._clock() + (self.config.request_timeout_ms if timeout_ms is None else timeout_ms) / 1000

    def _answer_by(self, deadline: float) -> float:
        """When one of several tries has to have its answer."""
        return min(deadline, self._deadline(None))


class Tries:
    """One call's tries: the time it has, and the pauses in between, which grow. Without `sleep` there is one try."""

    def __init__(
        self, config: ClientConfig, total_ms: int, clock: Clock, sleep: Callable[[float], None] | None
    ) -> None:
        self._config = config
        self._total_ms = total_ms
        self._clock = clock
        self._sleep = sleep
        self._failures = 0
        self._last: ClientError | None = None
        self._tell_at = clock() + TELL_AFTER_S
        self.deadline = clock() + total_ms / 1000

    @property
    def left_ms(self) -> int:
        """How much of the time is left, for a call that is a part of this one. At least 1."""
        return max(1, round((self.deadline - self._clock()) * 1000))

    @property
    def is_over(self) -> bool:
        """Return whether the time is used up."""
        return self._clock() >= self.deadline

    def wait(self, error: ClientError) -> None:
        """Before the next try. Raises Unreachable, with what the last try failed of, when there is no time for one, and
        `error` itself if there is to be none.

        A try that the deadline cut short says less than the one before it.
        """
        if self._sleep is None:
            raise error
        if self._last is None or self._clock() < self.deadline:
            self._last = error
        self._failures += 1
        pause = backoff_s(self._config.retry_backoff_ms, self._config.retry_backoff_max_ms, self._failures)
        left = self.deadline - self._clock()
        if left > 0:
            self._sleep(min(pause, left))
        if left <= pause:
            raise Unreachable(f"{self._last}; given up after {self._total_ms} ms") from None
        if self._clock() >= self._tell_at:
            self._tell_at = self.deadline
            logger.warning("%s; trying again for %d s", self._last, self.left_ms // 1000)


def backoff_s(first_ms: int, most_ms: int, failures: int) -> float:
    """The pause, in seconds. It doubles with each failure, with a fifth of chance, so that clients do not come back all
    at once."""
    pause_ms = min(first_ms * 2.0 ** min(failures - 1, 30), max(first_ms, most_ms))
    return pause_ms * CHANCE.uniform(0.8, 1.2) / 1000


def _heard(connections: Set[Connection], timeout_s: float) -> list[Connection]:
    """Those that have something to read, waiting for the first of them."""
    pending = [connection for connection in connections if connection.pending_bytes()]
    if pending:
        return pending
    with selectors.DefaultSelector() as selector:
        for connection in connections:
            selector.register(connection, selectors.EVENT_READ, connection)
        return [key.data for key, _ in selector.select(max(timeout_s, 0))]
