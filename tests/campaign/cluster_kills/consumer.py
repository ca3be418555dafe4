"""A consumer of the campaign: `python -m tests.campaign.cluster_kills.consumer BOOTSTRAP GROUP TOPIC JOURNAL`.

All records of a poll are accepted, confirmed by `commit_sync`, and recorded (`journal.py`).

A call that takes longer than `HANGS_S` ends the process (SIGALRM), and another one takes over.
"""

from __future__ import annotations

import signal
import sys
from typing import Final

from confluent_kafka import AcknowledgeType, KafkaException, Message, ShareConsumer

from tests.campaign.cluster_kills.journal import Journal
from tests.campaign.cluster_kills.judge import Place

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
    with Journal(path) as journal:
        while True:
            signal.alarm(HANGS_S)
            _step(consumer, journal)


def _step(consumer: ShareConsumer, journal: Journal) -> None:
    try:
        records = [each for each in consumer.poll(0.5) if not each.error()]
    except KafkaException as error:
        journal.note("E", f"poll {error.args[0].name()}")
        return
    if not records:
        return
    places = [_place(record) for record in records]
    for place in places:
        journal.delivered(*place)
    for record in records:
        try:
            consumer.acknowledge(record, AcknowledgeType.ACCEPT)
        except KafkaException as error:
            journal.note("E", f"acknowledge {error.args[0].name()}")
    journal.tried(places)
    try:
        outcome = {each.partition: error for each, error in consumer.commit_sync(COMMIT_S).items()}
    except KafkaException as error:
        journal.note("E", f"commit {error.args[0].name()}")
        return
    for failed in outcome.values():
        if failed is not None:
            journal.note("E", f"commit {failed.args[0].name()}")
    without = {partition for partition, _ in places} - outcome.keys()
    if without:
        journal.note("E", "commit without an outcome")
    journal.confirmed(place for place in places if place[0] in outcome and outcome[place[0]] is None)


def _place(record: Message) -> Place:
    partition, offset = record.partition(), record.offset()
    assert partition is not None
    assert offset is not None
    return partition, offset


if __name__ == "__main__":
    main(*sys.argv[1:])
