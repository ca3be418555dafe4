from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from devtools.clients.requests import batch, fetch_request, only_partition, produce_request
from devtools.clients.transactor import Transactor
from devtools.in_memory.mock_transport import BrokerWorld, MockConnection
from shareq.broker.fetch.read import FetchRead
from shareq.broker.fetch.sessions import SessionPartition
from shareq.broker.fetch.wait import LONGEST_WAIT_MS
from shareq.broker.network.answer_budget import ROOM_WAIT_MS, STALL_MS, TOTAL_BYTES
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from shareq.protocol.generated.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from shareq.protocol.generated.produce import ProduceResponse
from tests.support.fakes.host import ELSEWHERE
from tests.support.fakes.memory_log import MemoryLog, MemoryLogs

BATCH_BYTES = len(batch(b"x" * 100))


class Holder:
    closed = False

    def untaken(self) -> int:
        return TOTAL_BYTES

    def give_way(self, reason: str) -> None:
        self.closed = True


def produce(client: MockConnection, *, partition: int = 0) -> None:
    client.call(produce_request(batch(b"x" * 100), topic="t", partition=partition), 9, ProduceResponse)


def waiting_world(
    *, max_wait_ms: int, min_bytes: int = 1, max_bytes: int = 1 << 20, partition_max_bytes: int = 1 << 20
) -> tuple[BrokerWorld, MockConnection, MockConnection]:
    world = BrokerWorld()
    world.create_topic("t", partitions=2)
    consumer, producer = world.connect(), world.connect()
    request = fetch_request(
        "t",
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        partition_max_bytes=partition_max_bytes,
    )
    consumer.send(request, 12)
    world.clock.run_until_idle()
    assert not consumer.frames
    assert len(world.services.fetch_waits) == 1
    return world, consumer, producer


def test_the_time_is_up_exactly_then() -> None:
    world, consumer, _ = waiting_world(max_wait_ms=500)
    world.clock.advance(499)
    assert not consumer.frames
    world.clock.advance(1)
    assert len(only_partition(consumer.receive(FetchResponse)).records or b"") == 0
    assert len(world.services.fetch_waits) == 0


MANY = 1_000  # partitions, of which so many are read in a turn


def many_partitions(**limits: int) -> FetchRequest:
    parts = [FetchPartition(partition=at, fetch_offset=0, partition_max_bytes=1 << 20) for at in range(MANY)]
    values = {"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1 << 20, "session_id": 0, "session_epoch": 0} | limits
    return FetchRequest(topics=[FetchTopic(topic="t", partitions=parts)], **values)  # type: ignore[arg-type]


def test_many_partitions_are_read_and_answered_once_each(world: BrokerWorld) -> None:
    world.create_topic("t", partitions=MANY)
    consumer, producer = world.connect(), world.connect()
    for at in (0, 500, MANY - 1):
        produce(producer, partition=at)
    full = consumer.call(many_partitions(), 12, FetchResponse)
    (topic,) = full.responses
    assert [part.partition_index for part in topic.partitions] == list(range(MANY))
    assert [part.partition_index for part in topic.partitions if part.records] == [0, 500, MANY - 1]
    produce(producer, partition=7)
    ids = {"session_id": full.session_id, "session_epoch": 1}
    (topic,) = consumer.call(many_partitions(**ids), 12, FetchResponse).responses
    assert [part.partition_index for part in topic.partitions] == [0, 7, 500, MANY - 1]


def test_a_record_that_comes_while_many_partitions_are_read_ends_the_wait(
    monkeypatch: pytest.MonkeyPatch, world: BrokerWorld
) -> None:
    """The record is in a partition that was already read."""
    world.create_topic("t", partitions=MANY)
    consumer, producer = world.connect(), world.connect()
    reads, original = [0], FetchRead.go_on

    def read(*args: Any) -> Sequence[SessionPartition]:
        left = original(*args)
        reads[0] += 1
        if reads[0] == 1:
            producer.send(produce_request(batch(b"x"), topic="t"), 9)
        return left

    monkeypatch.setattr(FetchRead, "go_on", read)
    consumer.send(many_partitions(max_wait_ms=60_000), 12)
    world.clock.run_until_idle()
    (topic,) = consumer.receive(FetchResponse).responses
    assert [part.partition_index for part in topic.partitions if part.records] == [0]


def test_a_fetch_that_waits_is_refused_when_its_leader_moves() -> None:
    world, consumer, _ = waiting_world(max_wait_ms=60_000)
    world.leaders.move("t", 1, ELSEWHERE)
    world.clock.run_until_idle()
    assert not consumer.frames  # it reads another partition
    world.leaders.move("t", 0, ELSEWHERE)
    refused = only_partition(consumer.receive(FetchResponse))
    assert (refused.error_code, refused.records) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, b"")
    assert len(world.services.fetch_waits) == 0


def test_what_has_no_room_in_memory_is_read_as_soon_as_there_is(world: BrokerWorld) -> None:
    world.create_topic("t", partitions=1)
    consumer, budget, holder = world.connect(), world.services.answer_budget, Holder()
    produce(consumer)
    budget.note_unsent(holder, TOTAL_BYTES - 1)
    consumer.send(fetch_request("t", max_wait_ms=60_000), 12)
    world.clock.advance(ROOM_WAIT_MS - 1)
    assert not consumer.frames
    budget.note_unsent(holder, 0)
    world.clock.advance(1)
    assert only_partition(consumer.receive(FetchResponse)).records


def test_without_room_in_memory_a_fetch_is_soon_answered_without_records(world: BrokerWorld) -> None:
    world.create_topic("t", partitions=1)
    consumer, holder = world.connect(), Holder()
    produce(consumer)
    world.services.answer_budget.note_unsent(holder, TOTAL_BYTES - 1)
    consumer.send(fetch_request("t", max_wait_ms=60_000), 12)
    world.clock.advance(ROOM_WAIT_MS)
    assert only_partition(consumer.receive(FetchResponse)).records == b""
    world.clock.advance(STALL_MS)
    consumer.send(fetch_request("t", max_wait_ms=60_000), 12)
    assert only_partition(consumer.receive(FetchResponse)).records, "who takes nothing was closed"
    assert holder.closed


def test_no_wait_is_longer_than_five_minutes() -> None:
    world, consumer, _ = waiting_world(max_wait_ms=2**31 - 1)
    world.clock.advance(LONGEST_WAIT_MS)
    assert consumer.receive(FetchResponse).error_code == ErrorCode.NONE


def test_the_next_record_ends_the_wait_in_the_tick_it_counts() -> None:
    world, consumer, producer = waiting_world(max_wait_ms=500)
    produce(producer, partition=1)
    assert not consumer.frames
    produce(producer)
    assert len(only_partition(consumer.receive(FetchResponse)).records or b"") == BATCH_BYTES
    assert len(world.services.fetch_waits) == 0


@pytest.mark.parametrize(
    ("min_bytes", "batches"), [(1, 1), (BATCH_BYTES, 1), (BATCH_BYTES + 1, 2), (3 * BATCH_BYTES, 3)]
)
def test_min_bytes_are_waited_for(min_bytes: int, batches: int) -> None:
    _, consumer, producer = waiting_world(max_wait_ms=500, min_bytes=min_bytes)
    for _ in range(batches - 1):
        produce(producer)
        assert not consumer.frames
    produce(producer)
    assert len(only_partition(consumer.receive(FetchResponse)).records or b"") == batches * BATCH_BYTES


def test_too_little_is_answered_when_the_time_is_up() -> None:
    world, consumer, producer = waiting_world(max_wait_ms=500, min_bytes=10_000)
    produce(producer)
    world.clock.advance(500)
    assert len(only_partition(consumer.receive(FetchResponse)).records or b"") == BATCH_BYTES


def test_min_bytes_beyond_max_bytes_are_not_waited_for() -> None:
    _, consumer, producer = waiting_world(max_wait_ms=500, min_bytes=10_000, max_bytes=1)
    produce(producer)
    assert len(only_partition(consumer.receive(FetchResponse)).records or b"") == BATCH_BYTES


def test_bytes_beyond_a_partitions_limit_do_not_count() -> None:
    world, consumer, producer = waiting_world(
        max_wait_ms=500, min_bytes=2 * BATCH_BYTES, partition_max_bytes=BATCH_BYTES
    )
    for _ in range(5):
        produce(producer)
    assert not consumer.frames
    world.clock.advance(500)
    assert len(only_partition(consumer.receive(FetchResponse)).records or b"") == BATCH_BYTES


def test_bytes_of_all_partitions_count(world: BrokerWorld) -> None:
    world.create_topic("t", partitions=2)
    consumer, producer = world.connect(), world.connect()
    parts = [FetchPartition(index, partition_max_bytes=10_000) for index in range(2)]
    consumer.send(
        FetchRequest(max_wait_ms=500, min_bytes=2 * BATCH_BYTES, topics=[FetchTopic("t", partitions=parts)]), 12
    )
    produce(producer, partition=0)
    assert not consumer.frames
    produce(producer, partition=1)
    response = consumer.receive(FetchResponse)
    assert [len(part.records or b"") for part in response.responses[0].partitions] == [BATCH_BYTES] * 2


# -- records that their log has to fetch first


def elsewhere(monkeypatch: pytest.MonkeyPatch, **limits: int) -> tuple[BrokerWorld, MockConnection, MemoryLog]:
    """Return a consumer whose fetch waits for a log without local records."""
    world = BrokerWorld()
    world.create_topic("t", partitions=MANY)
    logs = MemoryLogs(world.services.metadata)
    monkeypatch.setattr(world.services, "lookup", logs.lookup())
    log = logs.get("t", 0)
    log.fill(b"x" * 100)
    log.missing_from = 0
    consumer = world.connect()
    request = many_partitions(max_wait_ms=500, **limits) if limits else fetch_request("t", max_wait_ms=500)
    consumer.send(request, 12)
    world.clock.run_until_idle()
    assert not consumer.frames
    return world, consumer, log


@pytest.mark.parametrize("limits", [{}, {"min_bytes": 2}], ids=["one partition", "many partitions"])
def test_records_that_are_not_here_are_waited_for(limits: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    world, consumer, log = elsewhere(monkeypatch, **limits)
    world.clock.advance(200)
    log.missing_from = None
    world.services.fetch_waits.on_high_watermark(log)
    world.clock.run_until_idle()
    response = consumer.receive(FetchResponse)
    assert [part.partition_index for part in response.responses[0].partitions if part.records] == [0]
    assert len(world.services.fetch_waits) == 0


def test_a_fetch_that_finds_them_gone_again_waits_on_until_its_own_time(monkeypatch: pytest.MonkeyPatch) -> None:
    world, consumer, log = elsewhere(monkeypatch)
    world.clock.advance(200)
    for _ in range(3):
        world.services.fetch_waits.on_high_watermark(log)
        world.clock.run_until_idle()
    assert (len(consumer.frames), len(world.services.fetch_waits)) == (0, 1)
    world.clock.advance(299)
    assert not consumer.frames
    world.clock.advance(1)
    part = only_partition(consumer.receive(FetchResponse))
    assert (part.error_code, part.records) == (ErrorCode.NONE, b"")


def test_a_stop_answers_a_fetch_whose_records_are_not_here(monkeypatch: pytest.MonkeyPatch) -> None:
    world, consumer, _ = elsewhere(monkeypatch)
    world.broker.stop_waiting()
    assert only_partition(consumer.receive(FetchResponse)).records == b""
    assert len(world.services.fetch_waits) == 0


# -- what ends the waiting


def test_a_client_that_is_gone_is_forgotten() -> None:
    world, consumer, producer = waiting_world(max_wait_ms=500)
    consumer.disconnect()
    assert len(world.services.fetch_waits) == 0
    produce(producer)
    world.clock.advance(1000)
    assert not consumer.frames


def test_a_stop_answers_who_waits() -> None:
    world, consumer, _ = waiting_world(max_wait_ms=500)
    world.broker.stop_waiting()
    assert len(only_partition(consumer.receive(FetchResponse)).records or b"") == 0


def test_a_topic_that_is_deleted_is_reported_at_once() -> None:
    world, consumer, _ = waiting_world(max_wait_ms=500)
    world.folder.metadata.delete_topics(["t"])
    part = only_partition(consumer.receive(FetchResponse))
    assert part.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_consumer_whose_next_record_is_deleted_is_reported_at_once(world: BrokerWorld) -> None:
    """The deleted records belong to the transaction whose end the fetch waits for (KIP-107, KIP-98)."""
    world.create_topic("t")
    consumer, transactor = world.connect(), Transactor(world.connect())
    assert (transactor.init(), transactor.write("t", b"x")) == (ErrorCode.NONE, ErrorCode.NONE)
    request = fetch_request("t", max_wait_ms=500)
    request.isolation_level = 1
    consumer.send(request, 12)
    world.clock.run_until_idle()
    assert not consumer.frames
    log = world.folder.logs.get("t", 0)
    assert world.folder.logs.truncate_prefixes({log: 1}) == {log: ErrorCode.NONE}
    part = only_partition(consumer.receive(FetchResponse))
    assert part.error_code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_requests_behind_a_waiting_fetch_come_in_their_turn() -> None:
    world, consumer, _ = waiting_world(max_wait_ms=500)
    consumer.send(ListOffsetsRequest(), 7)
    consumer.send(fetch_request("t", max_wait_ms=500), 12)
    world.clock.advance(499)
    assert not consumer.frames
    world.clock.advance(1)
    consumer.receive(FetchResponse)
    consumer.receive(ListOffsetsResponse)
    assert not consumer.frames
    world.clock.advance(500)
    consumer.receive(FetchResponse)


def test_records_survive_a_restart(world: BrokerWorld) -> None:
    world.create_topic("t")
    produce(world.connect())
    for clean in (True, False):
        world.restart(clean=clean)
        part = only_partition(world.connect().call(fetch_request("t"), 12, FetchResponse))
        assert len(part.records or b"") == BATCH_BYTES
