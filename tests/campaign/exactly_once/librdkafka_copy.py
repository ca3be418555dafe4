"""Consume, produce and commit offsets in transactions with librdkafka, as a process that may be killed at any time:

    python -m tests.campaign.exactly_once.librdkafka_copy BOOTSTRAP SOURCE TARGET NAME COUNT SECONDS

until the group NAME has reached offset COUNT of the source. The transactional id is NAME, too. A character is printed
for each transaction that was committed; SECONDS is how long offsets and commits may take.

It has to be killed and restarted when it takes too long: after a restart of any broker, librdkafka 2.16 often waits for
ever for the group's coordinator, in send_offsets_to_transaction: TxnOffsetCommit is never sent, and the timeout does
not always end the call.
"""

from __future__ import annotations

import sys

from confluent_kafka import Consumer, KafkaException, Producer


def copy(bootstrap: str, source: str, target: str, name: str, count: int, within_s: float) -> None:
    """Copy the records. Raises KafkaException on any error: then everything starts over."""
    clients = {"bootstrap.servers": bootstrap, "reconnect.backoff.max.ms": 200, "log_level": 0}
    producer = Producer({**clients, "transactional.id": name, "linger.ms": 0})
    producer.init_transactions(30)
    # A static member: the next process takes its place without waiting for the end of its session.
    settings = {**clients, "group.id": name, "group.instance.id": name, "enable.auto.commit": False}
    consumer = Consumer({**settings, "auto.offset.reset": "earliest", "isolation.level": "read_committed"})
    consumer.subscribe([source])
    while not any(each.offset >= count for each in consumer.committed(consumer.assignment(), within_s)):
        messages = [each for each in consumer.consume(20, 0.5) if each.error() is None]
        if messages:
            producer.begin_transaction()
            for message in messages:
                producer.produce(target, message.value())
            offsets = consumer.position(consumer.assignment())
            producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), within_s)
            producer.commit_transaction(within_s)
            print(end=".", flush=True)
    consumer.close()


if __name__ == "__main__":
    try:
        bootstrap, source, target, name, count, within_s = sys.argv[1:]
        copy(bootstrap, source, target, name, int(count), float(within_s))
    except KafkaException as failed:
        sys.exit(str(failed))
