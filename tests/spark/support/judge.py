"""The records of a topic as a consumer of another client library sees them, in columns of the sink."""

from __future__ import annotations

import time
from typing import Final, NamedTuple

from confluent_kafka import Consumer, IsolationLevel, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

MARKERS_WITHIN_S: Final = 4.0
"""The seconds within which the markers of ended transactions must be written: EndTxn is answered earlier."""


class Seen(NamedTuple):
    partition: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, str | bytes | None], ...] = ()


def seen(bootstrap: str, topic: str, isolation: str = "read_committed") -> list[Seen]:
    """Return all records of a topic that a consumer of this isolation gets, partition by partition.

    Waits until no transaction is open in the topic, for MARKERS_WITHIN_S if some stay open.
    """
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": "judge",
        "isolation.level": isolation,
        "enable.partition.eof": True,
        "enable.auto.commit": False,
    }
    consumer = Consumer(settings)
    partitions = list(consumer.list_topics(topic, 20).topics[topic].partitions)
    if isolation == "read_committed":
        _wait_for_markers(bootstrap, [TopicPartition(topic, number) for number in partitions])
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


def _wait_for_markers(bootstrap: str, partitions: list[TopicPartition]) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})

    def ends(isolation: IsolationLevel) -> list[int]:
        latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        asked = admin.list_offsets(dict.fromkeys(partitions, latest), isolation_level=isolation, request_timeout=20)
        return [asked[each].result().offset for each in partitions]

    give_up = time.monotonic() + MARKERS_WITHIN_S
    while ends(IsolationLevel.READ_COMMITTED) != ends(IsolationLevel.READ_UNCOMMITTED) and time.monotonic() < give_up:
        time.sleep(0.05)
