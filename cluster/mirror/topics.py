"""The topics of the cluster that some part of the node, or a client of it, asked for: a mirror of Metadata's answers.

    asked for by name or id ---> Metadata ---> image, leaders, news of them
                                    ^
            age, errors of other answers, doubts

An answer only adds facts: an older leader epoch, fewer partitions, or a missing topic change nothing by themselves
(`doubts.py` decides when a topic is deleted). The nodes' own topics are mirrored for the node, and hidden from clients.

When a client asks for all topics, the node asks the cluster for all, and mirrors them as if each had been requested.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from shareq.broker.foundation.environment import Environment, TimerHandle
from shareq.broker.foundation.loop.coroutines import Begin, sleep
from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.foundation.turn_budget import pieces
from shareq.cluster.link.leaders import PartitionLeader
from shareq.cluster.link.ports import Failure, Link, LinkFailure
from shareq.cluster.mirror.doubts import Doubt, Witness, judged
from shareq.cluster.mirror.leaders import LeaderTable
from shareq.cluster.mirror.listing import NAMED_IDS_FROM, list_topics
from shareq.coordinator.ports import TopicImage
from shareq.protocol.errors import ApiError, ErrorCode, error_of
from shareq.protocol.generated.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)
from shareq.protocol.primitives import ZERO_UUID, uuid_to_text

logger = logging.getLogger(__name__)

OWN_PREFIX: Final = "__shareq_"
"""The beginning of the names of the nodes' own topics."""
AGE_MS: Final = 30_000
"""The age of an answer at which the topic is asked for again."""
ABSENT_MS: Final = 5_000
"""The age of an answer at which a name or id without a topic is asked for again."""
PAUSE_MS: Final = 100
"""The pause between two rounds of questions."""
MOST_TOPICS: Final = 200
"""The most topics in one request."""
MOST_PARTITIONS: Final = 2_000
"""The most partitions that the topics of one request have, as far as is known: an answer is read in one turn."""
MOST_GONE: Final = 10_000
"""The number of deleted topics whose ids are remembered, because brokers may learn of a deletion late."""
MOST_ABSENT: Final = 1_000
"""The most names and ids without a topic that are asked for repeatedly: the most recently wanted ones."""

CREATION_MS: Final = 5_000
"""The longest wait for the answer to a client's Metadata request that lets the cluster create topics."""
MOST_FOUND: Final = 10_000
"""The number of mirrored topics from which on a client's request for all topics adds no more."""

_CREATES_FROM: Final = 4
"""The first version of Metadata with the field allow_auto_topic_creation."""
BY_ID_FROM: Final = 12
"""The first version of Metadata that can ask for topics by id."""

Found: TypeAlias = TopicImage | ErrorCode
Key: TypeAlias = str | bytes
"""The name of a topic that is asked for, or its id."""


class _Absent:
    """A name or id without a known topic, and the questions that wait for the next answer about it."""

    __slots__ = ("due_ms", "waiting")

    def __init__(self, due_ms: int) -> None:
        self.due_ms = due_ms
        self.waiting: list[Pending[Found]] = []

    def answer(self, found: Found) -> None:
        """Complete all waiting questions."""
        waiting, self.waiting = self.waiting, []
        for each in waiting:
            each.complete(found)


class _Mirrored:
    """A known topic. `due_ms`: when it is asked for again."""

    __slots__ = ("doubt", "due_ms", "image")

    def __init__(self, image: TopicImage, due_ms: int) -> None:
        self.image = image
        self.due_ms = due_ms
        self.doubt: Doubt | None = None


class TopicMirror:
    """`TopicNames` and the news of `TopicMetadata`, for all topics but the nodes' own; `PartitionLeaders` for all
    topics.

    Listeners are called after the mirror shows the change. `begin` starts the coroutines that ask brokers.
    """

    def __init__(self, env: Environment, link: Link, begin: Begin) -> None:
        self._clock: Final = env.clock
        self._budget: Final = env.budget
        self._link: Final = link
        self._begin: Final = begin
        self._topics: Final[dict[bytes, _Mirrored]] = {}
        self._by_name: Final[dict[str, bytes]] = {}
        self._absent: Final[dict[Key, _Absent]] = {}  # the one asked for last is the last one
        self._gone: Final[dict[bytes, None]] = {}  # the one that was deleted last is the last one
        self._for_all: Final[list[tuple[Pending[ErrorCode], Callable[[str], bool]]]] = []
        self._leaders: Final = LeaderTable()
        self._created: Final[list[Callable[[TopicImage], None]]] = []
        self._grown: Final[list[Callable[[TopicImage, int], None]]] = []
        self._deleted: Final[list[Callable[[TopicImage], None]]] = []
        self._timer: TimerHandle | None = None
        self._timer_ms = 0
        self._is_asking = False
        self._is_closed = False
        self._turn = 0
        self.cluster_id: str | None = None
        """None until the first answer."""

    # -- the image

    def topic(self, name: str) -> TopicImage | None:
        """Return a topic by its name. For an unknown one return None and ask the cluster; listeners are called if it
        exists.
        """
        if name.startswith(OWN_PREFIX):
            return None
        image = self.known(name)
        if image is None and name:
            self._want(name)
        return image

    def topic_by_id(self, topic_id: bytes) -> TopicImage | None:
        """Return a topic by its id. For an unknown one return None and ask the cluster; listeners are called if it
        exists.
        """
        mirrored = self._topics.get(topic_id)
        if mirrored is None:
            if topic_id != ZERO_UUID:
                self._want(topic_id)
            return None
        return None if mirrored.image.name.startswith(OWN_PREFIX) else mirrored.image

    def topics(self) -> Sequence[TopicImage]:
        """Return all mirrored topics but the nodes' own, sorted by name."""
        return [self._topics[self._by_name[name]].image for name in sorted(self._by_name) if not _is_own(name)]

    def known(self, name: str) -> TopicImage | None:
        """Return a mirrored topic, the nodes' own included, or None."""
        topic_id = self._by_name.get(name)
        return None if topic_id is None else self._topics[topic_id].image

    # -- leaders

    def leader(self, topic_id: bytes, partition: int) -> PartitionLeader | None:
        """Return the broker that leads a partition; None if none is known."""
        return self._leaders.get(topic_id, partition)

    def learned(self, topic_id: bytes, partition: int, leader: PartitionLeader) -> None:
        """Note the leader that an answer names for a partition of a mirrored topic."""
        if topic_id in self._topics:
            self._leaders.learn(topic_id, partition, leader.node, leader.epoch)

    def on_leader(self, listener: Callable[[bytes, int], None]) -> None:
        """Call `listener` with topic id and partition after each change of a leader."""
        self._leaders.add_listener(listener)

    # -- questions

    def find(self, key: Key) -> Pending[Found]:
        """Return a topic by name or id, the nodes' own included. If it is not mirrored, ask the cluster. The error is
        Metadata's, REQUEST_TIMED_OUT if no broker answers, or UNSUPPORTED_VERSION if brokers know no topic ids.
        """
        topic_id = self._by_name.get(key) if isinstance(key, str) else key
        mirrored = None if topic_id is None else self._topics.get(topic_id)
        if mirrored is not None:
            return completed(mirrored.image)
        answer: Pending[Found] = Pending()
        if self._is_closed:
            answer.complete(ErrorCode.REQUEST_TIMED_OUT)
        else:
            absent = self._want(key)
            absent.waiting.append(answer)
            absent.due_ms = self._clock.now_ms()
            self._look_at(absent.due_ms)
        return answer

    def find_all(self, wanted: Callable[[str], bool]) -> Pending[ErrorCode]:
        """Ask the cluster for all topics, and mirror those whose name is `wanted`. Completes with NONE, or with
        REQUEST_TIMED_OUT if no broker answers.
        """
        if self._is_closed:
            return completed(ErrorCode.REQUEST_TIMED_OUT)
        answer: Pending[ErrorCode] = Pending()
        self._for_all.append((answer, wanted))
        self._look_at(self._clock.now_ms())
        return answer

    async def auto_create(self, names: Sequence[str]) -> Mapping[str, ApiError]:
        """Ask the cluster for topics in a way that lets it create them, as its own settings say. `names` are few and
        distinct. Return an error for each topic that does not exist yet; for created ones the listeners are called.
        """
        rows = [MetadataRequestTopic(name=name) for name in names]
        answer = await self._ask(self._next_node(()), rows, _CREATES_FROM, creates_in_ms=CREATION_MS)
        if isinstance(answer, LinkFailure):
            return dict.fromkeys(names, ApiError(ErrorCode.LEADER_NOT_AVAILABLE, answer.text))
        missing = {name: ApiError(ErrorCode.LEADER_NOT_AVAILABLE) for name in names}
        for row in answer.topics:
            if row.name is None or row.name not in missing:
                continue
            error = error_of(row.error_code)
            if error is ErrorCode.NONE:
                self._take_in(row.name, row, answer)
                del missing[row.name]
            else:
                missing[row.name] = ApiError(error)
                self._want(row.name).due_ms = self._clock.now_ms() + PAUSE_MS
        self._look_at(self._clock.now_ms() + PAUSE_MS)
        return missing

    def watch(self, image: TopicImage) -> None:
        """Mirror a topic that was known before this node started, so that its deletion can be proved."""
        if image.topic_id not in self._topics and image.name not in self._by_name:
            self._topics[image.topic_id] = _Mirrored(image, self._clock.now_ms())
            self._by_name[image.name] = image.topic_id
            self._look_at(self._clock.now_ms())

    def deleted(self, topic_id: bytes) -> None:
        """Note a deletion that the cluster has shown, by answering DeleteTopics, or by creating another topic of that
        name. A new id is proof, because ids are never used twice.
        """
        self._note_gone(topic_id)
        mirrored = self._topics.get(topic_id)
        if mirrored is not None:
            self._delete(mirrored.image)

    def refresh(self, topic_id: bytes) -> None:
        mirrored = self._topics.get(topic_id)
        if mirrored is not None:
            mirrored.due_ms = min(mirrored.due_ms, self._clock.now_ms())
            self._look_at(mirrored.due_ms)

    # -- news

    def on_topic_created(self, listener: Callable[[TopicImage], None]) -> None:
        """Call `listener` with each newly mirrored topic."""
        self._created.append(listener)

    def on_topic_grown(self, listener: Callable[[TopicImage, int], None]) -> None:
        """Call `listener` with each topic that has got more partitions, and the number that it had before."""
        self._grown.append(listener)

    def on_topic_deleted(self, listener: Callable[[TopicImage], None]) -> None:
        """Call `listener` with each topic whose deletion was proved; the mirror no longer has it then."""
        self._deleted.append(listener)

    def close(self) -> None:
        """Ask no more; complete all waiting questions with REQUEST_TIMED_OUT."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        for absent in self._absent.values():
            absent.answer(ErrorCode.REQUEST_TIMED_OUT)
        for answer, _ in self._for_all:
            answer.complete(ErrorCode.REQUEST_TIMED_OUT)

    # -- what is due

    def _want(self, key: Key) -> _Absent:
        absent = self._absent.pop(key, None) or _Absent(self._clock.now_ms())
        self._absent[key] = absent
        if len(self._absent) > MOST_ABSENT:
            oldest = next(iter(self._absent))
            self._absent.pop(oldest).answer(ErrorCode.REQUEST_TIMED_OUT)
        self._look_at(absent.due_ms)
        return absent

    def _look_at(self, when_ms: int) -> None:
        """Make sure that a round of questions begins by that time."""
        if self._is_asking or self._is_closed:
            return
        if self._timer is not None:
            if self._timer_ms <= when_ms:
                return
            self._timer.cancel()
        self._timer_ms = when_ms
        self._timer = self._clock.call_at(when_ms, self._go)

    def _go(self) -> None:
        self._timer = None
        if not self._is_asking and not self._is_closed:
            self._is_asking = True
            self._begin(self._round())

    async def _round(self) -> None:
        """Ask for all topics that are due, then pause, so that a cluster in trouble is not asked without end."""
        now_ms = self._clock.now_ms()
        names = [key for key, each in self._absent.items() if each.due_ms <= now_ms and isinstance(key, str)]
        ids = [key for key, each in self._absent.items() if each.due_ms <= now_ms and isinstance(key, bytes)]
        names += [each.image.name for each in self._topics.values() if each.due_ms <= now_ms]
        try:
            if self._for_all:
                await self._ask_for_all()
            for some_names in self._requests(dict.fromkeys(names)):
                await self._ask_names(some_names)
            for some_ids in pieces(ids, MOST_TOPICS):
                await self._ask_ids(some_ids)
            await sleep(self._clock, PAUSE_MS)
        finally:
            self._is_asking = False
            due = [each.due_ms for each in self._topics.values()]
            due += [each.due_ms for each in self._absent.values()]
            due += [now_ms] * bool(self._for_all)
            if due:
                self._look_at(min(due))

    def _requests(self, names: Iterable[str]) -> Iterator[list[str]]:
        """Yield the names, divided into requests."""
        some: list[str] = []
        partitions = 0
        for name in names:
            image = self.known(name)
            partitions += 1 if image is None else image.partitions
            if some and (partitions > MOST_PARTITIONS or len(some) == MOST_TOPICS):
                yield some
                some, partitions = [], 1 if image is None else image.partitions
            some.append(name)
        if some:
            yield some

    async def _ask_for_all(self) -> None:
        waiting = list(self._for_all)
        self._for_all.clear()
        wanted = {wants for _, wants in waiting}
        node = self._next_node(())
        failure = await list_topics(
            self._link, None if node < 0 else node, lambda rows, answer: self._take_in_all(rows, answer, wanted)
        )
        for each, _ in waiting:
            each.complete(ErrorCode.NONE if failure is None else ErrorCode.REQUEST_TIMED_OUT)

    async def _take_in_all(
        self,
        rows: Sequence[MetadataResponseTopic],
        answer: MetadataResponse,
        wanted: Collection[Callable[[str], bool]],
    ) -> bool:
        """Mirror wanted topics of a list of all, while there is room; return True if more are wanted."""
        for row in rows:
            name = row.name
            if name is None or row.error_code or not any(wants(name) for wants in wanted):
                continue
            if row.topic_id not in self._topics and len(self._topics) >= MOST_FOUND:
                logger.warning("%d topics are known, and no more are listed: topic %s is not", MOST_FOUND, name)
                return False
            self._take_in(name, row, answer)
            await self._budget.breathe(1 + len(row.partitions))
        return True

    async def _ask_names(self, names: Sequence[str]) -> None:
        node = self._next_node(names)
        answer = await self._ask(node, [MetadataRequestTopic(name=name) for name in names], NAMED_IDS_FROM)
        if isinstance(answer, LinkFailure):
            for name in names:
                self._failed(name, answer)
            return
        found = {topic.name: topic for topic in answer.topics if topic.name is not None}
        missing: dict[bytes, Witness] = {}
        for name in names:
            row = found.get(name) or MetadataResponseTopic(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name)
            topic_id = self._by_name.get(name)
            if topic_id is None or row.topic_id == topic_id:
                self._take_in(name, row, answer)
            else:
                named_id = None if row.error_code else row.topic_id
                missing[topic_id] = Witness(node, ErrorCode.NONE, error_of(row.error_code), named_id)
        for some_ids in pieces(list(missing), MOST_TOPICS):
            await self._doubt({topic_id: missing[topic_id] for topic_id in some_ids})

    async def _doubt(self, witnesses: Mapping[bytes, Witness]) -> None:
        """Ask the broker that does not know these topics by name for their ids; judge its answer."""
        node = next(iter(witnesses.values())).node
        rows = [MetadataRequestTopic(topic_id=topic_id, name=None) for topic_id in witnesses]
        answer = await self._ask(node, rows, BY_ID_FROM)
        now_ms = self._clock.now_ms()
        errors = {} if isinstance(answer, LinkFailure) else {row.topic_id: row.error_code for row in answer.topics}
        for topic_id, witness in witnesses.items():
            mirrored = self._topics.get(topic_id)
            if mirrored is None:
                continue
            mirrored.due_ms = now_ms + AGE_MS
            if topic_id not in errors or node < 0:
                continue  # no broker answered, or it is not known which one did
            said = witness._replace(by_id=error_of(errors[topic_id]))
            verdict = judged(mirrored.doubt, topic_id, said, now_ms, len(self._link.brokers))
            if isinstance(verdict, bool):
                self._delete(mirrored.image)
            else:
                mirrored.doubt = verdict
                if verdict is not None and verdict.due_ms > now_ms:
                    mirrored.due_ms = min(mirrored.due_ms, verdict.due_ms)

    async def _ask_ids(self, ids: Sequence[bytes]) -> None:
        rows = [MetadataRequestTopic(topic_id=topic_id, name=None) for topic_id in ids]
        answer = await self._ask(self._next_node(()), rows, BY_ID_FROM)
        if isinstance(answer, LinkFailure):
            for topic_id in ids:
                self._failed(topic_id, answer)
            return
        found = {topic.topic_id: topic for topic in answer.topics}
        for topic_id in ids:
            row = found.get(topic_id) or MetadataResponseTopic(ErrorCode.UNKNOWN_TOPIC_ID, None, topic_id)
            self._take_in(topic_id, row, answer)

    async def _ask(
        self, node: int, rows: list[MetadataRequestTopic], min_version: int, *, creates_in_ms: int | None = None
    ) -> MetadataResponse | LinkFailure:
        request = MetadataRequest(rows, allow_auto_topic_creation=creates_in_ms is not None)
        to = None if node < 0 else node
        answer = await self._link.send(to, request, min_version=min_version, timeout_ms=creates_in_ms)
        if isinstance(answer, LinkFailure):
            return answer
        assert isinstance(answer, MetadataResponse)
        self.cluster_id = answer.cluster_id or self.cluster_id
        return answer

    def _next_node(self, names: Iterable[str]) -> int:
        """Return the next broker in turn, except the one that denied one of the topics first; -1 stands for any
        broker.
        """
        doubted = {self._topics[self._by_name[name]].doubt for name in names if name in self._by_name}
        denied_by = {doubt.node for doubt in doubted if doubt is not None}
        nodes = sorted(self._link.brokers)
        if not nodes:
            return -1
        self._turn += 1
        in_turn = [nodes[(self._turn + each) % len(nodes)] for each in range(len(nodes))]
        return next((node for node in in_turn if node not in denied_by), in_turn[0])

    # -- answers

    def _failed(self, key: Key, failure: LinkFailure) -> None:
        now_ms = self._clock.now_ms()
        absent = self._absent.get(key)
        if absent is not None:
            unsupported = failure.failure is Failure.UNSUPPORTED
            absent.due_ms = now_ms + (AGE_MS if unsupported else ABSENT_MS)
            absent.answer(ErrorCode.UNSUPPORTED_VERSION if unsupported else ErrorCode.REQUEST_TIMED_OUT)
        elif isinstance(key, str) and (topic_id := self._by_name.get(key)) is not None:
            self._topics[topic_id].due_ms = now_ms + PAUSE_MS

    def _absent_again(self, key: Key, error: ErrorCode) -> None:
        absent = self._absent.get(key)
        if absent is not None:
            absent.due_ms = self._clock.now_ms() + ABSENT_MS
            absent.answer(error)

    def _take_in(self, key: Key, row: MetadataResponseTopic, answer: MetadataResponse) -> None:
        now_ms = self._clock.now_ms()
        error = error_of(row.error_code)
        if error is not ErrorCode.NONE or row.name is None or row.topic_id == ZERO_UUID:
            self._absent_again(key, error or ErrorCode.UNSUPPORTED_VERSION)
            return
        if row.topic_id in self._gone:  # this broker has not heard of it
            by_name = isinstance(key, str)
            self._absent_again(key, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if by_name else ErrorCode.UNKNOWN_TOPIC_ID)
            return
        racks = _racks(row, answer)
        mirrored = self._topics.get(row.topic_id)
        partitions = max(len(row.partitions), 0 if mirrored is None else mirrored.image.partitions)
        image = TopicImage(row.name, row.topic_id, partitions, row.is_internal, racks)
        before = None if mirrored is None else mirrored.image
        if mirrored is None:
            if row.name in self._by_name:  # it is another one's, whose deletion has to be proved first
                self._absent_again(key, ErrorCode.LEADER_NOT_AVAILABLE)
                return
            mirrored = self._topics[row.topic_id] = _Mirrored(image, 0)
            self._by_name[row.name] = row.topic_id
        mirrored.image = image
        mirrored.doubt = None
        mirrored.due_ms = now_ms + (PAUSE_MS if _is_leaderless(row) else AGE_MS)
        if before is None:
            logger.info("topic %s: mirrored, id %s, partitions %d", row.name, uuid_to_text(row.topic_id), partitions)
            if not _is_own(row.name):
                _call(self._created, image)
        elif before.partitions < partitions and not _is_own(row.name):
            _call(self._grown, image, before.partitions)
        for partition in row.partitions:
            self._leaders.learn(row.topic_id, partition.partition_index, partition.leader_id, partition.leader_epoch)
        for known in (row.name, row.topic_id):
            absent = self._absent.pop(known, None)
            if absent is not None:
                absent.answer(image)

    def _delete(self, image: TopicImage) -> None:
        logger.info("topic %s: deleted, id %s", image.name, uuid_to_text(image.topic_id))
        self._note_gone(image.topic_id)
        del self._topics[image.topic_id]
        del self._by_name[image.name]
        self._leaders.forget(image.topic_id)
        if not _is_own(image.name):
            _call(self._deleted, image)
        self._want(image.name)  # there may be another one by that name

    def _note_gone(self, topic_id: bytes) -> None:
        self._gone.pop(topic_id, None)
        self._gone[topic_id] = None
        if len(self._gone) > MOST_GONE:
            del self._gone[next(iter(self._gone))]


def _is_own(name: str) -> bool:
    return name.startswith(OWN_PREFIX)


def _is_leaderless(row: MetadataResponseTopic) -> bool:
    return any(partition.leader_id < 0 for partition in row.partitions)


def _racks(row: MetadataResponseTopic, answer: MetadataResponse) -> tuple[str, ...]:
    racks = {broker.node_id: broker.rack for broker in answer.brokers}
    nodes = {node for partition in row.partitions for node in partition.replica_nodes}
    return tuple(sorted({rack for node in nodes if (rack := racks.get(node)) is not None}))


def _call(listeners: Iterable[Callable[..., None]], image: TopicImage, *arguments: int) -> None:
    for listener in listeners:
        try:
            listener(image, *arguments)
        except Exception:  # the mirror shows the change: every other listener must still hear of it
            logger.exception("topic %s: a listener failed", image.name)
