"""Apache Kafka's tools on transactions: kafka-transactions, and the dump of `__transaction_state`."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from devtools.clients.admin import create_topic
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.support.java_driver import JavaDriver
from tests.interop.support.transactional import LibrdkafkaProducer

pytestmark = pytest.mark.interop
Unique = Callable[[str], str]


def table(java: JavaDriver, broker: BrokerUnderTest, *arguments: str) -> list[dict[str, str]]:
    result = java.tool("TransactionsCommand", "--bootstrap-server", broker.bootstrap, *arguments)
    assert result.code == 0, result.output
    lines = [[cell.strip() for cell in line.split("\t")] for line in result.out.splitlines() if line.strip()]
    return [dict(zip(lines[0], line, strict=True)) for line in lines[1:]]


def test_kafka_transactions(broker: BrokerUnderTest, unique: Unique, java: JavaDriver) -> None:
    topic, name = unique("topic"), unique("id")
    create_topic(broker.bootstrap, topic)
    producer = LibrdkafkaProducer(broker.bootstrap, name)
    producer.begin()
    producer.send(topic, 0, ["x", "y"])
    (row,) = table(java, broker, "describe", "--transactional-id", name)
    assert (row["TransactionState"], row["TopicPartitions"], row["ProducerEpoch"]) == ("Ongoing", f"{topic}-0", "0")
    listed = table(java, broker, "list", "--transactional-id-pattern", f"{name[:-1]}.")
    assert [each["TransactionalId"] for each in listed] == [name]
    (writer,) = table(java, broker, "describe-producers", "--topic", topic, "--partition", "0")
    assert (writer["LastSequence"], writer["CurrentTransactionStartOffset"]) == ("1", "0")
    arguments = ["abort", "--topic", topic, "--partition", "0", "--start-offset", "0"]
    assert table(java, broker, *arguments) == []
    (writer,) = table(java, broker, "describe-producers", "--topic", topic, "--partition", "0")
    assert writer["CurrentTransactionStartOffset"] == "None"
    producer.close()


def test_the_dump_of_the_coordinators_log(broker: BrokerUnderTest, unique: Unique, java: JavaDriver) -> None:
    topic, name = unique("topic"), unique("id")
    create_topic(broker.bootstrap, topic)
    producer = LibrdkafkaProducer(broker.bootstrap, name)
    for _ in range(2):
        producer.begin()
        producer.send(topic, 0, ["x"])
        producer.commit()
    producer.close()
    files = [each for each in sorted(broker.data_dir.glob("__transaction_state-*/*.log")) if each.stat().st_size]
    arguments = ["--transaction-log-decoder", "--print-data-log", "--files", ",".join(map(str, files))]
    result = java.tool("DumpLogSegments", *arguments)
    assert result.code == 0, result.output
    rows = [line for line in result.out.splitlines() if f'"transactionalId":"{name}"' in line]
    assert [int(re.findall(r'"transactionStatus":(\d)', row)[0]) for row in rows] == [0, 1, 2, 4, 1, 2, 4], rows
    assert all(f'"topic":"{topic}","partitionIds":[0]' in rows[at] for at in (1, 2, 4, 5)), rows
