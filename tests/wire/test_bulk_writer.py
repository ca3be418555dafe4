"""Many records in a transaction that another process ends, judged by confluent-kafka's consumer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, TopicPartition

from devtools.clients.admin import create_topic
from shareq.client import transactions
from shareq.client.bulk import BATCH_BYTES, HELD_BYTES, BulkWriter
from shareq.client.config import ClientConfig
from shareq.client.errors import BrokerError
from shareq.client.network import Network
from shareq.client.partitioner import partition_of_key
from shareq.client.transactions import Mark, Transaction
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.compression import Compression
from shareq.protocol.records.record_codec import RecordData
from shareq.testing import Broker

MINUTE = 60_000


@pytest.fixture
def topic(broker: Broker, request: pytest.FixtureRequest) -> str:
    name = str(request.node.name)
    create_topic(broker.bootstrap, name, partitions=3)
    return name


@pytest.fixture
def network(broker: Broker) -> Iterator[Network]:
    opened = another(broker)
    yield opened
    opened.close()


def another(broker: Broker) -> Network:
    return Network(ClientConfig.from_properties({"bootstrap.servers": broker.bootstrap}))


def record(number: int, key: bytes | None = None) -> RecordData:
    return RecordData(key, b"%d" % number, (("n", b"%d" % number),), 1_700_000_000_000)


def committed(broker: Broker, topic: str, isolation: str = "read_committed") -> list[tuple[int, bytes]]:
    settings = {
        "bootstrap.servers": broker.bootstrap,
        "group.id": "judge",
        "isolation.level": isolation,
        "enable.partition.eof": True,
        "auto.offset.reset": "earliest",
    }
    consumer = Consumer(settings)
    consumer.assign([TopicPartition(topic, number, 0) for number in range(3)])
    found, ended = [], 0
    while ended < 3:
        message = consumer.poll(20)
        assert message is not None
        if message.error() is not None:
            ended += 1
        else:
            found.append((message.partition() or 0, message.value() or b""))
    consumer.close()
    return sorted(found)


def test_what_another_process_commits_is_there_and_what_it_aborts_is_not(
    broker: Broker, topic: str, network: Network
) -> None:
    other = another(broker)
    for number, is_committed in enumerate((True, False, True)):
        transaction = Transaction.begin(network, topic, timeout_ms=MINUTE)
        writer = BulkWriter(network, transaction=transaction)
        writer.add(topic, record(number), 1)
        writer.flush()
        assert (1, b"%d" % number) not in committed(broker, topic)
        assert (1, b"%d" % number) in committed(broker, topic, "read_uncommitted")
        for _ in range(2):  # the answer may have been lost
            transactions.end(other, transaction.id, committed=is_committed)
    other.close()
    assert committed(broker, topic) == [(1, b"0"), (1, b"2")]


def test_a_mark_is_the_groups_only_once_its_transaction_is_committed(
    broker: Broker, topic: str, network: Network
) -> None:
    assert transactions.last_mark(network, topic) is None
    for number, is_committed in ((6, True), (7, False), (8, True), (9, False)):
        transaction = Transaction.begin(network, topic, timeout_ms=MINUTE)
        transaction.mark(topic, (topic, number % 3), Mark(number, f"mark {number}"))
        transactions.end(network, transaction.id, committed=is_committed)
        expected = number if is_committed else number - 1
        assert transactions.last_mark(network, topic) == Mark(expected, f"mark {expected}")


def test_the_name_taken_again_aborts_what_is_open_and_shuts_its_producer_out(
    broker: Broker, topic: str, network: Network
) -> None:
    first = Transaction.begin(network, topic, timeout_ms=MINUTE)
    zombie = BulkWriter(network, transaction=first)
    zombie.add(topic, record(1), 0)
    zombie.flush()
    second = Transaction.begin(network, topic, timeout_ms=MINUTE)
    zombie.add(topic, record(2), 0)
    with pytest.raises(BrokerError) as written:
        zombie.flush()
    with pytest.raises(BrokerError) as ended:
        transactions.end(network, first.id, committed=True)
    fenced = {ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED}
    assert {written.value.code, ended.value.code} <= fenced
    writer = BulkWriter(network, transaction=second)
    writer.add(topic, record(3), 0)
    writer.flush()
    transactions.end(network, second.id, committed=True)
    assert committed(broker, topic) == [(0, b"3")]


@pytest.mark.parametrize("compression", list(Compression))
def test_more_than_is_held_is_written_in_its_order_where_javas_producer_puts_it(
    broker: Broker, network: Network, compression: Compression, request: pytest.FixtureRequest
) -> None:
    topic = f"many-{compression.name}"
    create_topic(broker.bootstrap, topic, partitions=3)
    writer = BulkWriter(network, compression=compression)
    size = BATCH_BYTES // 8
    count = HELD_BYTES // size + 20
    expected = []
    for number in range(count):
        key = None if number % 2 else b"%d" % number
        value = (b"%07d" % number).ljust(size, b".")
        at = writer.add(topic, RecordData(key, value, (), 1_700_000_000_000))
        if key is not None:
            assert at == partition_of_key(key, [0, 1, 2])
        expected.append((at, value))
    writer.flush()
    assert len({at for at, _ in expected}) == 3
    assert committed(broker, topic) == sorted(expected)


def test_a_batch_that_the_broker_finds_too_large_is_split_also_in_a_transaction(
    broker: Broker, network: Network
) -> None:
    topic = "small-batches"
    create_topic(broker.bootstrap, topic, partitions=3, max_message_bytes="2000")
    transaction = Transaction.begin(network, topic, timeout_ms=MINUTE)
    writer = BulkWriter(network, transaction=transaction)
    for number in range(200):
        writer.add(topic, record(number), 2)
    writer.flush()
    transactions.end(network, transaction.id, committed=True)
    assert committed(broker, topic) == sorted((2, b"%d" % number) for number in range(200))


def test_what_cannot_be_written_is_named(broker: Broker, topic: str, network: Network) -> None:
    writer = BulkWriter(network)
    with pytest.raises(BrokerError, match=f"partition {topic}-3: UNKNOWN_TOPIC_OR_PARTITION"):
        writer.add(topic, record(1), 3)
    with pytest.raises(TypeError, match="value is str: must be bytes or None"):
        writer.add(topic, RecordData(None, "text"))  # type: ignore[arg-type]
    writer.add(topic, RecordData(None, bytes(2 << 20), (), 0))
    with pytest.raises(BrokerError, match=f"partition {topic}-\\d: MESSAGE_TOO_LARGE"):
        writer.flush()
