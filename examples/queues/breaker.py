"""A depot is down, so that orders die: after three dead letters the group is paused, and the other orders wait until it
is resumed. It starts a broker of its own.
"""

import asyncio
import os
import subprocess

from kafka.admin import ConfigResource, KafkaAdminClient

from shareq.aio import Producer, ShareConsumer
from shareq.testing import Broker

ORDERS = 50
GROUP = {
    "share.auto.offset.reset": "earliest",
    "errors.deadletterqueue.topic.name": "dlq.packers",
    "shareq.breaker.letters": "3",
}


async def main(bootstrap: str) -> None:
    async with (
        Producer(bootstrap) as producer,
        ShareConsumer(bootstrap, "packers", ["orders"], acknowledgement="explicit", prefetch=1) as consumer,
    ):
        for number in range(ORDERS):
            await producer.send_and_wait("orders", b"order %d" % number)
        rejected = packed = 0
        while records := await consumer.poll(timeout_s=10, max_records=1):
            await records[0].reject()
            rejected += 1
        print(f"three orders or more have died: {rejected >= 3}; most wait: {rejected < ORDERS / 2}", flush=True)
        resume = ["shareq", "share", "resume", "packers"]
        subprocess.run(resume, check=True, env={**os.environ, "SHAREQ_BOOTSTRAP_SERVERS": bootstrap})
        while rejected + packed < ORDERS:
            for record in await consumer.poll():
                await record.accept()
                packed += 1
        print("the depot is up again: all that waited are packed")


with Broker(config={"errors.deadletterqueue.auto.create.topics.enable": "true"}) as broker:
    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap)
    admin.alter_configs([ConfigResource("GROUP", "packers", GROUP)], raise_on_unknown=False)
    admin.close()
    asyncio.run(main(broker.bootstrap))
