"""The other member of the share group, no Spark: `member.py BOOTSTRAP GROUP TOPIC JOURNAL`, until SIGTERM.

A plain librdkafka share consumer that accepts what it gets. Its journal has one line a poll, written before the records
are acknowledged: what it worked on, as [partition, offset, carrier].
"""

from __future__ import annotations

import json
import sys
import time
from functools import partial
from typing import IO

from confluent_kafka import AcknowledgeType, Message, ShareConsumer

from examples.flights_demo.membership import consume
from examples.spark_flights.names import CARRIER

# Pretended work, so that Spark gets its part.
WORK_S_PER_RECORD = 1e-3


def handle(journal: IO[str], consumer: ShareConsumer, messages: list[Message]) -> None:
    """Work on the records, note them in the journal, accept them, and commit."""
    time.sleep(WORK_S_PER_RECORD * len(messages))
    worked_on = [
        (message.partition(), message.offset(), (message.value() or b"").split(b",")[CARRIER].decode())
        for message in messages
    ]
    journal.write(json.dumps(worked_on, separators=(",", ":")) + "\n")
    journal.flush()
    for message in messages:
        consumer.acknowledge(message, AcknowledgeType.ACCEPT)
    # One that the kill cuts off was taken or was not, we cannot know: then its records come again, to us or to Spark.
    consumer.commit_sync(10.0)


if __name__ == "__main__":
    with open(sys.argv[4], "w") as journal_file:
        consume(sys.argv[1], sys.argv[2], sys.argv[3], partial(handle, journal_file))
