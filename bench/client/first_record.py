"""The wait of a new group for its first record."""

from __future__ import annotations

import time

from confluent_kafka import ShareConsumer

CONNECT_S = 0.5


def run(address: str, broker_pid: int, topic: str, group: str) -> dict[str, float]:
    """Measure milliseconds from subscribe (a heartbeat follows at once) to the first record, on an open connection."""
    del broker_pid
    consumer = ShareConsumer({"bootstrap.servers": address, "group.id": group, "log_level": 2})
    time.sleep(CONNECT_S)
    started = time.perf_counter()
    consumer.subscribe([topic])
    messages = consumer.poll(30.0)
    elapsed = time.perf_counter() - started
    assert len(messages), "no record within 30 s"
    consumer.close()
    return {"first_ms": elapsed * 1000}
