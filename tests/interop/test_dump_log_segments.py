"""Apache Kafka's own tools on our files on disk and internal topics."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka import Producer

from devtools.clients.admin import QUIET, create_topic, produce, read_from_start
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.support.java_driver import JavaDriver
from tests.interop.support.share_ledger import Ledger, members, mixed, run_until

pytestmark = pytest.mark.interop
Unique = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Used:
    """A broker's data after a share group has read a topic."""

    broker: BrokerUnderTest
    topic: str
    group: str

    def files(self, topic: str, suffix: str) -> list[Path]:
        return sorted(file for file in self.broker.data_dir.glob(f"{topic}-*/*{suffix}") if file.stat().st_size)


@pytest.fixture(scope="module")
def used(broker: BrokerUnderTest) -> Used:
    """Return the data after 150 records of an idempotent producer and 300 large ones; most finished, none held."""
    topic, group = "dumped", "dumped-group"
    read_from_start(broker.bootstrap, group)
    create_topic(broker.bootstrap, topic, 2, segment_bytes=str(1 << 20))
    settings = {"bootstrap.servers": broker.bootstrap, "enable.idempotence": True, "compression.type": "lz4"}
    idempotent = Producer({**settings, **QUIET})
    for number in range(150):
        idempotent.produce(topic, b"value %d " % number * 10, key=b"key", partition=number % 2)
    assert idempotent.flush(30) == 0
    produce(broker.bootstrap, topic, ((n % 2, b"value %d " % n * 800) for n in range(150, 450)), batch_records=20)
    ledger = Ledger()
    with members(broker.bootstrap, group, topic, ledger, decide=mixed) as joined:
        run_until(joined, ledger.finished_at_least(400))
    return Used(broker, topic, group)


def dump(java: JavaDriver, *arguments: str) -> str:
    result = java.tool("DumpLogSegments", *arguments)
    assert result.code == 0, result.output
    return result.output


def comma(files: list[Path]) -> str:
    return ",".join(map(str, files))


def test_segments(java: JavaDriver, used: Used) -> None:
    """Every batch of every segment is valid, and all records are there."""
    files = used.files(used.topic, ".log")
    assert len(files) > 2, "the topic has rolled"
    output = dump(java, "--print-data-log", "--files", comma(files))
    assert "isvalid: false" not in output
    assert output.count("isvalid: true") >= 2 + 300 // 20
    assert sorted(map(int, re.findall(r"payload: value (\d+) ", output))) == list(range(450))
    assert "compresscodec: lz4" in output


def test_indexes_of_a_stopped_broker(java: JavaDriver, used: Used) -> None:
    """Files of a stopped broker are checked: those of a running Apache Kafka end in zeros, which the tool reports."""
    used.broker.stop()
    try:
        files = used.files(used.topic, ".index") + used.files(used.topic, ".timeindex")
        assert len(files) > 2
        for arguments in ((), ("--index-sanity-check",), ("--verify-index-only",)):
            output = dump(java, *arguments, "--files", comma(files))
            assert "Mismatches" not in output
            assert "Found timestamp mismatch" not in output
            assert "out of order" not in output
    finally:
        used.broker.start()


def test_share_group_state(java: JavaDriver, used: Used) -> None:
    files = used.files("__share_group_state", ".log")
    output = dump(java, "--share-group-state-decoder", "--files", comma(files))
    assert "isvalid: false" not in output
    assert f'"groupId":"{used.group}"' in output
    assert '"snapshotEpoch":0' in output
    assert re.search(r'"deliveryState":[024],"deliveryCount":[12]', output)
    assert "Could not" not in output


def test_group_records(java: JavaDriver, used: Used) -> None:
    """Records 10 to 15 of the share group are shown by Apache Kafka's names."""
    files = used.files("__consumer_offsets", ".log")
    output = dump(java, "--offsets-decoder", "--files", comma(files))
    assert "isvalid: false" not in output
    for kind in range(10, 16):
        assert re.search(rf'"type":"?{kind}\b', output), f"no record of type {kind} in\n{output[:2000]}"
    assert used.group in output
    assert used.topic in output


def test_producer_snapshots(java: JavaDriver, used: Used) -> None:
    files = used.files(used.topic, ".snapshot")
    assert files
    assert "producerId:" in dump(java, "--files", comma(files))


@pytest.mark.parametrize(
    ("topic", "formatter", "expected"),
    [
        (
            "__share_group_state",
            "org.apache.kafka.tools.consumer.group.share.ShareGroupStateMessageFormatter",
            "stateBatches",
        ),
        ("__consumer_offsets", "org.apache.kafka.tools.consumer.ShareGroupMessageFormatter", "subscribedTopicNames"),
    ],
)
def test_console_consumer_with_the_formatters(
    java: JavaDriver, used: Used, topic: str, formatter: str, expected: str
) -> None:
    """The internal topics are read over the wire, by partition, without a consumer group."""
    output = ""
    for file in used.files(topic, ".log"):
        partition = file.parent.name.rpartition("-")[2]
        arguments = ["--bootstrap-server", used.broker.bootstrap, "--topic", topic, "--partition", partition]
        arguments += ["--offset", "earliest", "--formatter", formatter, "--timeout-ms", "1500"]
        output += java.tool("consumer.ConsoleConsumer", *arguments).output
    assert used.group in output
    assert expected in output
    assert output.count('"key":') >= 4


@pytest.mark.crash
def test_everything_is_readable_after_a_kill(java: JavaDriver, used: Used) -> None:
    used.broker.kill()
    try:
        for topic in (used.topic, "__share_group_state", "__consumer_offsets"):
            output = dump(java, "--files", comma(used.files(topic, ".log")))
            assert "isvalid: false" not in output
            assert "isvalid: true" in output
    finally:
        used.broker.start()
