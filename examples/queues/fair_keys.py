"""One customer sends 2,000 jobs, then another sends three: those three do not wait for the 2,000.

It starts a broker of its own. Of a customer's jobs two are done at a time. `fair_keys.py none` runs without order.
"""

import sys
import threading
import time
from collections import Counter

from confluent_kafka import AcknowledgeType, Producer, ShareConsumer
from kafka.admin import ConfigResource, KafkaAdminClient

from shareq.testing import Broker

properties = {
    "share.auto.offset.reset": "earliest",
    "share.partition.max.record.locks": "100",
    "shareq.order": sys.argv[1] if sys.argv[1:] else "key",
    "shareq.order.records.per.key": "2",  # at a time, over all workers
    "shareq.order.look.ahead": "100000",  # past jobs that wait for their customer
}

done: Counter[str] = Counter()
at_work: Counter[str] = Counter()
most: Counter[str] = Counter()
everything_is_done = threading.Event()
lock = threading.Lock()


def work(bootstrap: str) -> None:
    """Work as one of four workers: take one job at a time."""
    config = {"bootstrap.servers": bootstrap, "group.id": "jobs", "share.acknowledgement.mode": "explicit"}
    with ShareConsumer({**config, "max.poll.records": 1}) as consumer:
        consumer.subscribe(["jobs"])
        while not everything_is_done.is_set():
            for message in consumer.poll(0.2):
                customer = (message.key() or b"").decode()
                with lock:
                    at_work[customer] += 1
                    most[customer] = max(most[customer], at_work[customer])
                time.sleep(0.02)
                with lock:
                    at_work[customer] -= 1
                    done[customer] += 1
                    if done["Ada"] == 3:
                        everything_is_done.set()
                consumer.acknowledge(message, AcknowledgeType.ACCEPT)
            consumer.commit_sync()


with Broker() as broker:
    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap)
    # The broker lists its own properties for groups that have them; kafka-python must not look for them before.
    admin.alter_configs([ConfigResource("GROUP", "jobs", properties)], raise_on_unknown=False)
    admin.close()

    # librdkafka takes what is available of a record batch together: small batches spread the work.
    producer = Producer({"bootstrap.servers": broker.bootstrap, "batch.num.messages": 1})
    for each_customer in ["Big"] * 2_000 + ["Ada"] * 3:
        producer.produce("jobs", key=each_customer, value="a job")
    producer.flush()

    workers = [threading.Thread(target=work, args=(broker.bootstrap,)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

print(f"Ada's 3 jobs were done after {done['Big']} of Big's 2,000")
print(f"of Big's, {most['Big']} were done at a time")
