"""Batches recompressed for the topic's `compression.type`, a limited number of bytes per turn."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from devtools.in_memory.mock_transport import BrokerWorld, MockConnection
from shareq.broker.foundation.loop.effort import MOST_EFFORT, PACKING_EFFORT
from shareq.broker.log.segments.reader import ReadResult
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from shareq.protocol.generated.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from shareq.protocol.records.batch import Compression, RecordData, build_batch, decode_records, read_header
from shareq.protocol.records.compression import STEP_BYTES
from tests.support.worlds.counted_work import Work, packed_bytes

PACKED = [Compression.GZIP, Compression.SNAPPY, Compression.LZ4, Compression.ZSTD]


def world_of(codec: str, **configs: str) -> BrokerWorld:
    world = BrokerWorld()
    world.create_topic("t", 20, compression_type=codec, **configs)
    return world


def batch_of(size: int, compression: Compression = Compression.NONE, *, random: bool = False, **producer: Any) -> bytes:
    value = Random(size).randbytes(1_000) if random else bytes(1_000)
    records = [RecordData(b"k", value)] * (size // 1_000)
    return bytes(build_batch(records, timestamp_ms=1, compression=compression, **producer))


def send(client: MockConnection, records: bytes, partitions: int = 1) -> None:
    parts = [PartitionProduceData(index, records) for index in range(partitions)]
    client.send(ProduceRequest(None, -1, 1000, [TopicProduceData("t", partition_data=parts)]), 9)


def rows(client: MockConnection) -> list[PartitionProduceResponse]:
    return [part for topic in client.receive(ProduceResponse).responses for part in topic.partition_responses]


def stored(world: BrokerWorld, partition: int = 0) -> list[tuple[int, list[bytes | None]]]:
    log = world.folder.logs.get("t", partition)
    found = log.read(0, max_bytes=1 << 30, upto=log.high_watermark)
    assert isinstance(found, ReadResult)
    data, batches = found.records, []
    while data:
        header = read_header(data)
        one, data = data[: header.size], data[header.size :]
        batches.append((header.compression, [record.value for record in decode_records(one)]))
    return batches


@pytest.fixture
def packed(monkeypatch: pytest.MonkeyPatch) -> Work:
    return packed_bytes(monkeypatch)


@pytest.mark.parametrize("came", [Compression.NONE, Compression.LZ4])
@pytest.mark.parametrize("codec", PACKED)
def test_a_large_batch_is_compressed_in_steps(codec: Compression, came: Compression, packed: Work) -> None:
    """1 MiB once took 80 ms of gzip."""
    if came is codec:
        came = Compression.ZSTD
    world = world_of(codec.name.lower(), max_message_bytes="2000000")
    client, records = world.connect(), batch_of(1_500_000, came)
    packed.now = 0
    send(client, records)
    packed.run(world, world.connect())
    assert [row.error_code for row in rows(client)] == [ErrorCode.NONE]
    assert max(packed.ticks) <= STEP_BYTES
    assert 1_500_000 < sum(packed.ticks) < 1_600_000, "once"
    assert stored(world) == [(codec, [bytes(1_000)] * 1_500)]


@pytest.mark.parametrize("codec", PACKED)
def test_small_batches_are_compressed_so_many_in_a_turn(codec: Compression, packed: Work) -> None:
    world = world_of(codec.name.lower())
    client = world.connect()
    size = MOST_EFFORT // PACKING_EFFORT[codec] - 2_000
    send(client, batch_of(size // 1_100 * 1_000), 20)
    packed.run(world, world.connect())
    assert [row.error_code for row in rows(client)] == [ErrorCode.NONE] * 20
    assert max(packed.ticks) * PACKING_EFFORT[codec] <= 2 * MOST_EFFORT
    assert sum(packed.ticks) > 15 * size


def test_a_small_batch_is_compressed_at_once(packed: Work) -> None:
    world = world_of("gzip")
    client = world.connect()
    send(client, batch_of(50_000))
    assert packed.now > 50_000
    assert [row.error_code for row in rows(client)] == [ErrorCode.NONE]


def test_a_batch_that_came_in_the_topics_codec_is_not_compressed(packed: Work) -> None:
    world = world_of("zstd")
    client, records = world.connect(), batch_of(2_000_000, Compression.ZSTD)
    packed.now = 0
    send(client, records)
    packed.run(world, world.connect())
    assert [row.error_code for row in rows(client)] == [ErrorCode.NONE]
    assert sum(packed.ticks) == 0


@pytest.mark.parametrize("least", [0, 1])
def test_a_batch_may_be_as_large_as_the_topic_allows_when_it_is_compressed(least: int) -> None:
    sizes = world_of("uncompressed", max_message_bytes="2000000")
    client = sizes.connect()
    send(client, batch_of(600_000, Compression.ZSTD))
    assert rows(client)[0].error_code == ErrorCode.NONE
    size = sizes.folder.logs.get("t", 0).size_bytes
    world = world_of("uncompressed", max_message_bytes=str(size - least))
    client = world.connect()
    send(client, batch_of(600_000, Compression.ZSTD))
    (row,) = rows(client)
    assert row.error_code == (ErrorCode.MESSAGE_TOO_LARGE if least else ErrorCode.NONE)
    assert row.base_offset == (-1 if least else 0)


def test_it_has_the_time_of_the_log(packed: Work) -> None:
    world = world_of("gzip", message_timestamp_type="LogAppendTime")
    client = world.connect()
    send(client, batch_of(500_000))
    packed.run(world, world.connect())
    (row,) = rows(client)
    assert row.log_append_time_ms > 1
    assert max(packed.ticks) <= STEP_BYTES


def test_it_is_stored_as_the_topic_wanted_it_when_it_came() -> None:
    """The codec is the topic's when the batch arrives, even if it changes during compression."""
    world = world_of("gzip")
    client = world.connect()
    send(client, batch_of(500_000))
    for _ in range(4):
        world.clock.run_tick()
    resource = AlterConfigsResource(2, "t", [AlterableConfig("compression.type", 0, "zstd")])
    altered = world.connect().call(IncrementalAlterConfigsRequest([resource]), 1, IncrementalAlterConfigsResponse)
    assert [each.error_code for each in altered.responses] == [ErrorCode.NONE]
    assert rows(client)[0].error_code == ErrorCode.NONE
    assert [codec for codec, _ in stored(world)] == [Compression.GZIP]
