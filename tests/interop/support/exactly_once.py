"""Consume, produce and commit offsets in transactions with librdkafka, as a process that may be killed at any time:

    python -m tests.interop.support.exactly_once BOOTSTRAP SOURCE TARGET NAME COUNT

until the group NAME has come to offset COUNT of the source. The transactional id is NAME, too. It is killed and started
again when it takes too long: after a restart of the broker librdkafka 2.16 sometimes waits for the group's coordinator
without end (in send_offsets_to_transaction, whatever its timeout; TxnOffsetCommit is never sent).
"""

from __future__ import annotations

import subprocess
import sys
import time

from confluent_kafka import Consumer, KafkaException, Producer

PATIENCE_S = 15


def copy(bootstrap: str, source: str, target: str, name: str, count: int) -> None:
    """Raises KafkaException, or AssertionError for a client that is fenced."""
    clients = {"bootstrap.servers": bootstrap, "reconnect.backoff.max.ms": 200, "log_level": 0}
    producer = Producer({**clients, "transactional.id": name, "linger.ms": 0})
    producer.init_transactions(30)
    settings = {**clients, "group.id": name, "auto.offset.reset": "earliest", "enable.auto.commit": False}
    consumer = Consumer({**settings, "isolation.level": "read_committed", "session.timeout.ms": 6_000})
    consumer.subscribe([source])
    while not any(each.offset >= count for each in consumer.committed(consumer.assignment(), 10)):
        messages = [each for each in consumer.consume(20, 0.5) if each.error() is None]
        if messages:
            producer.begin_transaction()
            for message in messages:
                producer.produce(target, message.value())
            offsets = consumer.position(consumer.assignment())
            producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), 10)
            producer.commit_transaction(10)
    consumer.close()


def copy_in_processes(bootstrap: str, source: str, target: str, name: str, count: int) -> None:
    """As many processes as it takes. AssertionError after two minutes."""
    command = [sys.executable, "-m", "tests.interop.support.exactly_once", bootstrap, source, target, name, str(count)]
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            if process.wait(PATIENCE_S) == 0:
                return
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    raise AssertionError(f"group {name} does not come to offset {count}")


if __name__ == "__main__":
    try:
        bootstrap, source, target, name, count = sys.argv[1:]
        copy(bootstrap, source, target, name, int(count))
    except KafkaException as failed:
        sys.exit(str(failed))
