"""A consumer of the campaign: `python -m tests.campaign.cluster_kills.consumer BOOTSTRAP GROUP TOPIC JOURNAL`.

Each record is accepted by itself and confirmed by `commit_sync`. The journal has a line for each step, with the
monotonic time, which all processes of a machine share:

    D TIME PARTITION OFFSET       delivered
    A TIME PARTITION OFFSET,...   about to be confirmed
    C TIME PARTITION OFFSET,...   confirmed
    E TIME WHAT                   an error that the client got

A call that does not return in `HANGS_S` ends the process (SIGALRM): another one goes on.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterable
from typing import Final, TextIO

from confluent_kafka import AcknowledgeType, KafkaException, Message, ShareConsumer

HANGS_S: Final = 15
COMMIT_S: Final = 10


def main(bootstrap: str, group: str, topic: str, path: str) -> None:
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
    consumer.subscribe([topic])
    with open(path, "a", buffering=1) as journal:
        while True:
            signal.alarm(HANGS_S)
            _step(consumer, journal)


def _step(consumer: ShareConsumer, journal: TextIO) -> None:
    try:
        records = [each for each in consumer.poll(0.5) if not each.error()]
    except KafkaException as error:
        _note(journal, "E", f"poll {error.args[0].name()}")
        return
    if not records:
        return
    by_partition = _by_partition(records)
    for partition, offsets in by_partition.items():
        for offset in offsets:
            _note(journal, "D", f"{partition} {offset}")
    for record in records:
        try:
            consumer.acknowledge(record, AcknowledgeType.ACCEPT)
        except KafkaException as error:
            _note(journal, "E", f"acknowledge {error.args[0].name()}")
    for partition, offsets in by_partition.items():
        _note(journal, "A", f"{partition} {_listed(offsets)}")
    try:
        outcome = {each.partition: error for each, error in consumer.commit_sync(COMMIT_S).items()}
    except KafkaException as error:
        _note(journal, "E", f"commit {error.args[0].name()}")
        return
    for partition, offsets in by_partition.items():
        if partition not in outcome:
            _note(journal, "E", "commit without an outcome")
        elif (failed := outcome[partition]) is not None:
            _note(journal, "E", f"commit {failed.args[0].name()}")
        else:
            _note(journal, "C", f"{partition} {_listed(offsets)}")


def _by_partition(records: Iterable[Message]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for record in records:
        partition, offset = record.partition(), record.offset()
        assert partition is not None
        assert offset is not None
        found.setdefault(partition, []).append(offset)
    return found


def _listed(offsets: Iterable[int]) -> str:
    return ",".join(map(str, offsets))


def _note(journal: TextIO, kind: str, what: str) -> None:
    journal.write(f"{kind} {time.monotonic():.4f} {what}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
