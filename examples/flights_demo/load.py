"""Load the flights into a topic, and create groups that start at the first flight."""

from __future__ import annotations

from itertools import islice

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient

from examples.flights_demo import flights
from examples.flights_demo.progress import Progress


def create_topic(bootstrap: str, topic: str, partitions: int, *, replicas: int = 1) -> None:
    """Create a topic. Raises KafkaException if the name exists."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 3})
    for future in admin.create_topics([NewTopic(topic, partitions, replicas)]).values():
        future.result(30)


def read_from_start(bootstrap: str, group: str) -> None:
    """Let a new share group start at the start of the log; by default it starts at the end.

    librdkafka cannot set that yet.
    """
    config = ConfigResource(ConfigResourceType.GROUP, group, {"share.auto.offset.reset": "earliest"})
    groups = KafkaAdminClient(bootstrap_servers=bootstrap)
    try:
        answer = groups.alter_configs([config], raise_on_unknown=False)
    finally:
        groups.close()
    if answer["group"][group] != "OK":
        raise RuntimeError(f"setting share.auto.offset.reset failed: {answer}")


def produce(
    bootstrap: str, topic: str, progress: Progress, *, limit: int | None = None, batch_records: int = 10_000
) -> int:
    """Produce every flight once (with `limit` only the first ones), with its row number as the key; return how many
    were confirmed.

    `batch_records` bounds a record batch: share consumers mostly get whole batches.
    """
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "enable.idempotence": True,
            "linger.ms": 20,
            "batch.num.messages": batch_records,
            "queue.buffering.max.messages": 1_000_000,
        }
    )
    errors: list[str] = []

    def on_delivery(error: object, _: object) -> None:
        if error is not None:
            errors.append(str(error))

    count = 0
    for row, line in enumerate(islice(flights.rows(), limit)):
        producer.produce(topic, line, b"%d" % row, on_delivery=on_delivery)
        count += 1
        if count % 2000 == 0:
            producer.poll(0)
            progress.show(f"{count:,} flights read")
    producer.flush(60)
    if errors or len(producer):
        raise RuntimeError(f"producing failed: {errors[:1]}, {len(producer)} unsent")
    return count
