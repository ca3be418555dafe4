"""A suite of code with confluent-kafka."""

from collections.abc import Iterable, Iterator

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]


def pack(bootstrap: str, topic: str, packed: str, orders: int) -> None:
    """Pack each order once, its offset in the transaction of its parcel: the code under test."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "packers",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": "packer"})
    producer.init_transactions()
    consumer.subscribe([topic])
    while orders:
        message = consumer.poll(1)
        if message is None or message.error():
            continue
        producer.begin_transaction()
        producer.produce(packed, f"{(message.value() or b'').decode()}, packed", message.key())
        here = TopicPartition(topic, message.partition() or 0, (message.offset() or 0) + 1)
        producer.send_offsets_to_transaction([here], consumer.consumer_group_metadata())
        producer.commit_transaction()
        orders -= 1
    consumer.close()


def values(bootstrap: str, topic: str, count: int) -> Iterator[bytes]:
    config = {"bootstrap.servers": bootstrap, "group.id": "judge", "auto.offset.reset": "earliest"}
    consumer = Consumer({**config, "isolation.level": "read_committed"})
    consumer.subscribe([topic])
    for message in consumer.consume(count, timeout=20):
        yield message.value() or b""
    consumer.close()


def write(bootstrap: str, topic: str, orders: Iterable[str]) -> None:
    producer = Producer({"bootstrap.servers": bootstrap})
    for order in orders:
        producer.produce(topic, order, key=order)
    assert producer.flush(20) == 0


@pytest.fixture
def topics(bootstrap: str) -> Iterator[list[str]]:
    admin, names = AdminClient({"bootstrap.servers": bootstrap}), ["orders", "parcels"]
    for created in admin.create_topics([NewTopic(name, 3, 1) for name in names]).values():
        created.result(20)
    yield names
    for deleted in admin.delete_topics(names).values():
        deleted.result(20)


def test_each_order_is_packed_once(bootstrap: str, topics: list[str]) -> None:
    write(bootstrap, "orders", ["a vase", "apples", "pears"])
    pack(bootstrap, "orders", "parcels", 2)
    pack(bootstrap, "orders", "parcels", 1)  # another one goes on where the first has stopped
    assert sorted(values(bootstrap, "parcels", 3)) == [b"a vase, packed", b"apples, packed", b"pears, packed"]


def test_a_topic_has_the_partitions_that_the_environment_asks_for(bootstrap: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic("as-many-as-usual")])["as-many-as-usual"].result(20)
    assert len(admin.list_topics("as-many-as-usual", timeout=20).topics["as-many-as-usual"].partitions) == 2
