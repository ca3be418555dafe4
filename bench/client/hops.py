"""One record at a time through a plain producer, and a plain consumer at the end of the log."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from confluent_kafka import Consumer, Producer, TopicPartition

from bench.client.meter import Meter

WARM_UP = 100
PATIENCE_S = 30.0


def run(
    address: str, broker_pid: int | Sequence[int], topic: str, round_trips: int, produce_at: str
) -> dict[str, float]:
    """Measure median milliseconds: of a Produce at `address`, and from a Produce at `produce_at` to a consumer of
    `address`.

    Also measure the brokers' CPU for each of the two.
    """
    producer = Producer({"bootstrap.servers": address, "linger.ms": 0})
    meter = Meter.start(broker_pid)
    produced = _median_ms(lambda number: _produce(producer, topic, number), round_trips)
    elsewhere = Producer({"bootstrap.servers": produce_at, "linger.ms": 0})
    consumer = Consumer({"bootstrap.servers": address, "group.id": "unused", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, round_trips + WARM_UP)])

    def fetched(number: int) -> None:
        elsewhere.produce(topic, b"%d" % number, partition=0)
        elsewhere.poll(0)
        message = consumer.poll(PATIENCE_S)
        assert message is not None, f"no record in {PATIENCE_S:g} s"
        assert message.error() is None, message.error()
        assert message.value() == b"%d" % number, message.value()

    fetched_ms = _median_ms(fetched, round_trips)
    sample = meter.stop(2 * (round_trips + WARM_UP))
    consumer.close()
    return {**sample, "produce_ms": produced, "fetch_ms": fetched_ms}


def _produce(producer: Producer, topic: str, number: int) -> None:
    producer.produce(topic, b"%d" % number, partition=0)
    assert producer.flush(PATIENCE_S) == 0, f"not confirmed in {PATIENCE_S:g} s"


def _median_ms(step: Callable[[int], None], round_trips: int) -> float:
    taken: list[float] = []
    for number in range(WARM_UP + round_trips):
        began = time.perf_counter()
        step(number)
        taken.append((time.perf_counter() - began) * 1000)
    return sorted(taken[WARM_UP:])[round_trips // 2]
