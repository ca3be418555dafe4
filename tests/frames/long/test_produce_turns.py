"""Batches that decompress to a thousand times their size, opened in portions per turn; other clients are still
served.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from devtools.in_memory.mock_transport import BrokerWorld, MockConnection
from shareq.broker.foundation.loop.effort import BATCH_EFFORT, MOST_EFFORT, RECORD_EFFORT
from shareq.broker.handlers.shared.produce_append import ProduceAppend
from shareq.broker.log import admission
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.api_versions import ApiVersionsRequest
from shareq.protocol.generated.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from shareq.protocol.records import batch, opening
from shareq.protocol.records.batch import Compression, RecordData, build_batch

OPENED = 2_000_000  # bytes of one batch; on the wire a few hundred
PARTITIONS = 100


def bomb(size: int = OPENED) -> bytes:
    return bytes(build_batch([RecordData(b"k", bytes(size))], timestamp_ms=1, compression=Compression.ZSTD))


def many_small_records() -> bytes:
    """Return more records than a compressed batch may have."""
    records = [RecordData(b"", None)] * (admission.MOST_RECORDS + 1)
    return bytes(build_batch(records, timestamp_ms=1, compression=Compression.ZSTD))


def request_for(records: bytes, partitions: int, acks: int = -1) -> ProduceRequest:
    parts = [PartitionProduceData(index, records) for index in range(partitions)]
    return ProduceRequest(None, acks, 1000, [TopicProduceData("t", partition_data=parts)])


class Opened:
    """Bytes of records opened, by tick."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ticks: list[int] = []
        self._now = 0
        original, runs_of = batch.records_block, opening.record_runs

        def counted(*args: object) -> object:
            block = original(*args)  # type: ignore[arg-type]
            self._now += len(block[1])
            return block

        def counted_runs(*args: Any) -> Iterator[opening.Run]:
            for run in runs_of(*args):
                self._now += run.opened + RECORD_EFFORT * run.records
                yield run

        monkeypatch.setattr(admission, "records_block", counted)
        monkeypatch.setattr(opening, "record_runs", counted_runs)

    def end_tick(self) -> None:
        self.ticks.append(self._now)
        self._now = 0

    def run(self, world: BrokerWorld) -> None:
        """Run tick by tick; in each another client must be answered."""
        neighbour = world.connect()
        while True:
            neighbour.send(ApiVersionsRequest(), 0)
            assert len(neighbour.frames) == 1, "answered in the same tick"
            neighbour.frames.clear()
            neighbour.requests.forget_oldest()
            self.end_tick()
            if not world.clock.run_tick():
                return


@pytest.fixture
def world() -> BrokerWorld:
    world = BrokerWorld()
    world.create_topic("t", PARTITIONS, cleanup_policy="compact")
    return world


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Opened:
    return Opened(monkeypatch)


def codes(client: MockConnection) -> list[int]:
    response = client.receive(ProduceResponse)
    return [part.error_code for topic in response.responses for part in topic.partition_responses]


def test_the_batches_of_one_request_are_opened_in_turns(world: BrokerWorld, opened: Opened) -> None:
    stranger = world.connect()
    stranger.send(request_for(bomb(), PARTITIONS), 9)
    opened.run(world)
    assert sum(opened.ticks) > PARTITIONS * OPENED
    assert max(opened.ticks) <= MOST_EFFORT
    assert codes(stranger) == [ErrorCode.NONE] * PARTITIONS
    assert all(world.folder.logs.get("t", index).high_watermark == 1 for index in range(PARTITIONS))


def test_requests_that_came_together_are_opened_in_turns(world: BrokerWorld, opened: Opened) -> None:
    """All requests come in one socket read: the first takes the ordinary path, the others the fast path."""
    stranger = world.connect()
    stranger.call(request_for(bomb(1), 1), 9, ProduceResponse)
    opened.end_tick()
    stranger.send_raw(b"".join(stranger.requests.frame_of(request_for(bomb(), 1), 9) for _ in range(50)))
    opened.run(world)
    assert sum(opened.ticks) > 50 * OPENED
    assert max(opened.ticks) <= MOST_EFFORT
    assert [codes(stranger) for _ in range(50)] == [[ErrorCode.NONE]] * 50


@pytest.mark.parametrize("records", [bomb(20_000_000), many_small_records], ids=["bytes", "records"])
def test_what_is_too_large_is_refused_in_turns_too(
    world: BrokerWorld, opened: Opened, records: bytes | Callable[[], bytes]
) -> None:
    data = records if isinstance(records, bytes) else records()
    stranger = world.connect()
    stranger.send(request_for(data, 20), 9)
    opened.run(world)
    assert codes(stranger) == [ErrorCode.MESSAGE_TOO_LARGE] * 20
    most_opened = world.folder.logs.get("t", 0).settings.most_opened
    assert sum(opened.ticks) <= 20 * (most_opened if isinstance(records, bytes) else 0)
    assert max(opened.ticks) <= MOST_EFFORT


def many_records(count: int, compression: Compression, **broken: RecordData) -> bytes:
    """Return records that all have a key, except one in the middle."""
    records = [RecordData(b"k", b"")] * count
    records[count // 2] = broken.get("one", records[0])
    return bytes(build_batch(records, timestamp_ms=1, compression=compression))


@pytest.mark.parametrize("compression", [Compression.NONE, Compression.ZSTD, Compression.GZIP, Compression.SNAPPY])
def test_a_batch_of_many_records_is_walked_in_steps(
    world: BrokerWorld, opened: Opened, compression: Compression
) -> None:
    """200,000 records once took 17 ms in one turn."""
    stranger = world.connect()
    stranger.send(request_for(many_records(100_000, compression), 3), 9)
    opened.run(world)
    assert codes(stranger) == [ErrorCode.NONE] * 3
    assert sum(opened.ticks) >= 3 * 100_000 * RECORD_EFFORT
    assert max(opened.ticks) <= MOST_EFFORT
    assert world.folder.logs.get("t", 2).high_watermark == 100_000


@pytest.mark.parametrize("compression", [Compression.NONE, Compression.ZSTD])
def test_the_records_at_fault_are_named_of_a_batch_that_is_checked_in_steps(
    world: BrokerWorld, opened: Opened, compression: Compression
) -> None:
    stranger = world.connect()
    data = many_records(100_000, compression, one=RecordData(None, b""))
    stranger.send(request_for(data, 1), 9)
    opened.run(world)
    (topic,) = stranger.receive(ProduceResponse).responses
    (part,) = topic.partition_responses
    assert part.error_code == ErrorCode.INVALID_RECORD
    assert [(each.batch_index, each.batch_index_error_message) for each in part.record_errors] == [
        (50_000, "A compacted topic takes no record without a key.")
    ]
    assert max(opened.ticks) <= MOST_EFFORT


def test_a_topic_that_is_deleted_meanwhile_takes_nothing(world: BrokerWorld) -> None:
    stranger = world.connect()
    stranger.send(request_for(bomb(), 2), 9)
    for _ in range(3):
        world.clock.run_tick()
    world.folder.metadata.delete_topics(["t"])
    assert codes(stranger) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * 2


def test_many_small_batches_are_taken_in_turns(world: BrokerWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """3,000 batches of 0.1 ms each, in 300 kB, are refused: none is opened, and each error names its bad record."""
    taken = [0]
    original = ProduceAppend.partition

    def counted(*args: Any) -> Any:
        taken[-1] += 1
        return original(*args)

    monkeypatch.setattr(ProduceAppend, "partition", counted)
    stranger = world.connect()
    without_key = bytes(build_batch([RecordData(None, b"v")], timestamp_ms=1))
    parts = [PartitionProduceData(0, without_key)] * 3_000
    stranger.send(ProduceRequest(None, -1, 1000, [TopicProduceData("t", partition_data=parts)]), 9)
    while world.clock.run_tick():
        taken.append(0)
    assert sum(taken) == 3_000
    assert max(taken) <= MOST_EFFORT // BATCH_EFFORT + 1
    assert codes(stranger) == [ErrorCode.INVALID_RECORD] * 3_000


def test_without_acknowledgement_an_error_closes_the_connection_all_the_same(world: BrokerWorld) -> None:
    stranger = world.connect()
    stranger.send(request_for(bomb(), PARTITIONS + 1, acks=0), 9)
    world.clock.run_until_idle()
    assert stranger.closed
    assert not stranger.frames


def test_without_acknowledgement_later_requests_come_behind(world: BrokerWorld) -> None:
    stranger = world.connect()
    stranger.send(request_for(bomb(), PARTITIONS, acks=0), 9)
    stranger.requests.forget_oldest()
    stranger.send(request_for(bomb(1), 1), 9)
    response = stranger.receive(ProduceResponse)
    assert response.responses[0].partition_responses[0].base_offset == 1


@pytest.mark.parametrize("acks", [-1, 0])
def test_a_failure_among_the_batches_closes_the_connection(
    world: BrokerWorld, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, acks: int
) -> None:
    """The client would wait in vain if our own bug, in a later turn, left the connection open."""
    original, calls = ProduceAppend.partition, 0

    def failing(*args: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == PARTITIONS // 2:
            raise RuntimeError("a defect")
        return original(*args)

    monkeypatch.setattr(ProduceAppend, "partition", failing)
    stranger = world.connect()
    stranger.send(request_for(bomb(), PARTITIONS, acks=acks), 9)
    world.clock.run_until_idle()
    assert calls == PARTITIONS // 2
    assert stranger.closed
    assert not stranger.frames
    assert len(world.services.turns) == 0
    assert [record.exc_info is not None for record in caplog.records] == [True, False]
    assert "a defect" in caplog.text
    assert world.connect().call(request_for(bomb(1), 1), 9, ProduceResponse).responses
