"""A share consumer of `shareq.aio`: drains a topic from the start, record by record or in batches."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from bench.client.meter import Meter
from shareq.aio import ShareConsumer


def run(
    address: str, broker_pid: int | Sequence[int], topic: str, group: str, records: int, batches: bool = False
) -> dict[str, float]:
    """Measure time and CPU from the first delivery until the last ack is confirmed, without joining the group."""
    return asyncio.run(
        _in_batches(address, broker_pid, topic, group, records)
        if batches
        else _one_by_one(address, broker_pid, topic, group, records)
    )


async def _one_by_one(
    address: str, broker_pid: int | Sequence[int], topic: str, group: str, records: int
) -> dict[str, float]:
    count = 0
    meter: Meter | None = None
    async with ShareConsumer(address, group, [topic]) as consumer:
        async for record in consumer:
            assert record.value is not None
            count += 1
            if meter is None:
                meter = Meter.start(broker_pid)
            if count == records:
                break
        await consumer.commit()
        assert meter is not None
        return meter.stop(count - 1)


async def _in_batches(
    address: str, broker_pid: int | Sequence[int], topic: str, group: str, records: int
) -> dict[str, float]:
    count = first = 0
    meter: Meter | None = None
    async with ShareConsumer(address, group, [topic]) as consumer:
        async for batch in consumer.batches():
            for record in batch:
                assert record.value is not None
                count += 1
            if meter is None:
                first, meter = count, Meter.start(broker_pid)
            if count >= records:
                break
        await consumer.commit()
        assert meter is not None
        return meter.stop(count - first)
