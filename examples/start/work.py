"""A worker of the share group `helpers`: the page docs/start/python.md. Start as many as you like."""

import sys

from confluent_kafka import AcknowledgeType, ShareConsumer


def work(job: str) -> None:
    if job == "divide by zero":
        raise ArithmeticError(job)


consumer = ShareConsumer(
    {"bootstrap.servers": sys.argv[1], "group.id": "helpers", "share.acknowledgement.mode": "explicit"}
)
consumer.subscribe(["jobs"])
quiet = 0
while quiet < 3:  # a real worker goes on for ever
    records = consumer.poll(1)
    quiet = 0 if records else quiet + 1
    for record in records:
        job = (record.value() or b"").decode()
        try:
            work(job)
        except ArithmeticError:
            print(f"{job}: failed, try {record.delivery_count()}")
            consumer.acknowledge(record, AcknowledgeType.RELEASE)  # to any worker, once more
        else:
            print(f"{job}: done")
            consumer.acknowledge(record, AcknowledgeType.ACCEPT)
    consumer.commit_sync()  # returns when the broker has written it down
consumer.close()
