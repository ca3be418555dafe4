"""One job at a time with librdkafka: produce a record, acquire it in a share group, accept it, wait for the answer."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from confluent_kafka import AcknowledgeType, Producer, ShareConsumer

from bench.client.meter import Meter

WARM_UP = 100
PATIENCE_S = 30.0


def run(
    address: str, broker_pid: int | Sequence[int], topic: str, group: str, jobs: int, produce_at: str | None = None
) -> dict[str, float]:
    """Measure milliseconds of a whole job, and to its record's delivery; CPU of the brokers per job.

    Producer and consumer are two clients, of one address unless `produce_at` names another. Each record is acknowledged
    in a request of its own.
    """
    producer = Producer({"bootstrap.servers": produce_at or address, "linger.ms": 0})
    consumer = ShareConsumer(
        {"bootstrap.servers": address, "group.id": group, "share.acknowledgement.mode": "explicit", "log_level": 2}
    )
    consumer.subscribe([topic])
    whole_ms: list[float] = []
    received_ms: list[float] = []
    for number in range(WARM_UP + jobs):
        if number == WARM_UP:
            meter = Meter.start(broker_pid)
        began = time.perf_counter()
        producer.produce(topic, b"%d" % number)
        producer.poll(0)
        messages = _polled(consumer)
        received = time.perf_counter()
        assert [message.value() for message in messages] == [b"%d" % number], number
        consumer.acknowledge(messages[0], AcknowledgeType.ACCEPT)
        failed = [error for error in consumer.commit_sync(PATIENCE_S).values() if error is not None]
        assert not failed, failed
        whole_ms.append((time.perf_counter() - began) * 1000)
        received_ms.append((received - began) * 1000)
    sample = meter.stop(jobs)
    consumer.close()
    whole, received_after = sorted(whole_ms[WARM_UP:]), sorted(received_ms[WARM_UP:])
    return {
        **sample,
        "p50_ms": whole[jobs // 2],
        "p99_ms": whole[jobs * 99 // 100],
        "received_p50_ms": received_after[jobs // 2],
    }


def _polled(consumer: ShareConsumer) -> list[Any]:
    until = time.perf_counter() + PATIENCE_S
    while time.perf_counter() < until:
        messages = consumer.poll(1.0)
        if messages:
            return list(messages)
    raise AssertionError(f"no record in {PATIENCE_S:g} s")
