"""The longest tick, in calls of Python functions, while a node takes over a slot with many records."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Final

import pytest

from shareq.broker.coordinator_runtime.batches import CoordinatorLogSettings
from shareq.broker.coordinator_runtime.one_in_steps import LoadTurns
from shareq.broker.coordinator_runtime.partition import CoordinatorPartition
from shareq.broker.foundation.pending import Pending
from shareq.cluster.link.ports import BrokerAddress, LinkFailure, Purpose
from shareq.cluster.state.fencing import Producer, take_over_batch
from shareq.cluster.state.log import SlotLog
from shareq.coordinator.ports import TopicImage
from shareq.coordinator.shard import CoordinatorRecord, Steps
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.coordinator.share.records import SHARE_STATE_SERDE
from shareq.coordinator.share.shard import ShareCoordinatorSettings, ShareCoordinatorShard
from shareq.coordinator.share.state_batches import StateBatch
from shareq.protocol.generated.fetch import FetchableTopicResponse, FetchRequest, FetchResponse, PartitionData
from shareq.protocol.primitives import Message
from shareq.protocol.records.batch import RecordData, build_batch, read_header
from shareq.protocol.share import RecordState
from tests.support.fakes.slot_owner import SlotOwner
from tests.support.fakes.small_cluster import NODE, TOPIC, TOPIC_ID, SmallCluster
from tests.support.metered_clock import CountingClock

RECORDS: Final = 30_000
MOST_CALLS: Final = 20_000
"""The most calls in a tick, which take a few milliseconds. Work on all records at once needs more."""
OWNER: Final = Producer(7, 0)
PARTITIONS: Final = 100_000


class OneTopic:
    _topic = TopicImage("t", b"T" * 16, PARTITIONS)

    def topic(self, name: str) -> TopicImage | None:
        return self._topic if name == self._topic.name else None

    def topic_by_id(self, topic_id: bytes) -> TopicImage | None:
        return self._topic if topic_id == self._topic.topic_id else None


def new_shard() -> ShareCoordinatorShard:
    return ShareCoordinatorShard(OneTopic(), lambda: 1_700_000_000_000, ShareCoordinatorSettings())


def key_of(partition: int) -> SharePartitionKey:
    return SharePartitionKey("a group with a name of some length", b"T" * 16, partition)


class LongLog:
    """A slot's log filled by an earlier owner, in which a fetch finds its position at once."""

    def __init__(self) -> None:
        self.cluster: Final = SmallCluster()
        self._ends: list[int] = []
        self._append(take_over_batch(OWNER, node_id=9, sequence=0, now_wall_ms=0))

    def write(self, records: Iterable[CoordinatorRecord], *, together: int = 1) -> None:
        """Append records as the earlier owner, `together` of them in a batch."""
        encoded = [RecordData(*SHARE_STATE_SERDE.encode(record)) for record in records]
        for at in range(0, len(encoded), together):
            part = encoded[at : at + together]
            self._append(build_batch(part, timestamp_ms=9, producer_id=OWNER.producer_id, producer_epoch=OWNER.epoch))

    def repeat(self, records: Iterable[CoordinatorRecord], count: int) -> None:
        """Append the same records `count` times, each in a batch of its own."""
        batches = [
            build_batch(
                [RecordData(*SHARE_STATE_SERDE.encode(record))],
                timestamp_ms=9,
                producer_id=OWNER.producer_id,
                producer_epoch=OWNER.epoch,
            )
            for record in records
        ]
        for at in range(count):
            self._append(batches[at % len(batches)])

    def _append(self, batch: bytearray) -> None:
        self.cluster.append(batch)
        self._ends.append(self.cluster.end)

    def fetched(self, request: FetchRequest) -> FetchResponse:
        wanted = request.topics[0].partitions[0]
        batches = self.cluster.batches
        for batch in batches[len(self._ends) :]:  # what the new owner has written
            self._ends.append(read_header(batch).next_offset)
        at = bisect_right(self._ends, wanted.fetch_offset)
        taken: list[bytes] = []
        size = 0
        while at < len(batches) and (not taken or size + len(batches[at]) <= wanted.partition_max_bytes):
            taken.append(batches[at])
            size += len(batches[at])
            at += 1
        end = self.cluster.end
        data = PartitionData(0, 0, end, end, 0, records=b"".join(taken))
        return FetchResponse(responses=[FetchableTopicResponse(TOPIC, TOPIC_ID, [data])])


class MeteredLink:
    """A `Link` to the broker of a long log. Answers arrive as calls of the loop, which are counted."""

    def __init__(self, clock: CountingClock, log: LongLog) -> None:
        self.brokers: Mapping[int, BrokerAddress] = {NODE: BrokerAddress("broker", 9092)}
        self._clock = clock
        self._log = log
        self._asked: list[tuple[Message, Pending[Message | LinkFailure]]] = []

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
    ) -> Pending[Message | LinkFailure]:
        answer: Pending[Message | LinkFailure] = Pending()
        self._asked.append((message, answer))
        return answer

    def answer(self) -> bool:
        asked, self._asked = self._asked, []
        for message, pending in asked:
            if isinstance(message, FetchRequest):
                answer: Message = self._log.fetched(message)
            else:
                answer = self._log.cluster.handle(message)
            self._clock.measured(partial(pending.complete, answer))
        return bool(asked)

    def offers(self, node: int | None, api_key: int) -> int | None:
        return None

    def on_lost(self, listener: object) -> None: ...

    def close(self) -> None: ...


def taken_over(log: LongLog) -> ShareCoordinatorShard:
    """Take the slot over in ticks of at most `MOST_CALLS`, and return the loaded shard."""
    clock = CountingClock()
    loaded = loaded_by(clock, log)
    assert clock.longest <= MOST_CALLS, "the longest tick"
    return loaded


def loaded_by(clock: CountingClock, log: LongLog) -> ShareCoordinatorShard:
    link = MeteredLink(clock, log)
    owner = SlotOwner(clock, link)

    def until(done: Pending[object]) -> None:
        while not done.done:
            assert clock.run_tick() or link.answer(), "nothing goes on"

    taken = owner.begin_take_over()
    until(taken)  # type: ignore[arg-type]
    slot_log = taken.value
    assert isinstance(slot_log, SlotLog)
    partition = CoordinatorPartition(
        owner.env, slot_log, new_shard, SHARE_STATE_SERDE, CoordinatorLogSettings(), LoadTurns()
    )
    clock.measured(lambda: partition.load(refuses=True))
    until(partition.loaded)  # type: ignore[arg-type]
    clock.run_tick()
    assert partition.loaded.value
    return partition.shard


def updates(shard: ShareCoordinatorShard, partition: int, count: int) -> list[CoordinatorRecord]:
    key = key_of(partition)
    found: list[CoordinatorRecord] = []
    for at in range(count):
        batch = StateBatch(at * 10, at * 10 + 4, RecordState.ACKNOWLEDGED, 1)
        result = shard.write(key, 1, 0, at * 10, 0, [batch])
        found += result.records
        for record in result.records:
            shard.replay(record, at)
    return found


def test_many_records_of_one_share_partition() -> None:
    log, shard = LongLog(), new_shard()
    first = shard.initialize(key_of(0), 1, 0).records
    for record in first:
        shard.replay(record, 0)
    log.write(first)
    log.repeat(updates(shard, 0, 400), RECORDS)
    state = taken_over(log).state_of(key_of(0))
    assert state is not None
    assert state.updates == RECORDS


def test_many_share_partitions() -> None:
    """The states were written in one append, as when a group subscribes to a topic of many partitions."""
    log, shard = LongLog(), new_shard()
    log.write((record for at in range(RECORDS) for record in shard.initialize(key_of(at), 1, 0).records), together=1000)
    assert len(taken_over(log).share_partitions()) == RECORDS


def test_a_turn_that_takes_too_long_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    log, shard = LongLog(), new_shard()
    log.write(record for at in range(10) for record in shard.initialize(key_of(at), 1, 0).records)

    def slow(shard: ShareCoordinatorShard, _now_ms: int) -> Steps[None]:
        for _ in range(MOST_CALLS):
            shard.next_deadline_ms()
        yield

    monkeypatch.setattr(ShareCoordinatorShard, "on_loaded", slow)
    with pytest.raises(AssertionError, match="the longest tick"):
        taken_over(log)
