"""The cluster's topics as dead-letter queues: looked up, created and appended to with the node's own user and rights.

    find    ---> the mirror, then the topic's properties, both cached for a while; then room for letters
    create  ---> the controller, then as find, until brokers know the topic
    append  ---> Produce with acks=all, by the partition's leader

A topic accepts letters if its errors.deadletterqueue.group.enable is true. Clusters before Apache Kafka 4.4 do not know
this property, and refuse topics that set it: there the node's shareq.dlq.topics names the queues.

Appends and creations are retried in the cases in which Apache Kafka's producers retry: another broker leads the
partition, or none for a moment, a broker does not know a new topic yet, replicas are slow or too few, or an answer was
lost. In the last two cases the letters may be written already: delivery is at least once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple, TypeVar

from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.foundation.environment import Clock
from shareq.broker.foundation.loop.coroutines import Begin, Waiting, sleep
from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.log.append import OnDurable
from shareq.broker.share.dlq.rules import CREATED_WITH, QueuePolicy, QueueTopic
from shareq.cluster.forward.forwarding import controller_of, failure_error, is_hidden
from shareq.cluster.forward.ports import Topics
from shareq.cluster.forward.produce_by_leader import Batch, Batches
from shareq.cluster.link.ports import Failure, Link, LinkFailure
from shareq.protocol.config_def import is_named
from shareq.protocol.errors import NO_ERROR, RETRIABLE, ApiError, ErrorCode, error_of
from shareq.protocol.generated.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from shareq.protocol.generated.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from shareq.protocol.generated.produce import PartitionProduceResponse
from shareq.protocol.names import DLQ_GROUP_ENABLE

AGE_MS: Final = 10_000
"""The time for which a topic's properties are cached, unless an append to it fails earlier."""
MOST_BYTES: Final = 32 << 20
"""The number of bytes of unanswered letters at which searches for further queues have to wait."""
MOST_KNOWN: Final = 1_000
"""The most topics whose properties are cached: the most recently looked up ones."""
TIMEOUT_MS: Final = 30_000
"""The timeout of an append at the broker, and of a topic's creation at the controller."""
PAUSE_MS: Final = 100
"""The pause between two checks whether a broker knows a new topic."""
HEARD_MS: Final = 5_000
"""The time for which brokers are asked about a new topic. After it, its letters are retried as if it had no leader."""
DEFAULT_MESSAGE_BYTES: Final = 1_048_588
"""Apache Kafka's default, used if the properties of a topic may not be read."""

_ALL: Final = -1
_DEFAULT: Final = -1
_TOPIC: Final = 2
_LIMITS: Final = ("max.message.bytes", "segment.bytes")

T = TypeVar("T")
_Found = QueueTopic | ApiError | None


class _Known(NamedTuple):
    """A topic's properties, and when they were looked up."""

    queue: QueueTopic
    at_ms: int


class ClusterQueues:
    """`QueueTopics` of a node. `config` returns the node's current properties, `begin` starts coroutines. `find`
    answers a writer of letters only while fewer than `most_bytes` of letters are unanswered.
    """

    retriable: Final = RETRIABLE

    def __init__(
        self,
        link: Link,
        topics: Topics,
        batches: Batches,
        *,
        clock: Clock,
        begin: Begin,
        config: Callable[[], BrokerConfig],
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self._link: Final = link
        self._topics: Final = topics
        self._batches: Final = batches
        self._clock: Final = clock
        self._begin: Final = begin
        self._config: Final = config
        self._known: Final[dict[str, _Known]] = {}
        self._finding: Final[dict[str, Pending[_Found]]] = {}
        self._creating: Final[dict[str, Pending[ApiError]]] = {}
        self._most_bytes: Final = most_bytes
        self._under_way = 0  # bytes
        self._waiting: Final[deque[tuple[Pending[_Found], QueueTopic]]] = deque()  # for room
        self._is_admitting = False

    def policy(self) -> QueuePolicy:
        return QueuePolicy.of(self._config())

    def find(self, name: str) -> Pending[_Found]:
        if is_hidden(name):
            return completed(None)
        known = self._known.get(name)
        if known is None or self._clock.now_ms() - known.at_ms >= AGE_MS:
            found = self._asked(self._finding, name, self._look_up)
        else:
            found = completed(known.queue)
        if found.done and self._has_room:
            return found
        admitted: Pending[_Found] = Pending()
        found.on_complete(partial(self._admit_later, admitted))
        return admitted

    def create(self, name: str) -> Pending[ApiError]:
        return self._asked(self._creating, name, self._make)

    def append(self, name: str, partition: int, batch: bytearray, on_durable: OnDurable) -> ErrorCode:
        def done(row: PartitionProduceResponse) -> None:
            error = error_of(row.error_code)
            if error:
                self._known.pop(name, None)  # it may be another one by now, or have other limits
            self._under_way -= len(batch)
            on_durable(error)
            self._admit()

        self._under_way += len(batch)
        self._batches.add(Batch(name, partition, memoryview(batch), _ALL, TIMEOUT_MS, done))
        return ErrorCode.NONE

    def _asked(self, questions: dict[str, Pending[T]], name: str, ask: Callable[[str], Waiting[T]]) -> Pending[T]:
        """Return the answer to a question. A question that is already pending is not asked twice."""
        under_way = questions.get(name)
        if under_way is not None:
            return under_way

        def answered(_answer: T) -> None:
            del questions[name]

        answer = self._begin(ask(name))
        if not answer.done:
            questions[name] = answer
            answer.on_complete(answered)
        return answer

    # -- room for letters

    @property
    def _has_room(self) -> bool:
        return self._under_way < self._most_bytes

    def _admit_later(self, admitted: Pending[_Found], found: _Found) -> None:
        """Complete a search in its turn: once there is room for its letters and earlier searches are completed."""
        if isinstance(found, QueueTopic):
            self._waiting.append((admitted, found))
            self._admit()
        else:
            admitted.complete(found)

    def _admit(self) -> None:
        """Complete waiting searches while there is room. Their callers may append, and even be answered, within this
        call.
        """
        if self._is_admitting:
            return
        self._is_admitting = True
        try:
            while self._waiting and self._has_room:
                admitted, found = self._waiting.popleft()
                admitted.complete(found)
        finally:
            self._is_admitting = False

    # -- finding

    async def _look_up(self, name: str) -> _Found:
        image = await self._topics.find(name)
        if isinstance(image, ErrorCode):
            return None if image is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION else ApiError(image)
        configs = await self._configs(name)
        if isinstance(configs, ApiError):
            if configs.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                return configs
            self._topics.refresh(image.topic_id)  # it was deleted, or is so new that this broker has not heard of it
            return None if self.policy().creates else configs  # the controller knows
        consent = configs.get(DLQ_GROUP_ENABLE)
        takes_letters = is_named(self._config().shareq_dlq_topics, name) if consent is None else consent == "true"
        limit = min(int(configs.get(each, DEFAULT_MESSAGE_BYTES)) for each in _LIMITS)
        queue = QueueTopic(name, image.partitions, takes_letters, limit)
        self._known.pop(name, None)
        self._known[name] = _Known(queue, self._clock.now_ms())
        if len(self._known) > MOST_KNOWN:
            del self._known[next(iter(self._known))]
        return queue

    async def _configs(self, name: str) -> Mapping[str, str] | ApiError:
        """Return the topic's properties that matter for letters; an empty mapping if the node may not read them."""
        resource = DescribeConfigsResource(_TOPIC, name, [DLQ_GROUP_ENABLE, *_LIMITS])
        answer = await self._link.send(None, DescribeConfigsRequest([resource]))
        if isinstance(answer, LinkFailure):
            return {} if answer.failure is Failure.UNSUPPORTED else failure_error(answer)
        assert isinstance(answer, DescribeConfigsResponse)
        if not answer.results:
            return {}
        row = answer.results[0]
        error = error_of(row.error_code)
        if error in RETRIABLE:
            return ApiError(error, row.error_message)
        return {each.name: each.value for each in row.configs if each.value is not None}

    # -- creating

    async def _make(self, name: str) -> ApiError:
        error = await self._ask_controller(name, CREATED_WITH)
        if error.code is ErrorCode.INVALID_CONFIG:
            if not is_named(self._config().shareq_dlq_topics, name):
                return ApiError(error.code, f"{error.message or ''} Is it named by shareq.dlq.topics?".lstrip())
            rest = [each for each in CREATED_WITH if each[0] != DLQ_GROUP_ENABLE]
            error = await self._ask_controller(name, rest)
        if error and error.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
            return error
        self._known.pop(name, None)
        by_ms = self._clock.now_ms() + HEARD_MS
        while self._clock.now_ms() < by_ms:
            found = await self._look_up(name)
            if isinstance(found, QueueTopic):
                return NO_ERROR  # and the next `find` has it
            if found is not None and found.code not in RETRIABLE:
                return found
            await sleep(self._clock, PAUSE_MS)
        return ApiError(ErrorCode.LEADER_NOT_AVAILABLE, "it was created, and no broker has heard of it yet")

    async def _ask_controller(self, name: str, configs: Sequence[tuple[str, str]]) -> ApiError:
        controller = await controller_of(self._link)
        if isinstance(controller, LinkFailure):
            return failure_error(controller)
        wanted = [CreatableTopicConfig(key, value) for key, value in configs]
        topic = CreatableTopic(name, num_partitions=_DEFAULT, replication_factor=_DEFAULT, configs=wanted)
        before = self._topics.known(name)
        answer = await self._link.send(controller, CreateTopicsRequest([topic], TIMEOUT_MS))
        if isinstance(answer, LinkFailure):
            return failure_error(answer)
        assert isinstance(answer, CreateTopicsResponse)
        if not answer.topics:
            return ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)
        row = answer.topics[0]
        if before is not None and not row.error_code:
            self._topics.deleted(before.topic_id)  # the name was free
        return ApiError(error_of(row.error_code), row.error_message)
