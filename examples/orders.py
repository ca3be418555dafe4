"""A work queue: three orders, each accepted, released for another try, or rejected. Run it against any broker."""

from confluent_kafka import AcknowledgeType, Producer, ShareConsumer
from kafka.admin import ConfigResource, KafkaAdminClient

BROKER = "127.0.0.1:9092"

admin = KafkaAdminClient(bootstrap_servers=BROKER)
# A new share group starts at the end of its topics unless configured otherwise.
admin.alter_configs([ConfigResource("GROUP", "packers", {"share.auto.offset.reset": "earliest"})])
admin.close()

producer = Producer({"bootstrap.servers": BROKER})
for order in ("apples", "pears", "a broken vase"):
    producer.produce("orders", order)
producer.flush()

consumer = ShareConsumer({"bootstrap.servers": BROKER, "group.id": "packers", "share.acknowledgement.mode": "explicit"})
consumer.subscribe(["orders"])
done = 0
while done < 3:
    for message in consumer.poll(5):
        order, attempt = (message.value() or b"").decode(), message.delivery_count()
        if order == "a broken vase":
            verdict = AcknowledgeType.REJECT  # no one can work on it: never again
        elif order == "pears" and attempt == 1:
            verdict = AcknowledgeType.RELEASE  # not now: to any consumer of the group
        else:
            verdict = AcknowledgeType.ACCEPT
        print(f"{order}, delivery {attempt}: {verdict.name}")
        consumer.acknowledge(message, verdict)
        done += verdict != AcknowledgeType.RELEASE
    consumer.commit_sync()  # returns when the broker has written the verdicts down
consumer.close()
