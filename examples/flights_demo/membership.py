"""The loop of a share group's member, from subscribing until SIGTERM, for the members of both demos."""

from __future__ import annotations

import signal
from collections.abc import Callable, Collection, Mapping

from confluent_kafka import KafkaException, Message, ShareConsumer, TopicPartition

Handle = Callable[[ShareConsumer, list[Message]], None]
"""A callback that works on the records of one poll, and acknowledges them."""
Reported = Callable[[Mapping[TopicPartition, Collection[int]], KafkaException | None], None]
"""A callback with offsets whose acknowledgement the broker has confirmed, or refused with the error."""


def consume(bootstrap: str, group: str, topic: str, handle: Handle, acknowledged: Reported | None = None) -> None:
    """Poll and handle until SIGTERM, then leave the group."""
    stopping: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: stopping.append(number))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole process group; the parent decides
    consumer = ShareConsumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "share.acknowledgement.mode": "explicit",
            "reconnect.backoff.max.ms": 250,
            "log_level": 0,  # the broker is going to be killed: librdkafka need not log it
        }
    )
    if acknowledged is not None:
        consumer.set_acknowledgement_commit_callback(acknowledged)
    consumer.subscribe([topic])
    try:
        while not stopping:
            messages = [message for message in consumer.poll(0.2) if message.error() is None]
            if messages:
                handle(consumer, messages)
    finally:
        consumer.close()
