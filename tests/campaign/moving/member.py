"""A member of a share group that moves: `python -m tests.campaign.moving.member BOOTSTRAP GROUP TOPIC JOURNAL PACE`.

It uses librdkafka. It acknowledges each flight by the rule of the flights' demo, at the rate a second in the file PACE
(0: as fast as it can), and commits every half second. Each line of its journal is a JSON object with the nanoseconds of
the machine's monotonic clock:

    {"t": T, "got": [[partition, offset, row, delivery count, verdict], ...]}     one poll
    {"t": T, "sent": [[partition, offset], ...]}                                  about to be confirmed
    {"t": T, "acked": [[partition, offset], ...], "error": null or name}          the answer

SIGTERM makes it leave. A call that takes longer than `HANGS_S` ends the process (SIGALRM), and another one continues.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import IO, Final

from confluent_kafka import AcknowledgeType, KafkaException, Message, ShareConsumer, TopicPartition

from examples.flights_demo.rules import verdict

HANGS_S: Final = 45
COMMIT_S: Final = 10.0
COMMITS_EACH_S: Final = 0.5


class Journal:
    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, entry: Mapping[str, object]) -> None:
        self._file.write(json.dumps({"t": time.monotonic_ns(), **entry}, separators=(",", ":")) + "\n")
        self._file.flush()

    def acked(self, offsets: Mapping[TopicPartition, Collection[int]], error: KafkaException | None) -> None:
        places = [[where.partition, offset] for where, numbers in offsets.items() for offset in numbers]
        self.write({"acked": places, "error": None if error is None else error.args[0].name()})


def main(bootstrap: str, group: str, topic: str, path: str, pace: str) -> None:
    stopping: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: stopping.append(number))
    consumer = ShareConsumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "share.acknowledgement.mode": "explicit",
            "reconnect.backoff.ms": 50,
            "reconnect.backoff.max.ms": 500,
            "topic.metadata.refresh.interval.ms": 2000,
            "log_level": 0,
        }
    )
    with open(path, "w") as file:
        journal = Journal(file)
        consumer.set_acknowledgement_commit_callback(journal.acked)
        consumer.subscribe([topic])
        while not stopping:
            signal.alarm(HANGS_S)
            try:
                messages = [each for each in consumer.poll(0.2) if each.error() is None]
            except KafkaException as error:
                journal.write({"failed": f"poll {error.args[0].name()}"})
                continue
            if messages:
                _work(consumer, messages, journal, Path(pace), stopping)
        consumer.close()


def _work(
    consumer: ShareConsumer, messages: list[Message], journal: Journal, pace: Path, stopping: Collection[int]
) -> None:
    rows = [_row(message) for message in messages]
    journal.write({"got": rows})
    begin = 0
    while begin < len(messages) and not stopping:
        signal.alarm(HANGS_S)
        rate = float(pace.read_text())
        end = min(len(messages), begin + max(int(rate * COMMITS_EACH_S), 1)) if rate else len(messages)
        if rate:
            time.sleep((end - begin) / rate)
        _confirm(consumer, messages[begin:end], rows[begin:end], journal)
        begin = end


def _confirm(consumer: ShareConsumer, messages: list[Message], rows: list[list[int]], journal: Journal) -> None:
    journal.write({"sent": [row[:2] for row in rows]})
    try:
        for message, row in zip(messages, rows, strict=True):
            consumer.acknowledge(message, AcknowledgeType(row[-1]))
        consumer.commit_sync(COMMIT_S)
    except KafkaException as error:  # the callback has what became of which record
        journal.write({"failed": f"commit {error.args[0].name()}"})


def _row(message: Message) -> list[int]:
    row, count = int(message.key() or b""), message.delivery_count() or 0
    return [message.partition() or 0, message.offset() or 0, row, count, int(verdict(row, count))]


if __name__ == "__main__":
    main(*sys.argv[1:])
