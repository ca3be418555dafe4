"""librdkafka producer: records of 100 bytes by default, acks=all, otherwise its defaults."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from confluent_kafka import Producer

from bench.client.meter import NO_SECURITY, Meter

CHUNK = 10_000
BY_PARTITIONER = -1  # RD_KAFKA_PARTITION_UA


def run(
    address: str,
    broker_pid: int | Sequence[int],
    topic: str,
    partitions: int,
    records: int,
    security: Mapping[str, str] = NO_SECURITY,
    keys: int = 0,
    batch_bytes: int = 0,
    random_keys: bool = False,
    value_bytes: int = 100,
) -> dict[str, float]:
    """Measure the time from the first produce call until the last record is confirmed.

    `keys`: the number of keys, taken in turn or at random. `partitions`: the number of partitions, each of which gets a
    chunk in turn; with 0 librdkafka's partitioner chooses. `batch_bytes`: the largest batch; 0 for librdkafka's
    default.
    """
    producer = Producer(
        {
            "bootstrap.servers": address,
            **security,
            "queue.buffering.max.messages": 2_000_000,
            "queue.buffering.max.kbytes": 1_000_000,
            **({"batch.size": batch_bytes} if batch_bytes else {}),
        }
    )
    producer.list_topics(topic, 10)  # connected, metadata known
    chunk: list[dict[str, bytes]] = [{"value": b"x" * value_bytes} for _ in range(CHUNK)]
    chance = random.Random(keys)
    for index in range(CHUNK if keys else 0):
        number = chance.randrange(keys) if random_keys else index * 7919 % keys  # in turn: neighbours differ
        chunk[index]["key"] = b"key %d" % number
    meter = Meter.start(broker_pid)
    for start in range(0, records, CHUNK):
        accepted = producer.produce_batch(
            topic, chunk, partition=start // CHUNK % partitions if partitions else BY_PARTITIONER
        )
        assert accepted == CHUNK, accepted
    left = producer.flush(120)
    assert left == 0, f"{left} records were not confirmed"
    return meter.stop(records)
