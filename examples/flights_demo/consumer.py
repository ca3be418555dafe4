"""One member of the share group, as a process of its own: `consumer.py BOOTSTRAP GROUP TOPIC LOG`.

Writes a journal, one JSON object a line, times in nanoseconds of the machine's monotonic clock:

    {"t": T, "got": [[partition, offset, row, delivery count, verdict], ...]}     one poll, before it is acknowledged
    {"t": T, "acked": {partition: [[first, last], ...]}, "error": null or name}   the broker's answer to a commit

SIGTERM makes it leave the group and end.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Collection, Mapping
from typing import IO

from confluent_kafka import AcknowledgeType, KafkaException, Message, ShareConsumer, TopicPartition

from examples.flights_demo.rules import verdict

# Pretended work, so that all four hold records when the broker is killed; without it the queue is empty in a second.
WORK_S_PER_RECORD = 50e-6

Delivery = tuple[int, int, int, int, int]


class Journal:
    """Appends lines to a file; a line is with the operating system when the method returns."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def got(self, deliveries: list[Delivery]) -> None:
        self._write({"got": deliveries})

    def acked(self, offsets: Mapping[TopicPartition, Collection[int]], error: KafkaException | None) -> None:
        """The callback of the share consumer: `error` None means that the broker confirmed these offsets."""
        ranges = {where.partition: _ranges(sorted(numbers)) for where, numbers in offsets.items()}
        self._write({"acked": ranges, "error": None if error is None else error.args[0].name()})

    def _write(self, entry: dict[str, object]) -> None:
        self._file.write(json.dumps({"t": time.monotonic_ns(), **entry}, separators=(",", ":")) + "\n")
        self._file.flush()


def consume(bootstrap: str, group: str, topic: str, journal: Journal) -> None:
    """Poll, note, acknowledge each record by the rule, commit; until SIGTERM."""
    stopping: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: stopping.append(number))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole process group; the parent decides
    consumer = ShareConsumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "share.acknowledgement.mode": "explicit",
            "reconnect.backoff.max.ms": 250,
            "log_level": 0,  # the broker is going to be killed: librdkafka need not tell
        }
    )
    consumer.set_acknowledgement_commit_callback(journal.acked)
    consumer.subscribe([topic])
    try:
        while not stopping:
            messages = [message for message in consumer.poll(0.2) if message.error() is None]
            if messages:
                _handle(consumer, messages, journal)
    finally:
        consumer.close()


def _handle(consumer: ShareConsumer, messages: list[Message], journal: Journal) -> None:
    deliveries: list[Delivery] = []
    for message in messages:
        row, count = int(message.key() or b""), message.delivery_count() or 0
        deliveries.append((message.partition() or 0, message.offset() or 0, row, count, verdict(row, count)))
    journal.got(deliveries)
    time.sleep(WORK_S_PER_RECORD * len(messages))
    for message, delivery in zip(messages, deliveries, strict=True):
        consumer.acknowledge(message, AcknowledgeType(delivery[-1]))
    # A commit that the kill cuts off is told through the callback; its records come back or were taken, we cannot know.
    consumer.commit_sync(10.0)


def _ranges(numbers: list[int]) -> list[list[int]]:
    """Ascending numbers as inclusive ranges."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ranges


if __name__ == "__main__":
    with open(sys.argv[4], "w") as journal_file:
        consume(sys.argv[1], sys.argv[2], sys.argv[3], Journal(journal_file))
