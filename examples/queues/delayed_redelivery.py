"""A failed job is delivered again after 1, 2 and 4 seconds; other jobs do not wait for it. It starts a broker of its
own.
"""

import time

from confluent_kafka import AcknowledgeType, Producer, ShareConsumer
from kafka.admin import ConfigResource, KafkaAdminClient

from shareq.testing import Broker

with Broker() as broker:
    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap)
    properties = {
        "share.auto.offset.reset": "earliest",
        "shareq.redelivery.backoff.ms": "1000",  # doubled with each failure, up to .max.ms
        "shareq.redelivery.backoff.max.ms": "60000",
    }
    # The broker lists its own properties for groups that have them; kafka-python must not look for them before.
    admin.alter_configs([ConfigResource("GROUP", "callers", properties)], raise_on_unknown=False)
    admin.close()

    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for job in ("ring the bank", "write to Ada", "write to Bob"):
        producer.produce("jobs", job)
    producer.flush()

    config = {"bootstrap.servers": broker.bootstrap, "group.id": "callers", "share.acknowledgement.mode": "explicit"}
    with ShareConsumer(config) as consumer:
        consumer.subscribe(["jobs"])
        empty, finished, began = 0, 0, 0.0
        while finished < 5:
            messages = consumer.poll(60)  # returns when there is something to do, and only then
            empty += not messages
            now = time.monotonic()
            began = began or now
            for message in messages:
                job, attempt = (message.value() or b"").decode(), message.delivery_count() or 0
                busy = job == "ring the bank" and attempt < 4
                verdict = AcknowledgeType.RELEASE if busy else AcknowledgeType.ACCEPT
                print(f"{now - began:4.1f} s  {job}, delivery {attempt}: {'busy' if busy else 'done'}", flush=True)
                consumer.acknowledge(message, verdict)
                finished += not busy
                if busy and attempt > 1:  # more work comes in while this one waits
                    producer.produce("jobs", f"write to customer {attempt}")
            consumer.commit_sync()
        producer.flush()
    print(f"polls that returned nothing: {empty}")
