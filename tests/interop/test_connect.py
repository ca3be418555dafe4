"""Kafka Connect and MirrorMaker 2 against the broker: workers with file connectors, topics mirrored to and from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigResource

from devtools.clients.admin import QUIET, create_topic, produce
from devtools.kafka.connect import DISTRIBUTED, MIRROR_MAKER, STANDALONE, ConnectProcess, Worker, why_no_connect
from shareq.testing import Broker
from shareq.testing.waiting import wait_until
from tests.interop.support.broker_under_test import BrokerUnderTest

pytestmark = pytest.mark.interop
Unique = Callable[[str], str]

PATIENCE_S: Final = 120.0
LINES: Final = 500
STRINGS: Final = "org.apache.kafka.connect.storage.StringConverter"
SOURCE: Final = "org.apache.kafka.connect.file.FileStreamSourceConnector"
SINK: Final = "org.apache.kafka.connect.file.FileStreamSinkConnector"
OF_WORKERS: Final = {
    "key.converter": STRINGS,
    "value.converter": STRINGS,
    "offset.flush.interval.ms": "500",
}


@pytest.fixture(autouse=True)
def _has_connect() -> None:
    if missing := why_no_connect():
        pytest.skip(missing)


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def started(stack: ExitStack, process: ConnectProcess) -> None:
    """Start a process that ends with the test, which prints its output if it fails."""
    stack.callback(lambda: print(process.log[-8000:]))
    stack.callback(process.kill)
    process.start()


class Files:
    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._read, self._written = folder / "read.txt", folder / "written.txt"
        self._count = 0

    def source(self, topic: str) -> dict[str, str]:
        return {"connector.class": SOURCE, "tasks.max": "1", "file": str(self._read), "topic": topic}

    def sink(self, topic: str) -> dict[str, str]:
        return {"connector.class": SINK, "tasks.max": "1", "file": str(self._written), "topics": topic}

    def add(self) -> None:
        with self._read.open("a") as file:
            file.writelines(f"line {self._count + number}\n" for number in range(LINES))
        self._count += LINES

    @property
    def arrived(self) -> list[str]:
        return self._written.read_text().splitlines() if self._written.exists() else []

    def wait(self, process: ConnectProcess) -> None:
        expected = {f"line {number}" for number in range(self._count)}
        wait_until(
            lambda: expected <= set(self.arrived) or not process.is_running, PATIENCE_S, f"{len(self.arrived)} lines"
        )
        assert expected == set(self.arrived), process.log[-4000:]

    def check_once(self) -> None:
        assert self.arrived == [f"line {number}" for number in range(self._count)]


def values_in(bootstrap: str, topic: str) -> list[bytes]:
    settings = {"bootstrap.servers": bootstrap, "group.id": "reader", "isolation.level": "read_committed", **QUIET}
    consumer = Consumer({**settings, "enable.partition.eof": True})
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        values: list[bytes] = []
        while not (record := consumer.poll(30)) or not record.error():
            assert record, f"{topic}: no end after {len(values)} records"
            values.append(record.value() or b"")
        return values
    finally:
        consumer.close()


def committed_by(bootstrap: str, group: str, topic: str) -> int:
    admin = AdminClient({"bootstrap.servers": bootstrap, **QUIET})
    asked = [ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0)])]
    (partition,) = admin.list_consumer_group_offsets(asked)[group].result(30).topic_partitions
    return int(partition.offset)


def test_a_standalone_worker_goes_on_where_it_was(
    broker: BrokerUnderTest, unique: Unique, stack: ExitStack, tmp_path: Path
) -> None:
    """A source and a sink run twice; the second run adds the new lines, and repeats none."""
    files, topic = Files(tmp_path / "files"), unique("lines")
    worker = Worker(
        tmp_path / "worker",
        STANDALONE,
        {
            "bootstrap.servers": broker.bootstrap,
            "offset.storage.file.filename": str(tmp_path / "offsets"),
            **OF_WORKERS,
        },
        {"name": unique("source"), **files.source(topic)},
        {"name": unique("sink"), **files.sink(topic)},
    )
    files.add()
    started(stack, worker)
    files.wait(worker)
    worker.stop()
    files.add()
    worker.start()
    files.wait(worker)
    worker.stop()
    files.check_once()
    assert len(values_in(broker.bootstrap, topic)) == 2 * LINES


class Workers:
    def __init__(self, stack: ExitStack, broker: BrokerUnderTest, unique: Unique, folder: Path) -> None:
        self._stack = stack
        self._folder = folder
        self.running: list[Worker] = []
        self._properties = {
            "bootstrap.servers": broker.bootstrap,
            "group.id": unique("workers"),
            "exactly.once.source.support": "enabled",
            "scheduled.rebalance.max.delay.ms": "1000",
            "session.timeout.ms": "6000",
            "heartbeat.interval.ms": "1000",
            **OF_WORKERS,
        }
        for name in ("config", "offset", "status"):
            self._properties[f"{name}.storage.topic"] = unique(f"connect-{name}")
            self._properties[f"{name}.storage.replication.factor"] = "1"
            if name != "config":
                self._properties[f"{name}.storage.partitions"] = "2"

    def start(self) -> Worker:
        worker = Worker(self._folder / f"worker-{len(self.running)}", DISTRIBUTED, self._properties)
        started(self._stack, worker)
        self.running.append(worker)
        wait_until(lambda: _answers(worker) or not worker.is_running, PATIENCE_S, "the worker's REST interface")
        assert worker.is_running, worker.log[-4000:]
        return worker


def _answers(worker: Worker) -> bool:
    try:
        return worker.ask("/connectors") is not None
    except OSError:
        return False


def _add(worker: Worker, name: str, properties: Mapping[str, str]) -> None:
    wait_until(lambda: _put(worker, name, properties), PATIENCE_S, f"connector {name}")
    wait_until(lambda: worker.states(name) == ["RUNNING"] * 2, PATIENCE_S, f"{name} runs")


def _put(worker: Worker, name: str, properties: Mapping[str, str]) -> bool:
    try:
        worker.ask(f"/connectors/{name}/config", properties, "PUT")
    except OSError:  # 409 during a rebalance
        return False
    return True


def test_distributed_workers_take_over_from_a_killed_one(
    broker: BrokerUnderTest, unique: Unique, stack: ExitStack, tmp_path: Path
) -> None:
    """The sources are exactly-once (KIP-618), with transactions, and fencing by transactional ids."""
    files, topic = Files(tmp_path / "files"), unique("lines")
    source, sink = unique("source"), unique("sink")
    workers = Workers(stack, broker, unique, tmp_path)
    first = workers.start()
    files.add()
    _add(first, source, files.source(topic))
    _add(first, sink, {**files.sink(topic), "consumer.override.auto.offset.reset": "earliest"})
    files.wait(first)
    second = workers.start()
    files.add()
    files.wait(first)
    first.kill()
    files.add()
    files.wait(second)
    expected = [b"line %d" % number for number in range(3 * LINES)]
    assert values_in(broker.bootstrap, topic) == expected
    wait_until(lambda: committed_by(broker.bootstrap, f"connect-{sink}", topic) >= len(expected), PATIENCE_S, "commits")
    for name in (source, sink):
        second.ask(f"/connectors/{name}", method="DELETE")
    second.stop()
    assert not second.is_running


def _mirror(source: str, target: str, topics: str, groups: str) -> dict[str, str]:
    """Return MirrorMaker's properties, with topics named as at the source after `one.`."""
    return {
        "clusters": "one,two",
        "one.bootstrap.servers": source,
        "two.bootstrap.servers": target,
        "one->two.enabled": "true",
        "one->two.topics": topics,
        "one->two.groups": groups,
        "two->one.enabled": "false",
        "one->two.sync.group.offsets.enabled": "true",
        "one->two.sync.group.offsets.interval.seconds": "1",
        "one->two.emit.checkpoints.interval.seconds": "1",
        "one->two.refresh.topics.interval.seconds": "2",
        "one->two.refresh.groups.interval.seconds": "2",
        "one->two.sync.topic.configs.interval.seconds": "2",
        "one->two.offset.lag.max": "0",
        "one->two.consumer.auto.offset.reset": "earliest",
        "tasks.max": "2",
        "offset.flush.interval.ms": "500",
        "plugin.discovery": "service_load",
        "replication.factor": "1",
        **{f"{name}.topic.replication.factor": "1" for name in ("checkpoints", "heartbeats", "offset-syncs")},
        **{f"{name}.storage.replication.factor": "1" for name in ("config", "offset", "status")},
    }


def _commit(bootstrap: str, group: str, topic: str, offset: int) -> None:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "enable.auto.commit": False, **QUIET})
    consumer.commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=False)
    consumer.close()


@pytest.mark.parametrize("way", ["to the broker", "from the broker"])
def test_mirror_maker_copies_topics_their_configs_and_offsets(
    broker: BrokerUnderTest, unique: Unique, stack: ExitStack, tmp_path: Path, way: str
) -> None:
    other = stack.enter_context(Broker())
    source, target = (
        (other.bootstrap, broker.bootstrap) if way == "to the broker" else (broker.bootstrap, other.bootstrap)
    )
    topic, group = unique("orders"), unique("readers")
    create_topic(source, topic, 1, retention_ms="123456789")
    produce(source, topic, [(0, b"%d" % number) for number in range(LINES)], batch_records=10)
    _commit(source, group, topic, LINES)
    mirror = ConnectProcess(tmp_path / "mirror", MIRROR_MAKER, _mirror(source, target, topic, group))
    started(stack, mirror)
    copy = f"one.{topic}"

    def copied() -> list[bytes]:
        topics = AdminClient({"bootstrap.servers": target, **QUIET}).list_topics(timeout=30).topics
        return values_in(target, copy) if copy in topics else []

    wait_until(lambda: len(copied()) == LINES or not mirror.is_running, PATIENCE_S, "the copy")
    produce(source, topic, [(0, b"%d" % number) for number in range(LINES, 2 * LINES)])
    wait_until(lambda: len(copied()) == 2 * LINES or not mirror.is_running, PATIENCE_S, "the rest of the copy")
    assert copied() == [b"%d" % number for number in range(2 * LINES)], mirror.log[-4000:]
    _commit(source, group, topic, 2 * LINES)  # those before the end may be translated to earlier ones
    wait_until(lambda: committed_by(target, group, copy) == 2 * LINES, PATIENCE_S, "the group's offset")
    wait_until(lambda: _retention(target, copy) == "123456789", PATIENCE_S, "the topic's configs")
    mirror.stop()
    assert not mirror.is_running


def _retention(bootstrap: str, topic: str) -> str:
    admin, resource = AdminClient({"bootstrap.servers": bootstrap, **QUIET}), ConfigResource("topic", topic)
    (found,) = admin.describe_configs([resource]).values()
    return str(found.result(30)["retention.ms"].value)
