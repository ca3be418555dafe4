"""A suite of code with aiokafka."""

import asyncio

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer


class Stock:
    """The code under test: counts goods in and out, and continues from its committed offset."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.counts: dict[bytes, int] = {}
        self._consumer = AIOKafkaConsumer(
            topic,
            bootstrap_servers=bootstrap,
            group_id="stock",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        )

    async def take(self, records: int) -> None:
        async with self._consumer as consumer:
            for _ in range(records):
                record = await asyncio.wait_for(consumer.getone(), 20)
                self.counts[record.key] = self.counts.get(record.key, 0) + int(record.value)
            await consumer.commit()


async def send(bootstrap: str, topic: str, *moves: tuple[bytes, int]) -> None:
    async with AIOKafkaProducer(bootstrap_servers=bootstrap, enable_idempotence=True) as producer:
        for key, change in moves:
            await producer.send_and_wait(topic, str(change).encode(), key=key)


async def test_the_stock_is_counted(bootstrap: str) -> None:
    await send(bootstrap, "moves", (b"vases", 5), (b"pears", 7), (b"vases", -2))
    stock = Stock(bootstrap, "moves")
    await stock.take(3)
    assert stock.counts == {b"vases": 3, b"pears": 7}


async def test_a_second_count_begins_after_the_first(bootstrap: str) -> None:
    await send(bootstrap, "more-moves", (b"vases", 5))
    await Stock(bootstrap, "more-moves").take(1)
    await send(bootstrap, "more-moves", (b"vases", 1))
    again = Stock(bootstrap, "more-moves")
    await again.take(1)
    assert again.counts == {b"vases": 1}
