"""One member of the share group, as a process of its own: `consumer.py BOOTSTRAP GROUP TOPIC LOG`.

Writes a journal, one JSON object a line, times in nanoseconds of the machine's monotonic clock:

    {"t": T, "got": [[partition, offset, row, delivery count, verdict], ...]}     one poll, before it is acknowledged
    {"t": T, "acked": {partition: [[first, last], ...]}, "error": null or name}   the broker's answer to a commit

SIGTERM makes it leave the group and end.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Collection, Mapping
from functools import partial
from typing import IO

from confluent_kafka import AcknowledgeType, KafkaException, Message, ShareConsumer, TopicPartition

from examples.flights_demo.membership import consume
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
        """Note the broker's answer to a commit: `error` None means that the broker confirmed these offsets."""
        ranges = {where.partition: _ranges(sorted(numbers)) for where, numbers in offsets.items()}
        self._write({"acked": ranges, "error": None if error is None else error.args[0].name()})

    def _write(self, entry: dict[str, object]) -> None:
        self._file.write(json.dumps({"t": time.monotonic_ns(), **entry}, separators=(",", ":")) + "\n")
        self._file.flush()


def handle(journal: Journal, consumer: ShareConsumer, messages: list[Message]) -> None:
    """Note, acknowledge each record by the rule, commit."""
    deliveries: list[Delivery] = []
    for message in messages:
        row, count = int(message.key() or b""), message.delivery_count() or 0
        deliveries.append((message.partition() or 0, message.offset() or 0, row, count, verdict(row, count)))
    journal.got(deliveries)
    time.sleep(WORK_S_PER_RECORD * len(messages))
    for message, delivery in zip(messages, deliveries, strict=True):
        consumer.acknowledge(message, AcknowledgeType(delivery[-1]))
    # A commit that the kill cuts off is reported to the callback; its records come back or were taken, we cannot know.
    consumer.commit_sync(10.0)


def _ranges(numbers: list[int]) -> list[list[int]]:
    """Return ascending numbers as inclusive ranges."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ranges


if __name__ == "__main__":
    with open(sys.argv[4], "w") as journal_file:
        journal = Journal(journal_file)
        consume(sys.argv[1], sys.argv[2], sys.argv[3], partial(handle, journal), journal.acked)
