"""Four workers, each of which may get any record; but one customer's steps are done one at a time, in order.

It starts a broker of its own. `order_by_key.py none` runs without order.
"""

import sys
import threading
import time
from collections import defaultdict

from confluent_kafka import AcknowledgeType, Producer, ShareConsumer
from kafka.admin import ConfigResource, KafkaAdminClient

from shareq.testing import Broker

STEPS = ("order", "payment", "parcel", "thanks")
CUSTOMERS = ("Ada", "Bob", "Eve")

finished: dict[str, list[str]] = defaultdict(list)
everything_is_done = threading.Event()
lock = threading.Lock()


def work(bootstrap: str, number: int) -> None:
    """Work as one of the workers, on one record at a time."""
    config = {"bootstrap.servers": bootstrap, "group.id": "shop", "share.acknowledgement.mode": "explicit"}
    with ShareConsumer({**config, "max.poll.records": 1}) as consumer:
        consumer.subscribe(["shop"])
        while not everything_is_done.is_set():
            for message in consumer.poll(0.2):
                customer, step = (message.key() or b"").decode(), (message.value() or b"").decode()
                time.sleep(1 if step == "order" else 0.1)  # the first step is the slow one
                with lock:
                    print(f"worker {number}: {customer}'s {step}", flush=True)
                    finished[customer].append(step)
                    if sum(map(len, finished.values())) == len(STEPS) * len(CUSTOMERS):
                        everything_is_done.set()
                consumer.acknowledge(message, AcknowledgeType.ACCEPT)
            consumer.commit_sync()


with Broker() as broker:
    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap)
    properties = {"share.auto.offset.reset": "earliest", "shareq.order": sys.argv[1] if sys.argv[1:] else "key"}
    # The broker lists its own properties for groups that have them; kafka-python must not look for them before.
    admin.alter_configs([ConfigResource("GROUP", "shop", properties)], raise_on_unknown=False)
    admin.close()

    # librdkafka takes what is available of a record batch together: small batches spread the work.
    producer = Producer({"bootstrap.servers": broker.bootstrap, "batch.num.messages": 1})
    for each_step in STEPS:
        for each_customer in CUSTOMERS:
            producer.produce("shop", key=each_customer, value=each_step)
    producer.flush()

    workers = [threading.Thread(target=work, args=(broker.bootstrap, number)) for number in range(1, 5)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

print()
for each_customer in CUSTOMERS:
    print(f"{each_customer}: {', '.join(finished[each_customer])}")
