"""The context of handlers of forwarded RPCs: the link, the leaders, and values common to all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeAlias, TypeVar, runtime_checkable

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.metadata.topic_names import INTERNAL_TOPICS
from shareq.broker.security.acls import ResourceKind
from shareq.cluster.forward.coordinators import Coordinators, Kind
from shareq.cluster.forward.ports import GRACE_MS, Topic, Topics, leader_of
from shareq.cluster.link.leaders import STALE
from shareq.cluster.link.ports import Failure, Link, LinkFailure
from shareq.coordinator.ports import TopicImage
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.errors import ApiError, ErrorCode, error_of
from shareq.protocol.generated.metadata import MetadataRequest, MetadataResponse
from shareq.protocol.names import CONSUMER_OFFSETS
from shareq.protocol.primitives import Message

if TYPE_CHECKING:
    from shareq.broker.foundation.pending import Pending
    from shareq.broker.network.connection import Connection
    from shareq.broker.security.rights import Right
    from shareq.broker.services import Services
    from shareq.cluster.forward.produce_by_leader import Batches

Place: TypeAlias = tuple[str, int]
"""A partition: topic and number."""

OWN_TOPICS: Final = "__shareq_"
"""The beginning of the names of a node's own topics, which clients are not shown."""
OF_PRODUCERS: Final = frozenset({ApiKey.PRODUCE, ApiKey.INIT_PRODUCER_ID})
"""The RPCs that a node refuses with `--no-proxy`, which sends producers to the cluster itself."""
OWN_TRANSACTIONS: Final = "shareq-__shareq_"
"""The beginning of the nodes' own transactional ids: each slot has one."""

_THROTTLE: Final = "throttle_time_ms"


class PartitionAnswer(Protocol):
    """The row of a partition in an answer."""

    error_code: int


class Named(Protocol):
    """A topic in a request or an answer. Later versions name it by id and leave `name` empty."""

    name: str


class NamedAnswer(Protocol):
    """The row of a topic in an answer."""

    name: str


M = TypeVar("M", bound=Message)
R = TypeVar("R", bound=PartitionAnswer)
N = TypeVar("N", bound=NamedAnswer)


class Forwarding(NamedTuple):
    """The parts of a node that forward requests. `cluster` is the cluster's name in texts: its bootstrap servers.
    `own_group` is the group whose members are the nodes. `begins_at` is called with topic, partition and the log's new
    start offset after records were deleted.
    """

    link: Link
    topics: Topics
    batches: Batches
    coordinators: Coordinators
    cluster: str
    own_group: str
    begins_at: Callable[[str, int, int], None] = lambda _topic, _partition, _offset: None

    @property
    def where_to_write_markers(self) -> str:
        """The error text for a client that wants to write transaction markers."""
        return f"This node writes no markers of transactions; ask {self.cluster}."

    @property
    def where_to_produce(self) -> str:
        """The error text for a producer at a node that accepts no records."""
        return f"This node takes no records of producers; they produce at {self.cluster}."


@runtime_checkable
class ForwardingGround(Protocol):
    """A ground that can forward requests."""

    @property
    def forwarding(self) -> Forwarding: ...


class ForwardContext(RequestContext):
    """The context of a handler that forwards requests."""

    __slots__ = ("forwarding",)

    def __init__(self, services: Services, connection: Connection, api_version: int, client_id: str | None) -> None:
        super().__init__(services, connection, api_version, client_id)
        ground = services.ground
        assert isinstance(ground, ForwardingGround), f"{ground.name} forwards nothing"
        self.forwarding: Final = ground.forwarding

    def refusal(self, right: Right, topic: str, *, may_all: bool = False) -> ErrorCode:
        """Return the error for a topic that the client may not use, or NONE. A node's own topics are unknown to
        clients.
        """
        if is_hidden(topic):
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return ErrorCode.NONE if may_all or self.may(right, topic) else right.error

    def refusal_of(self, right: Right, name: str) -> ErrorCode:
        """Return the error for a group or transactional id that the client may not use, or NONE. The nodes' own are
        always refused.
        """
        is_own = (
            name.startswith(OWN_TRANSACTIONS) if right.kind is ResourceKind.TRANSACTIONAL_ID else self.is_nodes(name)
        )
        return right.error if is_own or not self.may(right, name) else ErrorCode.NONE

    def is_nodes(self, group_id: str) -> bool:
        """Return True for the group whose members are the nodes, which clients are not shown."""
        return group_id == self.forwarding.own_group

    async def ask_coordinator(
        self,
        kind: Kind,
        key: str,
        message: Message,
        answers: type[M],
        *,
        lowest: int | None = None,
        timeout_ms: int | None = None,
    ) -> M | ErrorCode:
        """Send a request to the coordinator of a group or transactional id, in a version from `lowest` (by default the
        client's) to the client's.
        """
        answer = await self.forwarding.coordinators.ask(
            kind, key, message, version=self.api_version, lowest=lowest, timeout_ms=timeout_ms
        )
        assert isinstance(answer, (answers, ErrorCode))
        if not isinstance(answer, ErrorCode) and _THROTTLE in answer.FIELDS:
            setattr(answer, _THROTTLE, 0)  # it is the node that the cluster would have wait
        return answer

    def send(
        self, node: int | None, message: Message, *, timeout_ms: int | None = None
    ) -> Pending[Message | LinkFailure]:
        """Send a request in the client's own version, since the answer is passed on in that version.

        `timeout_ms` is the timeout in the client's request; the broker has a few seconds more.
        """
        return self.forwarding.link.send(
            node,
            message,
            timeout_ms=None if timeout_ms is None else max(timeout_ms, 0) + GRACE_MS,
            min_version=self.api_version,
            max_version=self.api_version,
        )

    async def find(self, topics: Iterable[Topic]) -> dict[Topic, TopicImage | ErrorCode]:
        """Return each topic, or the error code why it was not found. All are asked for before the first answer is
        awaited.
        """
        asked: dict[Topic, Pending[TopicImage | ErrorCode]] = {}
        for topic in topics:
            asked[topic] = self.forwarding.topics.find(topic)
            await self.breathe()
        return {topic: await found for topic, found in asked.items()}

    async def ask_all(self, message: Message, answers: type[M], *, lowest: int | None = None) -> list[M | ErrorCode]:
        """Send a request to each broker of the cluster, in a version from `lowest` (by default the client's) to the
        client's.
        """
        brokers = await self.forwarding.link.send(None, MetadataRequest([], allow_auto_topic_creation=False))
        if isinstance(brokers, LinkFailure):
            return [ErrorCode.COORDINATOR_NOT_AVAILABLE]
        assert isinstance(brokers, MetadataResponse)
        send = self.forwarding.coordinators.send
        sent = [send(row.node_id, message, version=self.api_version, lowest=lowest) for row in brokers.brokers]
        outcomes: list[M | ErrorCode] = []
        for pending in sent:
            outcome = await pending
            assert isinstance(outcome, (answers, LinkFailure))
            outcomes.append(ErrorCode.COORDINATOR_NOT_AVAILABLE if isinstance(outcome, LinkFailure) else outcome)
        return outcomes

    def lists(self, key: str) -> bool:
        """Return True if this node is the one that lists the group or transactional id: each is listed by one node."""
        services = self.services
        topic = services.metadata.topic(CONSUMER_OFFSETS)
        place = services.ground.host.routes.group(key, 1 if topic is None else topic.partitions)
        return services.leaders.other_leader(CONSUMER_OFFSETS, place) is None

    async def names_of(self, topics: Sequence[Named]) -> list[str | None]:
        """Return a name for each topic, looked up if the request has an id only; None for an id that the cluster does
        not know.
        """
        ids: list[Topic | None] = [None if topic.name else getattr(topic, "topic_id", None) for topic in topics]
        found = await self.find({each for each in ids if each is not None})
        names: list[str | None] = []
        for topic, topic_id in zip(topics, ids, strict=True):
            image = None if topic_id is None else found[topic_id]
            names.append(image.name if isinstance(image, TopicImage) else topic.name or None)
            await self.breathe()
        return names

    async def look_again(self, *topics: Topic) -> None:
        """Have the mirror ask the cluster for topics again, because its facts may be out of date."""
        for found in (await self.find(topics)).values():
            if isinstance(found, TopicImage):
                self.forwarding.topics.refresh(found.topic_id)

    async def send_to_controller(
        self, message: Message, answers: type[M], *, timeout_ms: int | None = None
    ) -> M | LinkFailure:
        """Send a request, as `send`, to the broker that currently accepts changes of the cluster.

        Clients cannot find this broker themselves: a node's Metadata names nodes only.
        """
        controller = await controller_of(self.forwarding.link)
        if isinstance(controller, LinkFailure):
            return controller
        answer = await self.send(controller, message, timeout_ms=timeout_ms)
        assert isinstance(answer, (answers, LinkFailure))
        return answer

    async def ask_controller(
        self, message: Message, answers: type[M], rows: Callable[[M], Iterable[N]], *, timeout_ms: int
    ) -> tuple[dict[str, N], ApiError]:
        """Send a request, as `send_to_controller`. Return the rows of its answer by name, and the error for names
        without a row.
        """
        answer = await self.send_to_controller(message, answers, timeout_ms=timeout_ms)
        if isinstance(answer, LinkFailure):
            return {}, failure_error(answer)
        return {row.name: row for row in rows(answer)}, ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)

    async def ask_leaders(
        self,
        places: Iterable[Place],
        request: Callable[[Mapping[str, Sequence[int]]], Message],
        answers: type[M],
        rows: Callable[[M], Iterable[tuple[Place, R]]],
        *,
        timeout_ms: int | None = None,
    ) -> dict[Place, R | ApiError]:
        """Ask the leaders of partitions; return for each partition the leader's row, or an error.

        `request` makes a request for partitions by topic, `rows` yields the rows of its answer.
        """
        by_node, refused = await self._by_leader(places)
        placed: dict[Place, R | ApiError] = {}
        placed.update(refused)
        stale: dict[str, None] = {}
        sent = [(asked, self.send(node, request(asked), timeout_ms=timeout_ms)) for node, asked in by_node.items()]
        for asked, pending in sent:
            outcome = await pending
            assert isinstance(outcome, (answers, LinkFailure))
            found: dict[Place, R] = {} if isinstance(outcome, LinkFailure) else dict(rows(outcome))
            missing = failure_error(outcome) if isinstance(outcome, LinkFailure) else _NOT_IN_ANSWER
            for topic, partitions in asked.items():
                for partition in partitions:
                    row = found.get((topic, partition))
                    if row is None or row.error_code in STALE:
                        stale[topic] = None
                    if row is not None:
                        row.error_code = error_of(row.error_code)
                    placed[topic, partition] = missing if row is None else row
                    await self.breathe()
        await self.look_again(*stale)
        return placed

    async def _by_leader(
        self, places: Iterable[Place]
    ) -> tuple[dict[int, dict[str, list[int]]], dict[Place, ApiError]]:
        wanted = list(dict.fromkeys(places))
        topics = await self.find(dict.fromkeys(topic for topic, _ in wanted))
        by_node: dict[int, dict[str, list[int]]] = {}
        refused: dict[Place, ApiError] = {}
        for topic, partition in wanted:
            node = leader_of(self.forwarding.topics, topics[topic], partition)
            if isinstance(node, ErrorCode):
                refused[topic, partition] = ApiError(node)
            else:
                by_node.setdefault(node, {}).setdefault(topic, []).append(partition)
            await self.breathe()
        return by_node, refused


_NOT_IN_ANSWER: Final = ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, "The cluster's answer does not have it.")


async def controller_of(link: Link) -> int | LinkFailure | None:
    """Ask any broker for the controller; return its id, None if it names none (with KRaft any broker will do), or the
    failure.
    """
    brokers = await link.send(None, MetadataRequest([], allow_auto_topic_creation=False))
    if isinstance(brokers, LinkFailure):
        return brokers
    assert isinstance(brokers, MetadataResponse)
    return brokers.controller_id if brokers.controller_id >= 0 else None


def failure_error(failure: LinkFailure) -> ApiError:
    """Return the error that a client gets when the broker's answer does not come."""
    match failure.failure:
        case Failure.LOST:
            return ApiError(ErrorCode.REQUEST_TIMED_OUT, failure.text)
        case Failure.UNSUPPORTED:
            return ApiError(ErrorCode.UNSUPPORTED_VERSION, failure.text)
        case Failure.NOT_SENT | Failure.REFUSED:
            return ApiError(ErrorCode.LEADER_NOT_AVAILABLE, failure.text)


def is_hidden(topic: str) -> bool:
    """Return True for topics that clients may not see through a node: its own, and those of the cluster with names that
    coordinators use.
    """
    return topic.startswith(OWN_TOPICS) or topic in INTERNAL_TOPICS
