"""A producer of `shareq.aio`: records of 100 bytes, one by one or in batches of a thousand."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from bench.client.meter import Meter
from shareq.aio import Producer

CHUNK: Final = 1_000


def run(
    address: str, broker_pid: int | Sequence[int], topic: str, partitions: int, records: int, batches: bool = False
) -> dict[str, float]:
    """Measure time and CPU from the first record until the last is confirmed."""
    return asyncio.run(_run(address, broker_pid, topic, partitions, records, batches))


async def _run(
    address: str, broker_pid: int | Sequence[int], topic: str, partitions: int, records: int, batches: bool
) -> dict[str, float]:
    value = b"x" * 100
    async with Producer(address) as producer:
        await producer.send_and_wait(topic, value, partition=0)
        meter = Meter.start(broker_pid)
        for start in range(0, records, CHUNK):
            partition = start // CHUNK % partitions
            if batches:
                await producer.send_batch(topic, [(None, value)] * CHUNK, partition=partition)
                continue
            for _ in range(CHUNK):
                await producer.send(topic, value, partition=partition)
        await producer.flush()
        return meter.stop(records)
