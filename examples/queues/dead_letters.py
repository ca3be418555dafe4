"""A poisoned record becomes a dead letter, is looked at, is sent back, and is done. It starts a broker of its own."""

import subprocess
import sys

from confluent_kafka import AcknowledgeType, Consumer, Message, Producer, ShareConsumer
from kafka.admin import ConfigResource, KafkaAdminClient

from shareq.testing import Broker


def pack(order: str, glue: int) -> None:
    """Do the work. A broken vase needs glue, which is missing at first."""
    if order == "a broken vase" and not glue:
        raise RuntimeError("no glue")


def work(bootstrap: str, expected: int, glue: int) -> None:
    """Work until `expected` records have been accepted or have had their last attempt."""
    config = {"bootstrap.servers": bootstrap, "group.id": "packers", "share.acknowledgement.mode": "explicit"}
    with ShareConsumer(config) as consumer:
        consumer.subscribe(["orders"])
        while expected:
            for message in consumer.poll(10):
                order, attempt = (message.value() or b"").decode(), message.delivery_count() or 0
                try:
                    pack(order, glue)
                    verdict, outcome = AcknowledgeType.ACCEPT, "done"
                except RuntimeError as error:
                    verdict, outcome = AcknowledgeType.RELEASE, f"failed, {error}"
                print(f"{order}{times_redriven(message)}, delivery {attempt}: {outcome}")
                consumer.acknowledge(message, verdict)
                expected -= verdict == AcknowledgeType.ACCEPT or attempt == 3
            consumer.commit_sync()


def times_redriven(message: Message) -> str:
    count = dict(message.headers() or []).get("__redrive.count")
    return f" (redriven {count.decode()}x)" if isinstance(count, bytes) else ""


def look(bootstrap: str) -> None:
    """Show the first letter of the queue. It stays: a queue is a topic."""
    config = {"bootstrap.servers": bootstrap, "group.id": "undertaker", "auto.offset.reset": "earliest"}
    consumer = Consumer({**config, "group.protocol": "consumer"})
    consumer.subscribe(["dlq.orders"])
    letter = consumer.poll(30)
    assert letter is not None
    print(f"\ndead letter: {(letter.value() or b'').decode()}")
    for name, value in dict(letter.headers() or []).items():
        print(f"  {name}: {value.decode() if isinstance(value, bytes) else value}")
    consumer.close()


with Broker(config={"errors.deadletterqueue.auto.create.topics.enable": "true"}) as broker:
    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap)
    properties = {
        "share.auto.offset.reset": "earliest",
        "share.delivery.count.limit": "3",
        "errors.deadletterqueue.topic.name": "dlq.orders",
        "errors.deadletterqueue.copy.record.enable": "true",
    }
    admin.alter_configs([ConfigResource("GROUP", "packers", properties)])
    admin.close()

    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for each in ("apples", "a broken vase", "pears"):
        producer.produce("orders", each)
    producer.flush()

    work(broker.bootstrap, expected=3, glue=0)
    look(broker.bootstrap)

    print("\nnow there is glue", flush=True)
    redrive = [sys.executable, "-m", "shareq", "dlq", "redrive", "after-the-glue", "dlq.orders"]
    subprocess.run([*redrive, "--bootstrap-server", broker.bootstrap, "--yes", "--wait"], check=True)
    work(broker.bootstrap, expected=1, glue=1)
