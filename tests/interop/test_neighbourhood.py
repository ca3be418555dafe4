"""Apache Kafka's logs taken over by shareq, and the reverse: records, ids, properties, groups, transactions."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, ShareConsumer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource  # type: ignore[attr-defined]

from devtools.clients.admin import QUIET, configure_group, create_topic, produce
from devtools.clients.wire import WireClient
from devtools.kafka.apache_kafka import ApacheKafka
from shareq.protocol.generated.metadata import MetadataRequest, MetadataResponse
from shareq.testing import Broker
from shareq.testing.broker import child_environment
from tests.interop.support.broker_under_test import APACHE_JVM, APACHE_SETTINGS, BrokerUnderTest, why_unavailable_here
from tests.support.processes import finished

pytestmark = [
    pytest.mark.interop,
    pytest.mark.skipif(why_unavailable_here("apache") is not None, reason=str(why_unavailable_here("apache"))),
]

RECORDS = 300


def shareq(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "shareq", *map(str, arguments)]
    return finished(command, env=child_environment(), timeout_s=120)


def ids(address: tuple[str, int]) -> dict[str, tuple[bytes, int]]:
    """Return the topic id and the number of partitions of each topic."""
    with WireClient(address) as client:
        answer = client.call(MetadataRequest(None), 12, MetadataResponse)
    return {topic.name or "": (topic.topic_id, len(topic.partitions)) for topic in answer.topics}


def values(bootstrap: str, topic: str, count: int, **config: str) -> list[bytes]:
    """Return the values that a consumer reads from a topic until it has enough; sorted."""
    given = {"bootstrap.servers": bootstrap, "group.id": f"reads-{topic}", "enable.auto.commit": "false", **QUIET}
    consumer = Consumer({**given, "auto.offset.reset": "earliest", **config})
    consumer.subscribe([topic])
    found: list[bytes] = []
    deadline = time.monotonic() + 30
    while len(found) < count and time.monotonic() < deadline:
        message = consumer.poll(1)
        if message is not None and message.error() is None:
            found.append(message.value() or b"")
    consumer.close()
    return sorted(found)


def transaction(bootstrap: str, transactional_id: str, value: bytes, *, commit: bool) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": transactional_id, **QUIET})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce("transactions", value)
    producer.flush(30)
    producer.commit_transaction(30) if commit else producer.abort_transaction(30)


def shared(bootstrap: str, topic: str, wanted: int) -> list[bytes]:
    consumer = ShareConsumer({"bootstrap.servers": bootstrap, "group.id": "workers", **QUIET})
    consumer.subscribe([topic])
    found: list[bytes] = []
    deadline = time.monotonic() + 30
    while len(found) < wanted and time.monotonic() < deadline:
        found += [message.value() or b"" for message in consumer.poll(1) if message.error() is None]
    consumer.poll(1)  # accepts what the poll before it has given
    consumer.close()
    return found


def fill(bootstrap: str) -> None:
    """Write some of everything that logs and metadata can hold."""
    create_topic(bootstrap, "orders", 3, retention_ms="777000000", segment_bytes="1048576")
    create_topic(bootstrap, "transactions")
    create_topic(bootstrap, "work")
    create_topic(bootstrap, "gone")
    produce(bootstrap, "orders", [(number % 3, b"%03d" % number) for number in range(RECORDS)])
    produce(bootstrap, "gone", [(0, b"x")])
    admin = AdminClient({"bootstrap.servers": bootstrap, **QUIET})
    admin.delete_topics(["gone"])["gone"].result(30)
    admin.delete_records([TopicPartition("orders", 0, 10)])[TopicPartition("orders", 0)].result(30)
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "invoices", **QUIET})
    consumer.commit(offsets=[TopicPartition("orders", 1, 42, "note")], asynchronous=False)
    consumer.close()
    transaction(bootstrap, "tx", b"committed", commit=True)
    transaction(bootstrap, "tx", b"aborted", commit=False)
    configure_group(bootstrap, "workers", {"share.auto.offset.reset": "earliest"})
    produce(bootstrap, "work", [(0, b"first")])
    assert shared(bootstrap, "work", 1) == [b"first"]


def digest(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


class Source:
    """The folder of a stopped Apache Kafka, and its description of the topics."""

    def __init__(self, broker: BrokerUnderTest) -> None:
        self.broker = broker
        self.folder = broker.data_dir
        self.topics = ids(("127.0.0.1", broker.port))
        broker.stop()


@pytest.fixture(scope="module")
def source() -> Iterator[Source]:
    broker = BrokerUnderTest("apache")
    try:
        broker.start()
        fill(broker.bootstrap)
        yield Source(broker)
    finally:
        broker.remove()


@pytest.fixture
def data(source: Source, tmp_path: Path) -> Path:
    before = digest(source.folder)
    done = shareq("import-logs", source.folder, tmp_path / "data")
    assert done.returncode == 0, done.stderr
    assert digest(source.folder) == before
    return tmp_path / "data"


def test_everything_goes_on(source: Source, data: Path) -> None:
    with Broker(data_dir=data) as broker:
        bootstrap = broker.bootstrap
        found = ids(broker.address)
        assert found == source.topics
        assert "gone" not in found
        assert values(bootstrap, "orders", RECORDS - 10) == sorted(
            b"%03d" % number for number in range(RECORDS) if number not in range(0, 30, 3)
        )
        consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "invoices", **QUIET})
        (committed,) = consumer.committed([TopicPartition("orders", 1)], 30)
        assert (committed.offset, committed.metadata) == (42, "note")
        assert consumer.get_watermark_offsets(TopicPartition("orders", 0), 30) == (10, RECORDS // 3)
        consumer.close()
        admin = AdminClient({"bootstrap.servers": bootstrap, **QUIET})
        resource = ConfigResource(ConfigResource.Type.TOPIC, "orders")
        configs = admin.describe_configs([resource])[resource].result(30)
        assert (configs["retention.ms"].value, configs["segment.bytes"].value) == ("777000000", "1048576")
        transaction(bootstrap, "tx", b"and on", commit=True)
        assert values(bootstrap, "transactions", 2) == [b"and on", b"committed"]
        produce(bootstrap, "work", [(0, b"second")])
        assert shared(bootstrap, "work", 1) == [b"second"], "what was accepted there does not come again"
        broker.restart()
        assert len(values(broker.bootstrap, "orders", RECORDS - 10)) == RECORDS - 10
    done = shareq("verify", "--records", data)
    assert done.returncode == 0, done.stdout


def formatted(folder: Path, cluster_id: str, *features: str) -> ApacheKafka:
    options = [word for feature in features for word in ("--feature", feature)]
    kafka = ApacheKafka(folder, APACHE_SETTINGS, APACHE_JVM, format_options=options, cluster_id=cluster_id)
    kafka.format()
    return kafka


def test_apache_kafka_goes_on_with_ours(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with Broker(data_dir=data, config={"offsets.topic.num.partitions": "4"}) as broker:
        fill(broker.bootstrap)
        topics = ids(broker.address)
        with WireClient(broker.address) as client:
            cluster_id = client.call(MetadataRequest([]), 12, MetadataResponse).cluster_id or ""
        folder = tmp_path / "elsewhere"
        folder.mkdir()
        assert "a broker is using it" in shareq("export-logs", data, folder).stderr
    refused = shareq("export-logs", data, folder)
    assert refused.returncode == 2
    assert f"`kafka-storage.sh format --cluster-id={cluster_id} " in refused.stderr
    replicas = formatted(tmp_path / "replicas", cluster_id, "share.version=0")
    assert "no partition would get a leader" in shareq("export-logs", data, replicas.folder / "data").stderr
    before = digest(data)
    kafka = formatted(tmp_path / "kafka", cluster_id, "share.version=0", "eligible.leader.replicas.version=0")
    done = shareq("export-logs", data, kafka.folder / "data")
    assert done.returncode == 0, done.stderr
    assert digest(data) == before
    assert shareq("export-logs", data, kafka.folder / "data").returncode == 2, "once"
    kafka.start()
    try:
        produce(kafka.address, "orders", [(0, b"new")])
        assert ids(("127.0.0.1", kafka.port)) == topics
        assert values(kafka.address, "orders", RECORDS - 9) == sorted(
            [b"%03d" % number for number in range(RECORDS) if number not in range(0, 30, 3)] + [b"new"]
        )
        assert values(kafka.address, "transactions", 1) == [b"committed"]
        consumer = Consumer({"bootstrap.servers": kafka.address, "group.id": "invoices", **QUIET})
        (committed,) = consumer.committed([TopicPartition("orders", 1)], 30)
        assert (committed.offset, committed.metadata) == (42, "note")
        assert consumer.get_watermark_offsets(TopicPartition("orders", 0), 30) == (10, RECORDS // 3 + 1)
        consumer.close()
        assert not [path.name for path in (kafka.folder / "data").iterdir() if "-stray" in path.name]
    finally:
        kafka.stop()


def test_a_broker_at_work_is_left_alone(source: Source, tmp_path: Path) -> None:
    source.broker.start()
    try:
        done = shareq("import-logs", source.folder, tmp_path / "data")
    finally:
        source.broker.stop()
    assert (done.returncode, done.stderr) == (2, f"shareq: {source.folder}: a broker is using it; stop it first\n")
    assert not (tmp_path / "data").exists()


def _lose_a_partition(folder: Path) -> None:
    shutil.rmtree(folder / "orders-1")


def _lose_the_metadata(folder: Path) -> None:
    shutil.rmtree(folder / "__cluster_metadata-0")


def _lose_the_marker(folder: Path) -> None:
    os.remove(folder / "meta.properties")


def _change_an_id(folder: Path) -> None:
    shutil.copy(folder / "work-0" / "partition.metadata", folder / "orders-1" / "partition.metadata")


def _damage_the_metadata(folder: Path) -> None:
    path = folder / "__cluster_metadata-0" / f"{0:020}.log"
    data = bytearray(path.read_bytes())
    data[200] ^= 1
    path.write_bytes(data)


def _be_killed_while_cleaning(folder: Path) -> None:
    (folder / "orders-1" / f"{0:020}.log.swap").touch()


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        (_lose_a_partition, 1, "orders-1: it has no folder here"),
        (_lose_the_metadata, 2, "__cluster_metadata-0: No such file or directory"),
        (_lose_the_marker, 2, "no data folder of Apache Kafka: meta.properties: No such file"),
        (_change_an_id, 1, "orders-1: its folder is of the topic of id"),
        (_damage_the_metadata, 1, "cannot be read"),
        (_be_killed_while_cleaning, 1, "shows that its broker was killed"),
    ],
)
def test_what_cannot_be_taken_whole_is_refused(
    source: Source, tmp_path: Path, change: Callable[[Path], None], code: int, message: str
) -> None:
    copy = tmp_path / "kafka"
    shutil.copytree(source.folder, copy)
    change(copy)
    before = digest(copy)
    done = shareq("import-logs", copy, tmp_path / "data")
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "data").exists()
    assert digest(copy) == before


def test_a_folder_with_something_in_it_is_refused(source: Source, tmp_path: Path) -> None:
    (tmp_path / "notes").touch()
    done = shareq("import-logs", source.folder, tmp_path)
    assert done.returncode == 2
    assert "not empty (found notes)" in done.stderr
    done = shareq("import-logs", source.folder, source.folder / "data")
    assert done.returncode == 2
    assert "must be another folder" in done.stderr


def test_a_start_on_it_is_refused_and_changes_nothing(source: Source) -> None:
    before = digest(source.folder)
    done = shareq("serve", "--data-dir", source.folder, "--listen", "127.0.0.1:0")
    assert done.returncode != 0
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert "import-logs" in done.stderr
    assert digest(source.folder) == before
