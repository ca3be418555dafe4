"""A worker on asyncio: it works on four orders at a time; a slow one holds up no other, a broken one is rejected. Run
it against any broker: python examples/asyncio_orders.py [HOST:PORT]
"""

import asyncio
import sys

from shareq.aio import Producer, ShareConsumer, ShareRecord

ORDERS = [b"a heavy sofa", b"apples", b"a broken vase", b"pears", b"plums"]


async def pack(order: bytes) -> None:
    if b"broken" in order:
        raise ValueError("nobody can pack this")
    await asyncio.sleep(1 if b"heavy" in order else 0)


async def work(record: ShareRecord, slots: asyncio.Semaphore) -> None:
    async with slots:
        try:
            await pack(record.value or b"")
        except ValueError as error:
            await record.reject()  # never again; `release` hands it to any worker once more
            print(f"{record.value!r} rejected: {error}")
        else:
            await record.accept()  # returns when the broker has written it down
            print(f"{record.value!r} packed")


async def main(bootstrap: str) -> None:
    async with (
        Producer(bootstrap) as producer,
        ShareConsumer(bootstrap, "packers", ["parcels"], acknowledgement="explicit") as consumer,
        asyncio.TaskGroup() as tasks,
    ):
        await producer.partitions_for("parcels")  # makes the topic, where brokers do so on demand
        while not consumer.assignment:  # a new group begins with what comes after it has joined
            await consumer.poll(timeout_s=0.1)
        await consumer.poll(timeout_s=0.1)
        for order in ORDERS:
            await producer.send_and_wait("parcels", order)
        slots, seen = asyncio.Semaphore(4), 0
        async for record in consumer:
            tasks.create_task(work(record, slots))
            if (seen := seen + 1) == len(ORDERS):
                break


asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:9092"))
