"""What a consumer of another client library sees of a topic: each record as columns of the sink."""

from __future__ import annotations

from typing import NamedTuple

from confluent_kafka import Consumer, TopicPartition


class Seen(NamedTuple):
    """One record."""

    partition: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, str | bytes | None], ...] = ()


def seen(bootstrap: str, topic: str, isolation: str = "read_committed") -> list[Seen]:
    """Return all records of a topic that a consumer of this isolation gets now, partition by partition."""
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": "judge",
        "isolation.level": isolation,
        "enable.partition.eof": True,
        "enable.auto.commit": False,
    }
    consumer = Consumer(settings)
    partitions = list(consumer.list_topics(topic, 20).topics[topic].partitions)
    consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
    found: list[Seen] = []
    left = len(partitions)
    while left:
        message = consumer.poll(30)
        assert message is not None, f"{topic} has not been read to its end"
        if message.error() is not None:
            left -= 1
            continue
        partition, headers = message.partition(), message.headers() or []
        assert partition is not None
        assert isinstance(headers, list)
        found.append(Seen(partition, message.key(), message.value(), tuple(headers)))
    consumer.close()
    return found
