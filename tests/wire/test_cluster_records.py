"""A node's records over real connections, with shareq itself as the cluster, a separate broker implementation."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from random import Random

from devtools.clients.requests import batch, create_topic, produce
from devtools.clients.wire import WireClient
from devtools.in_memory.mem_fs import MemFs
from shareq.broker.foundation.environment import Environment
from shareq.broker.foundation.loop.coroutines import beginner
from shareq.broker.foundation.loop.turns import Turns
from shareq.broker.foundation.os_clock import LoopClock
from shareq.broker.log.segments.reader import ReadResult
from shareq.client.config import ClientConfig
from shareq.cluster.link.network import NetworkLink
from shareq.cluster.mirror.topics import TopicMirror
from shareq.cluster.records.feed import RecordFeed
from shareq.cluster.records.source import PartitionRecords
from shareq.coordinator.ports import TopicImage
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.batch import decode_records
from shareq.testing import Broker

PARTITIONS = 3
RECORDS = 300
BUDGET = 400_000


class Node:
    def __init__(self, bootstrap: str) -> None:
        loop = asyncio.get_running_loop()
        clock = LoopClock(loop)
        env = Environment(clock, Random(1), MemFs(clock.call_soon))
        begin = beginner(env.budget, Turns(env.clock.call_soon).run)
        self.link = NetworkLink(ClientConfig.from_properties({"bootstrap.servers": bootstrap}))
        self.mirror = TopicMirror(env, self.link, begin)
        self.feed = RecordFeed(
            env, self.link, self.mirror, self.mirror, begin, budget=BUDGET, led_epoch=lambda topic_id, partition: 0
        )
        self.news = asyncio.Event()
        self.feed.add_listener(lambda source: self.news.set())

    async def find(self, topic: str) -> None:
        answer: asyncio.Future[TopicImage | ErrorCode] = asyncio.get_running_loop().create_future()
        self.mirror.find(topic).on_complete(answer.set_result)
        assert isinstance(await answer, TopicImage)

    async def values(self, topic: str, count: int) -> list[list[bytes]]:
        values: list[list[bytes]] = [[] for _ in range(PARTITIONS)]
        offsets = [0] * PARTITIONS
        sources = [self.feed.get(topic, partition) for partition in range(PARTITIONS)]
        while True:
            self.news.clear()
            for source, got in zip(sources, values, strict=True):
                offsets[source.partition] = _read_on(source, offsets[source.partition], got)
            if all(len(each) >= count for each in values):
                return values
            await asyncio.wait_for(self.news.wait(), 10)

    async def close(self) -> None:
        self.feed.close()
        self.mirror.close()
        self.link.close()
        await self.link.wait_closed()


def _read_on(source: PartitionRecords, offset: int, values: list[bytes]) -> int:
    while offset < source.high_watermark:
        read = source.read(offset, 50_000, upto=source.high_watermark)
        if not isinstance(read, ReadResult) or not read.batches:
            break
        for span in read.batches:
            records = decode_records(read.records[span.position : span.position + span.size])
            values += [record.value or b"" for record in records]
        offset = read.batches[-1].last_offset + 1
    return offset


def values_of(partition: int, numbers: Sequence[int]) -> list[bytes]:
    return [b"%d.%d:" % (partition, number) + b"v" * (number * 37 % 9_000) for number in numbers]


def fill(address: tuple[str, int], numbers: Sequence[int]) -> None:
    with WireClient(address) as client:
        for partition in range(PARTITIONS):
            for value in values_of(partition, numbers):
                assert produce(client, "orders", batch(value), partition=partition).error_code == ErrorCode.NONE


async def read_all(bootstrap: str, address: tuple[str, int]) -> None:
    node = Node(bootstrap)
    try:
        await node.find("orders")
        expected = [values_of(partition, range(RECORDS)) for partition in range(PARTITIONS)]
        assert await node.values("orders", RECORDS) == expected
        more = asyncio.create_task(node.values("orders", RECORDS + 10))
        await asyncio.to_thread(fill, address, range(RECORDS, RECORDS + 10))
        assert [each[-10:] for each in await more] == [
            values_of(partition, range(RECORDS, RECORDS + 10)) for partition in range(PARTITIONS)
        ]
        assert node.feed.cache.evicted > 0, "there was more than the budget holds"
        assert node.feed.cache.held_bytes + node.feed.cache.reserved_bytes <= BUDGET
    finally:
        await node.close()


def test_a_node_reads_what_a_cluster_has() -> None:
    with Broker() as cluster:
        address = ("127.0.0.1", int(cluster.bootstrap.rpartition(":")[2]))
        with WireClient(address) as client:
            create_topic(client, "orders", PARTITIONS)
        fill(address, range(RECORDS))
        asyncio.run(read_all(cluster.bootstrap, address))
