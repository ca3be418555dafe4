"""An offer that nobody took in time is handed to no worker; a dead letter says why. It starts a broker of its own."""

import asyncio
import time

from kafka.admin import ConfigResource, KafkaAdminClient

from shareq.aio import Producer, ShareConsumer
from shareq.testing import Broker

NOT_AFTER = "shareq.not.after.ms"


async def main(bootstrap: str) -> None:
    async with Producer(bootstrap) as producer:
        for offer, seconds in ((b"soup for Ada", 3600), (b"soup for Bob", 0.5), (b"soup for Eve", 3600)):
            last = b"%d" % ((time.time() + seconds) * 1000)
            await producer.send_and_wait("offers", offer, headers=[(NOT_AFTER, last)])
    await asyncio.sleep(1)  # the workers come late
    async with ShareConsumer(bootstrap, "waiters", ["offers"], acknowledgement="explicit") as waiter:
        async for record in waiter:
            print(f"{(record.value or b'').decode()}, delivery {record.delivery_count}", flush=True)
            await record.accept()
            if record.value == b"soup for Eve":
                break
    async with ShareConsumer(bootstrap, "cooks", ["dlq.offers"]) as cook:
        async for letter in cook:
            headers = dict(letter.headers)
            why, count = headers["__dlq.errors.message"] or b"", headers["__dlq.errors.delivery.count"] or b""
            print(f"dead letter: {(letter.value or b'').decode()}, {count.decode()} deliveries: {why.decode()}")
            break


with Broker(config={"errors.deadletterqueue.auto.create.topics.enable": "true"}) as broker:
    from_the_start = {"share.auto.offset.reset": "earliest"}
    group = {
        **from_the_start,
        "shareq.not.after.enable": "true",
        "errors.deadletterqueue.topic.name": "dlq.offers",
        "errors.deadletterqueue.copy.record.enable": "true",
    }
    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap)
    admin.alter_configs(
        [ConfigResource("GROUP", "waiters", group), ConfigResource("GROUP", "cooks", from_the_start)],
        raise_on_unknown=False,
    )
    admin.close()
    asyncio.run(main(broker.bootstrap))
