"""Work that can never succeed. The wrong code logs the error and continues, so the order is lost."""

from typing import Any

import pytest

from shareq.aio import ShareConsumer, ShareRecord
from shareq.testing import Broker


async def pack(order: bytes) -> None:
    if order == b"a broken vase":
        raise RuntimeError("no glue")


async def wrong(record: ShareRecord) -> None:
    try:
        await pack(record.value or b"")
    except RuntimeError as error:
        print("not packed:", error)
    await record.accept()


async def right(record: ShareRecord) -> None:
    """Let the broker count the attempts, and keep each record whose last attempt has failed."""
    try:
        await pack(record.value or b"")
    except RuntimeError:
        await record.release()
    else:
        await record.accept()


@pytest.mark.shareq(topics=["orders"], groups={"packers": {"deliveries": 3, "dead_letters": "dlq.orders"}})
async def test_what_cannot_be_done_is_kept(shareq_broker: Broker, code: Any) -> None:
    shareq_broker.produce("orders", "apples", "a broken vase")
    async with ShareConsumer(shareq_broker.bootstrap, "packers", ["orders"], acknowledgement="explicit") as consumer:
        while await shareq_broker.aio.undone("packers", "orders"):
            for record in await consumer.poll(timeout_s=0.2):
                await code(record)
    (letter,) = await shareq_broker.aio.assert_dead_lettered("packers", "a broken vase", timeout_s=3)
    assert letter.headers["__dlq.errors.delivery.count"] == b"3"
