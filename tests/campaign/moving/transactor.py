"""Copy keys of records, and commit the offsets, in transactions, as a process:

    python -m tests.campaign.moving.transactor BOOTSTRAP SOURCE TARGET NAME

NAME is the group and the transactional id. A line with the number of records is printed for each transaction that was
committed. SIGTERM ends it between two transactions; it leaves the group then.
"""

from __future__ import annotations

import signal
import sys
import time
from typing import Final

from confluent_kafka import Consumer, KafkaException, Producer

from devtools.clients.admin import QUIET

AT_ONCE: Final = 50
PAUSE_S: Final = 0.1
"""The pause after each transaction, so that some records are left when the job moves."""
WITHIN_S: Final = 20.0
SESSION_MS: Final = 6000


def copy(bootstrap: str, source: str, target: str, name: str) -> None:
    """Copy in transactions. Raise KafkaException for any failure, after which everything starts over."""
    stopping: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: stopping.append(number))
    clients = {"bootstrap.servers": bootstrap, "reconnect.backoff.max.ms": 200, **QUIET}
    producer = Producer({**clients, "transactional.id": name, "linger.ms": 0})
    producer.init_transactions(60)
    settings = {**clients, "group.id": name, "enable.auto.commit": False, "session.timeout.ms": SESSION_MS}
    consumer = Consumer({**settings, "auto.offset.reset": "earliest", "isolation.level": "read_committed"})
    consumer.subscribe([source])
    while not stopping:
        messages = [each for each in consumer.consume(AT_ONCE, 0.3) if each.error() is None]
        if messages:
            producer.begin_transaction()
            for message in messages:
                producer.produce(target, message.key())
            offsets = consumer.position(consumer.assignment())
            producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), WITHIN_S)
            producer.commit_transaction(WITHIN_S)
            print(len(messages), flush=True)
            time.sleep(PAUSE_S)
    consumer.close()


if __name__ == "__main__":
    try:
        copy(*sys.argv[1:])
    except KafkaException as failed:
        sys.exit(str(failed))
