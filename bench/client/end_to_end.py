"""One record at a time: produce it, poll until the share consumer has it, produce the next."""

from __future__ import annotations

import time

from confluent_kafka import Producer, ShareConsumer

from bench.client.meter import Meter

WARM_UP = 100


def run(address: str, broker_pid: int, topic: str, group: str, round_trips: int) -> dict[str, float]:
    """Measure milliseconds from the produce call to the return of poll, and the broker's CPU per record.

    Producer and consumer are two clients with two connections; a record's ack travels with the next fetch.
    """
    producer = Producer({"bootstrap.servers": address, "linger.ms": 0})
    consumer = ShareConsumer({"bootstrap.servers": address, "group.id": group, "log_level": 2})
    consumer.subscribe([topic])
    latencies_ms: list[float] = []
    for number in range(WARM_UP + round_trips):
        if number == WARM_UP:
            meter = Meter.start(broker_pid)
        sent = time.perf_counter()
        producer.produce(topic, b"%d" % number)
        messages = consumer.poll(30.0)
        latencies_ms.append((time.perf_counter() - sent) * 1000)
        assert [message.value() for message in messages] == [b"%d" % number], number
        producer.poll(0)
    sample = meter.stop(round_trips)
    consumer.close()
    ordered = sorted(latencies_ms[WARM_UP:])
    return {**sample, "p50_ms": ordered[len(ordered) // 2], "p99_ms": ordered[len(ordered) * 99 // 100]}
