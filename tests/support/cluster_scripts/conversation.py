from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Protocol, TypeVar

from shareq.protocol.api_keys import ApiKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from shareq.protocol.generated.end_txn import EndTxnRequest, EndTxnResponse
from shareq.protocol.generated.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from shareq.protocol.generated.heartbeat import HeartbeatRequest, HeartbeatResponse
from shareq.protocol.generated.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from shareq.protocol.primitives import Message
from tests.support.cluster.coordinators import CoordinatorKind
from tests.support.cluster.rights import Operation, Resource
from tests.support.cluster_scripts.fields import Plain, Plainly

M = TypeVar("M", bound=Message)

_PATIENCE = 100


class Setting(Enum):
    PLAIN = "plain"
    FORGETFUL = "forgetful"
    """The brokers forget producers and transactional ids within a second."""
    GUARDED = "guarded"
    """The brokers have an authorizer that allows everything that is not denied."""


PROPERTIES: dict[Setting, Mapping[str, str]] = {
    Setting.PLAIN: {},
    Setting.FORGETFUL: {
        "producer.id.expiration.ms": "1000",
        "producer.id.expiration.check.interval.ms": "100",
        "transactional.id.expiration.ms": "1000",
        "transaction.remove.expired.transaction.cleanup.interval.ms": "100",
    },
    Setting.GUARDED: {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "true",
    },
}
"""The broker properties of each setting, apart from those of all settings."""

OF_ALL: Mapping[str, str] = {
    "log.retention.ms": "-1",  # the scripts' records are old,
    "log.roll.ms": "9000000000000",  # and are all in one segment
    "group.initial.rebalance.delay.ms": "300",
    "group.min.session.timeout.ms": "500",
    "max.incremental.fetch.session.cache.slots": "1000",
}


class Cluster(Protocol):
    """A cluster of one broker that runs a script. Connections have names and open on first use."""

    def newest(self, api: ApiKey) -> int:
        """Return the highest version of an API that both the client and the cluster know."""

    def send(self, connection: str, message: Message, version: int) -> None:
        """Send a request over a connection."""

    def receive(self, connection: str) -> Message:
        """Return the answer to the oldest unanswered request of a connection."""

    def pass_ms(self, ms: int) -> None:
        """Let time pass."""

    def wall_ms(self) -> int:
        """Return the time of day, in ms since the epoch."""

    def deny(self, resource: Resource, name: str, *operations: Operation) -> None:
        """Deny these operations; all others stay allowed."""


class Conversation:
    """One script on one cluster.

    `transcript` has the requests and answers; `plainly` counts the fields left out.
    """

    def __init__(self, cluster: Cluster, name: str) -> None:
        self._cluster = cluster
        self._name = name
        self.plainly = Plainly()
        self.transcript: list[Plain] = []
        self._ids: dict[str, bytes] = {}

    # -- asking

    def ask(self, message: Message, answer: type[M], version: int | None = None, on: str = "main") -> M:
        self.begin(message, version, on)
        return self.end(answer, on)

    def begin(self, message: Message, version: int | None = None, on: str = "main") -> None:
        """Send a request whose answer may take long; its connection sends nothing else before `end`."""
        api = ApiKey(message.API_KEY)
        version = self._cluster.newest(api) if version is None else version
        self.transcript.append(f"{on}: {type(message).__name__} {version}")
        self._cluster.send(on, message, version)

    def end(self, answer: type[M], on: str = "main") -> M:
        received = self._cluster.receive(on)
        assert isinstance(received, answer), received
        self.transcript.append({f"{on}: {type(received).__name__}": self.plainly.of(received)})
        return received

    def quietly(self, message: Message, answer: type[M], version: int | None = None) -> M:
        version = self._cluster.newest(ApiKey(message.API_KEY)) if version is None else version
        self._cluster.send("aside", message, version)
        received = self._cluster.receive("aside")
        assert isinstance(received, answer), received
        return received

    def note(self, what: str, value: Plain) -> None:
        self.transcript.append({what: value})

    def pass_ms(self, ms: int) -> None:
        self._cluster.pass_ms(ms)

    def wall_ms(self) -> int:
        return self._cluster.wall_ms()

    def until(self, what: str, condition: Callable[[], bool]) -> None:
        """Repeat until the condition holds: clusters need time for some changes."""
        for _ in range(_PATIENCE):
            if condition():
                return
            self._cluster.pass_ms(50)
        raise AssertionError(what)

    # -- what scripts begin with

    def name(self, part: str = "") -> str:
        return f"{self._name}-{part}" if part else self._name

    def topic(self, part: str = "", partitions: int = 1, configs: Mapping[str, str] | None = None) -> str:
        name = self.name(part)
        rows = [CreatableTopicConfig(key, value) for key, value in (configs or {}).items()]
        made = self.quietly(
            CreateTopicsRequest([CreatableTopic(name, partitions, 1, [], rows)], 10_000), CreateTopicsResponse
        )
        assert made.topics[0].error_code == ErrorCode.NONE, made
        self._ids[name] = made.topics[0].topic_id

        def is_led() -> bool:
            asked = [ListOffsetsPartition(each, -1, -1) for each in range(partitions)]
            request = ListOffsetsRequest(-1, 0, [ListOffsetsTopic(name, asked)])
            rows = self.quietly(request, ListOffsetsResponse).topics[0].partitions
            return all(row.error_code in (ErrorCode.NONE, ErrorCode.TOPIC_AUTHORIZATION_FAILED) for row in rows)

        self.until(f"{name} has leaders", is_led)
        return name

    def id_of(self, topic: str) -> bytes:
        return self._ids[topic]

    def coordinated(self, key: str, kind: CoordinatorKind) -> str:
        def is_found() -> bool:
            asked = FindCoordinatorRequest("", kind.value, [key])
            return not self.quietly(asked, FindCoordinatorResponse).coordinators[0].error_code

        def is_loaded() -> bool:
            if kind is CoordinatorKind.GROUP:
                error = self.quietly(HeartbeatRequest(key, 0, "nobody"), HeartbeatResponse).error_code
            else:
                error = self.quietly(EndTxnRequest(key, 2**40, 0), EndTxnResponse).error_code
            return error not in (
                ErrorCode.NOT_COORDINATOR,
                ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
                ErrorCode.COORDINATOR_NOT_AVAILABLE,
            )

        self.until(f"{key} has a coordinator", is_found)
        self.until(f"the coordinator of {key} has loaded it", is_loaded)
        return key

    def deny(self, resource: Resource, name: str, *operations: Operation) -> None:
        self._cluster.deny(resource, name, *operations)
