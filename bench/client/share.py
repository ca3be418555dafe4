"""librdkafka share consumer, implicit acknowledgement: drains a topic from the start."""

from __future__ import annotations

from collections.abc import Mapping

from confluent_kafka import ShareConsumer

from bench.client.meter import NO_SECURITY, Meter


def run(
    address: str,
    broker_pid: int,
    topic: str,
    group: str,
    records: int,
    security: Mapping[str, str] = NO_SECURITY,
) -> dict[str, float]:
    """Time from the first delivery until the last ack is confirmed; joining the group is not in it."""
    consumer = ShareConsumer({"bootstrap.servers": address, **security, "group.id": group, "log_level": 2})
    consumer.subscribe([topic])
    first = len(consumer.poll(30.0))
    assert first, "no first record within 30 s"
    meter = Meter.start(broker_pid)
    count = first
    while count < records:
        messages = consumer.poll(20.0)
        assert len(messages), f"nothing came after {count} records"
        count += len(messages)
    consumer.commit_sync(20.0)
    sample = meter.stop(count - first)
    consumer.close()
    return sample
