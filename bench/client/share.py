"""A librdkafka share consumer that drains a topic, acknowledging implicitly or record by record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from confluent_kafka import ShareConsumer

from bench.client.meter import NO_SECURITY, Meter


def run(
    address: str,
    broker_pid: int | Sequence[int],
    topic: str,
    group: str,
    records: int,
    security: Mapping[str, str] = NO_SECURITY,
    each: bool = False,
) -> dict[str, float]:
    """Measure the time from the first delivery until the last ack is confirmed, without joining the group.

    With `each` the client reads and acknowledges every record, as a real worker does.
    """
    mode = {"share.acknowledgement.mode": "explicit"} if each else {}
    consumer = ShareConsumer({"bootstrap.servers": address, **security, **mode, "group.id": group, "log_level": 2})
    consumer.subscribe([topic])

    def polled(timeout_s: float) -> int:
        messages = consumer.poll(timeout_s)
        if each:
            for message in messages:
                assert message.value() is not None
                consumer.acknowledge(message)
        return len(messages)

    first = polled(30.0)
    assert first, "no first record within 30 s"
    meter = Meter.start(broker_pid)
    count = first
    while count < records:
        came = polled(20.0)
        assert came, f"nothing came after {count} records"
        count += came
    consumer.commit_sync(20.0)
    sample = meter.stop(count - first)
    consumer.close()
    return sample
