"""The clients of a soak: those of `storage`, some behind TLS and a login, and members of a consumer group."""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from devtools.clients.wire import ConnectionClosed, WireClient
from devtools.kafka.certificates import Authority
from devtools.ports import free_port
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatRequestTopicPartitions,
    ConsumerGroupHeartbeatResponse,
)
from shareq.protocol.generated.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from shareq.protocol.generated.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from shareq.protocol.generated.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from shareq.protocol.primitives import Message
from tests.campaign.history.operations import Place
from tests.campaign.storage.fetching import Reader
from tests.campaign.storage.links import RETRY_S, Link, R, Stopped
from tests.campaign.storage.scene import PLAIN, Process, Scene
from tests.support.clients.access import STANDARD
from tests.support.clients.sasl import PLAIN_MODULE

USER, STRANGER, PASSWORD = "alice", "mallory", "wonderland"
PROTOCOLS: Final = {
    "PLAINTEXT": "PLAINTEXT",
    "OPEN": "SSL",
    "LOGIN": "SASL_SSL",
    "CLEAR": "SASL_PLAINTEXT",
}
LISTENER_OF: Final = {
    "sharer-b": "LOGIN",
    "writer": "LOGIN",
    "worker-b": "LOGIN",
    "idempotent": "CLEAR",
    "committed-a": "CLEAR",
    "reader": "OPEN",
}
"""The listener of each client; clients that are not listed use PLAINTEXT, without TLS and login."""
WORKERS: Final = "workers"
HEARTBEAT_S: Final = 0.5


class Doors:
    """The listeners of a broker, with the clients' logins. `stranger` may log in, but has no rights."""

    def __init__(self, authority: Authority) -> None:
        self.ports = {name: free_port() for name in PROTOCOLS}
        self._signed = authority.sign("server", "DNS:localhost", "IP:127.0.0.1")
        self._tls = ssl.create_default_context(cafile=str(authority.certificate))

    def settings(self) -> dict[str, str]:
        users = f'{PLAIN_MODULE} required user_{USER}="{PASSWORD}" user_{STRANGER}="{PASSWORD}";'
        return {
            "listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, port in self.ports.items()),
            "listener.security.protocol.map": ",".join(f"{name}:{one}" for name, one in PROTOCOLS.items()),
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self._signed.both),
            "sasl.enabled.mechanisms": "PLAIN",
            "listener.name.login.plain.sasl.jaas.config": users,
            "listener.name.clear.plain.sasl.jaas.config": users,
            "authorizer.class.name": STANDARD,
            "super.users": f"User:{USER};User:ANONYMOUS",
        }

    def open(
        self, listener: str, client_id: str, timeout_s: float, user: str = USER, password: str = PASSWORD
    ) -> WireClient:
        """Return a connection, logged in if the listener needs it. Raises OSError, ConnectionClosed; AssertionError if
        the login is refused.
        """
        protocol = PROTOCOLS[listener]
        tls = self._tls if "SSL" in protocol else None
        wire = WireClient(("127.0.0.1", self.ports[listener]), client_id=client_id, timeout_s=timeout_s, tls=tls)
        if "SASL" in protocol:
            try:
                wire.call(SaslHandshakeRequest("PLAIN"), 1, SaslHandshakeResponse)
                said = f"\0{user}\0{password}".encode()
                answer = wire.call(SaslAuthenticateRequest(said), 2, SaslAuthenticateResponse)
                assert not answer.error_code, answer.error_message
            except BaseException:
                wire.close()
                raise
        return wire


@dataclass(slots=True)
class SoakLink(Link):
    """A connection to one of the listeners. While `going` is not set, the client neither sends nor receives, as if its
    process were stopped.
    """

    doors: Doors | None = None
    going: threading.Event = field(default_factory=threading.Event)

    def ready(self) -> None:
        assert self.doors is not None
        while self._wire is None:
            if self.stop.is_set():
                raise Stopped
            self.going.wait()
            try:
                listener = LISTENER_OF.get(self.client_id, "PLAINTEXT")
                self._wire = self.doors.open(listener, self.client_id, self.timeout_s)
            except (OSError, ConnectionClosed):
                time.sleep(RETRY_S)

    def call(self, request: Message, version: int, response_class: type[R]) -> R:
        self.going.wait()
        response = Link.call(self, request, version, response_class)
        self.going.wait()
        return response


@dataclass(slots=True)
class SoakScene(Scene):
    """A scene whose clients use these listeners, and pause while `going` is not set."""

    doors: Doors | None = None
    going: threading.Event = field(default_factory=threading.Event)

    def link(self, client_id: str) -> Link:
        return SoakLink(self.address, self.stop, client_id, doors=self.doors, going=self.going)


class Worker(Process):
    """A member of a consumer group (KIP-848): it reads its partitions, commits its offsets, and leaves at times.

    It only adds load: its operations are not in the history.
    """

    def __init__(self, scene: Scene, name: str) -> None:
        super().__init__(scene, name)
        self._reader = Reader(scene, self.link, self.rng, read_committed=True)
        self._incarnation = 0
        self._epoch = 0
        self._beat_at = 0.0
        self._owned: list[Place] = []

    def on_cut(self) -> None:
        self._beat_at = 0.0

    def step(self) -> None:
        if time.monotonic() - self._beat_at > HEARTBEAT_S:
            self._heartbeat()
        for place in self._owned:
            if self._reader.read(place, 65_536) is not None and self.rng.random() < 0.2:
                self._commit(place)
        if self.rng.random() < 0.005:
            self.at_end()
        self.pause(0.03)

    def at_end(self) -> None:
        self._beat(-1, None, None)
        self._forget()

    def _forget(self) -> None:
        self._incarnation += 1
        self._epoch, self._beat_at, self._owned = 0, 0.0, []

    def _heartbeat(self) -> None:
        joins = self._epoch == 0
        owned: Mapping[str, list[int]] = {} if joins else self._by_topic()
        answer = self._beat(
            self._epoch,
            [PLAIN.name] if joins else None,
            [
                ConsumerGroupHeartbeatRequestTopicPartitions(bytes.fromhex(topic), parts)
                for topic, parts in owned.items()
            ],
        )
        if answer.error_code:
            if answer.error_code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH):
                self._forget()
            return
        self._epoch, self._beat_at = answer.member_epoch, time.monotonic()
        if answer.assignment is not None:
            self._owned = [
                Place(topic.topic_id.hex(), partition)
                for topic in answer.assignment.topic_partitions
                for partition in topic.partitions
            ]

    def _by_topic(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for place in self._owned:
            found.setdefault(place.topic, []).append(place.partition)
        return found

    def _beat(
        self,
        epoch: int,
        topics: list[str] | None,
        owned: list[ConsumerGroupHeartbeatRequestTopicPartitions] | None,
    ) -> ConsumerGroupHeartbeatResponse:
        member = f"{self.name}-{self._incarnation}"
        timeout_ms = 5_000 if epoch == 0 else -1
        request = ConsumerGroupHeartbeatRequest(WORKERS, member, epoch, None, None, timeout_ms, topics)
        request.topic_partitions = owned
        return self.link.call(request, 0, ConsumerGroupHeartbeatResponse)

    def _commit(self, place: Place) -> None:
        partition = OffsetCommitRequestPartition(place.partition, self._reader.positions.get(place, 0))
        topic = OffsetCommitRequestTopic(PLAIN.name, partitions=[partition])
        member = f"{self.name}-{self._incarnation}"
        request = OffsetCommitRequest(WORKERS, self._epoch, member, None, -1, [topic])
        self.link.call(request, 9, OffsetCommitResponse)
