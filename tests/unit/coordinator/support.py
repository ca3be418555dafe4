"""Coordinator shards without a broker: topics in a dict, a log in a list, a clock in an attribute."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import md5
from typing import Generic, TypeVar

from shareq.broker.log.cleaner.survivors import Rule, survivors
from shareq.coordinator.group.offsets.commit import PreparedCommit, refused
from shareq.coordinator.group.offsets.group_offsets import GroupOffsets
from shareq.coordinator.group.serde import GROUP_SERDE
from shareq.coordinator.ports import ConsumerGroupSettings, ShareGroupSettings, TopicImage
from shareq.coordinator.shard import CoordinatorRecord, CoordinatorResult, CoordinatorShard, RecordSerde, Steps, at_once
from shareq.protocol.generated.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from shareq.protocol.primitives import Message
from tests.support.worlds.cleaner import Reported

T = TypeVar("T")
ShardT = TypeVar("ShardT", bound=CoordinatorShard)

START_WALL_MS = 1_700_000_000_000
AMPLE = 1 << 30


def topic_id_of(name: str, incarnation: int = 0) -> bytes:
    return md5(f"{name}/{incarnation}".encode()).digest()


class Topics:
    def __init__(self, **partitions: int) -> None:
        self._by_name: dict[str, TopicImage] = {}
        self._incarnation = 0
        for name, count in partitions.items():
            self.create(name, count)

    def create(self, name: str, partitions: int, *, racks: tuple[str, ...] = ()) -> TopicImage:
        self._by_name[name] = TopicImage(name, topic_id_of(name, self._incarnation), partitions, racks=racks)
        return self._by_name[name]

    def grow(self, name: str, partitions: int) -> None:
        self._by_name[name] = self._by_name[name]._replace(partitions=partitions)

    def delete(self, name: str) -> TopicImage:
        self._incarnation += 1
        return self._by_name.pop(name)

    def names(self) -> list[str]:
        return list(self._by_name)

    def topics(self) -> list[TopicImage]:
        return list(self._by_name.values())

    def topic(self, name: str) -> TopicImage | None:
        return self._by_name.get(name)

    def topic_by_id(self, topic_id: bytes) -> TopicImage | None:
        return next((topic for topic in self._by_name.values() if topic.topic_id == topic_id), None)


class Settings:
    def __init__(self, settings: ShareGroupSettings | None = None) -> None:
        self.settings = settings or ShareGroupSettings()
        self.consumer = ConsumerGroupSettings()

    def share_group(self, group_id: str) -> ShareGroupSettings:
        return self.settings

    def consumer_group(self, group_id: str) -> ConsumerGroupSettings:
        return self.consumer


class Time:
    def __init__(self) -> None:
        self.now_ms = 0

    def wall_ms(self) -> int:
        return START_WALL_MS + self.now_ms


class Log(Generic[ShardT]):
    """A shard and its log. `run` acts like the runtime, `reload` like a restart."""

    def __init__(self, new_shard: Callable[[], ShardT], serde: RecordSerde, time: Time) -> None:
        self._new_shard = new_shard
        self._serde = serde
        self._time = time
        self.encoded: list[tuple[bytes, bytes | None]] = []
        self.last: tuple[CoordinatorRecord, ...] = ()
        self.answers: dict[int, Message] = {}
        """The answers to requests that wait, by token."""
        self.shard = new_shard()
        at_once(self.shard.on_loaded(time.now_ms))

    def run(self, operation: CoordinatorResult[T] | Steps[CoordinatorResult[T]]) -> T:
        """Append and replay the records of an operation; `last` holds them."""
        result = operation if isinstance(operation, CoordinatorResult) else at_once(operation)
        self.last = result.records
        for record in result.records:
            self.encoded.append(self._serde.encode(record))
            self.shard.replay(record, len(self.encoded) - 1)
        for late in result.answers:
            assert late.token not in self.answers, "answered twice"
            self.answers[late.token] = late.response
        return result.response

    def fresh(self) -> ShardT:
        return self._new_shard()

    def loaded(self) -> ShardT:
        shard = self.fresh()
        for offset, (key, value) in enumerate(self.encoded):
            record = self._serde.decode(key, value)
            assert record is not None
            shard.replay(record, offset)
        at_once(shard.on_loaded(self._time.now_ms))
        return shard

    def compacted(self, rule: Rule, upto: int, tombstones_are_over: bool) -> ShardT:
        """Load the log after the cleaner has removed the records below `upto` that its rule does not keep."""
        reported = [Reported(offset, key, value is not None) for offset, (key, value) in enumerate(self.encoded)]
        kept = survivors(reported[:upto], rule, ends_are_over=lambda _offset: tombstones_are_over)
        shard = self.fresh()
        for record in [*kept, *reported[upto:]]:
            decoded = self._serde.decode(*self.encoded[record.offset])
            assert decoded is not None
            shard.replay(decoded, record.offset)
        return shard

    def reload(self) -> None:
        self.shard = self.loaded()

    def advance(self, ms: int) -> None:
        end = self._time.now_ms + ms
        while (deadline := self.shard.next_deadline_ms()) is not None and deadline <= end:
            self._time.now_ms = max(deadline, self._time.now_ms)
            self.run(self.shard.on_deadline(self._time.now_ms))
        self._time.now_ms = end

    def value_types(self) -> list[str]:
        """Return the types of the last operation's values; for a tombstone, the negated type of its key."""
        return [type(r.value).__name__ if r.value is not None else f"-{type(r.key).__name__}" for r in self.last]


def commit_decision(
    offsets: GroupOffsets, request: OffsetCommitRequest, version: int, time: Time, *, transactional: bool = False
) -> CoordinatorResult[OffsetCommitResponse]:
    """Return a group's decision on an OffsetCommit or a TxnOffsetCommit, with the rows of its answer."""
    prepared = PreparedCommit(GROUP_SERDE, offsets.settings.longest_metadata, AMPLE)
    prepared.add(request, time.wall_ms())
    if transactional:
        decision = offsets.commit_transactional(request, version, prepared)
    else:
        decision = offsets.commit(request, version, time.now_ms, prepared)
    if decision.response:
        return CoordinatorResult(refused(request, decision.response))
    return CoordinatorResult(OffsetCommitResponse(topics=prepared.topics), decision.records)
