"""Work of a minute on records with locks of half a minute. The wrong code renews nothing: each step may be the last."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from shareq.aio import LockLost, ShareConsumer, ShareRecord
from shareq.testing import Broker

Step = Callable[[], Awaitable[None]]


async def wrong(record: ShareRecord, steps: list[Step]) -> None:
    for step in steps:
        await step()
    await record.accept()


async def right(record: ShareRecord, steps: list[Step]) -> None:
    """Renew the lock after each step."""
    for step in steps:
        await step()
        await record.renew()
    await record.accept()


@pytest.mark.shareq(topics=["films"], groups=["cutters"])
async def test_a_slow_worker_keeps_its_record(shareq_broker: Broker, code: Any) -> None:
    async def step() -> None:
        await shareq_broker.aio.advance(20)

    shareq_broker.produce("films", "a long one")
    consumer = ShareConsumer(
        shareq_broker.bootstrap, "cutters", ["films"], acknowledgement="explicit", prefetch=0, renew_s=0
    )
    async with consumer:
        async for record in consumer:
            try:
                await code(record, [step, step, step])
            except LockLost:
                pytest.fail("the lock ended before the work did: the record comes again")
            break
    shareq_broker.assert_acknowledged("cutters", "films", 1)
