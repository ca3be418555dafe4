"""A client that prints what it received: `client.py BOOTSTRAP TOPIC [VALUE]...`.

It produces the values, reads the topic from its beginning, and prints JSON: the brokers as the metadata names them, and
all values in their order.
"""

from __future__ import annotations

import json
import sys
import time

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

DEADLINE_S = 20.0


def main(bootstrap: str, topic: str, values: list[str]) -> None:
    producer = Producer({"bootstrap.servers": bootstrap})
    for value in values:
        producer.produce(topic, value)
    if producer.flush(DEADLINE_S):
        sys.exit("not everything was produced")
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "reader", "enable.auto.commit": False})
    brokers = [f"{each.host}:{each.port}" for each in consumer.list_topics(timeout=DEADLINE_S).brokers.values()]
    print(json.dumps({"brokers": brokers, "values": _read(consumer, topic)}))
    consumer.close()


def _read(consumer: Consumer, topic: str) -> list[str]:
    _, end = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=DEADLINE_S)
    consumer.assign([TopicPartition(topic, 0, 0)])
    deadline_s = time.monotonic() + DEADLINE_S
    result: list[str] = []
    while len(result) < end:
        message = consumer.poll(1)
        if time.monotonic() > deadline_s:
            sys.exit(f"{len(result)} of {end} records within {DEADLINE_S:g} s")
        if message is None:
            continue
        error = message.error()
        if error is not None:
            raise KafkaException(error)
        result.append((message.value() or b"").decode())
    return result


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
