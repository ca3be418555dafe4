"""A job is delivered at the time set by its sender, or by a worker that released it; others do not wait for it.
It starts a broker of its own.
"""

import asyncio
import time

from kafka.admin import ConfigResource, KafkaAdminClient

from shareq.aio import Producer, ShareConsumer
from shareq.testing import Broker

NOT_BEFORE = "shareq.not.before.ms"


async def main(bootstrap: str) -> None:
    due = {b"ring Ada": 0.0, b"ring Bob": 0.0, b"write to Eve": time.time() + 4}
    async with (
        Producer(bootstrap) as producer,
        ShareConsumer(bootstrap, "callers", ["calls"], acknowledgement="explicit") as consumer,
    ):
        for job in (b"write to Eve", b"ring Ada", b"ring Bob"):
            await producer.send_and_wait("calls", job, headers=[(NOT_BEFORE, b"%d" % (due[job] * 1000))])
        done = 0
        async for record in consumer:
            job = record.value or b""
            when = "in time" if time.time() >= due[job] else "too early"
            print(f"{job.decode()}, delivery {record.delivery_count}, {when}", flush=True)
            if job == b"ring Bob" and record.delivery_count == 1:
                due[job] = time.time() + 1
                await record.release(delay_s=1)  # busy: in a second, by any worker
            else:
                await record.accept()
                done += 1
            if done == len(due):
                break


with Broker() as broker:
    group = {"share.auto.offset.reset": "earliest", "shareq.delay.enable": "true"}
    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap)
    admin.alter_configs([ConfigResource("GROUP", "callers", group)], raise_on_unknown=False)
    admin.close()
    asyncio.run(main(broker.bootstrap))
