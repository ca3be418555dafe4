"""A librdkafka share consumer that accepts, releases and rejects in turn, so that all neighbours differ."""

from __future__ import annotations

from confluent_kafka import AcknowledgeType, ShareConsumer

from bench.client.meter import Meter

ACCEPT, RELEASE, REJECT = AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT
IN_TURN = (ACCEPT, RELEASE, REJECT)


def run(address: str, broker_pid: int, topic: str, group: str, records: int) -> dict[str, float]:
    """Measure the time per acknowledged delivery; a released record is accepted when it comes back."""
    consumer = ShareConsumer(
        {
            "bootstrap.servers": address,
            "group.id": group,
            "share.acknowledgement.mode": "explicit",
            "log_level": 2,
        }
    )
    consumer.subscribe([topic])
    messages = consumer.poll(30.0)
    meter = Meter.start(broker_pid)
    done = deliveries = 0
    while done < records:
        assert len(messages), f"nothing came after {done} records"
        for message in messages:
            again = (message.delivery_count() or 1) > 1
            verdict = ACCEPT if again else IN_TURN[(message.offset() or 0) % 3]
            consumer.acknowledge(message, verdict)
            done += verdict != RELEASE
        deliveries += len(messages)
        failed = [error for error in consumer.commit_sync(20.0).values() if error is not None]
        assert not failed, failed
        if done < records:
            messages = consumer.poll(20.0)
    sample = meter.stop(deliveries)
    consumer.close()
    return sample
