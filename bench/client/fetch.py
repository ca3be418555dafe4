"""librdkafka consumer: reads assigned partitions from the start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from confluent_kafka import Consumer, TopicPartition

from bench.client.meter import NO_SECURITY, Meter


def run(
    address: str,
    broker_pid: int | Sequence[int],
    topic: str,
    partitions: int,
    records: int,
    security: Mapping[str, str] = NO_SECURITY,
) -> dict[str, float]:
    """Measure the time from the assignment until the application has the last record."""
    consumer = Consumer(
        {
            "bootstrap.servers": address,
            **security,
            "group.id": "unused",
            "enable.auto.commit": False,
            "queued.min.messages": 1_000_000,
        }
    )
    consumer.list_topics(topic, 10)
    meter = Meter.start(broker_pid)
    consumer.assign([TopicPartition(topic, partition, 0) for partition in range(partitions)])
    count = 0
    while count < records:
        messages = consumer.consume(10_000, 20.0)
        assert messages, f"nothing came after {count} records"
        count += sum(1 for message in messages if message.error() is None)
    sample = meter.stop(count)
    consumer.close()
    return sample
