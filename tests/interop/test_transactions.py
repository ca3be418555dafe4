"""A topic that Apache Kafka 4.3.1 wrote with transactional producers: our clients must see the same as its own.

librdkafka produces to Apache Kafka; then the partition folder is copied to our broker.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

from devtools.clients.admin import QUIET, configure_group, create_topic
from devtools.clients.requests import fetch_request, only_partition
from devtools.clients.wire import WireClient
from devtools.kafka.apache_kafka import why_unavailable
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.fetch import FetchRequest, FetchResponse, PartitionData
from shareq.protocol.generated.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from shareq.protocol.generated.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from tests.interop.support.broker_under_test import BrokerUnderTest, Kind
from tests.interop.support.java_driver import JavaDriver
from tests.interop.support.kafka_log import Written, partition_folder, take_over, txn_index, written_by_kafka
from tests.interop.support.share_ledger import Ledger, members, run_until
from tests.interop.support.share_wire import (
    ACCEPT,
    BATCH_OPTIMIZED,
    RECORD_LIMIT,
    REJECT,
    RELEASE,
    Acquired,
    Member,
    begin_at,
)

pytestmark = pytest.mark.interop
TOPIC = "transactions"
COMMITTED = 1
Unique = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Walk:
    """A member's way through the log. With `mixed` it releases some records, and rejects some."""

    name: str
    mode: int
    max_records: int
    mixed: bool = False

    def types(self, one: Acquired) -> list[int]:
        offsets = range(one.first, one.last + 1)
        if not self.mixed:
            return [ACCEPT] * len(offsets)
        return [
            RELEASE if offset % 5 == 0 and one.delivery_count == 1 else REJECT if offset % 7 == 1 else ACCEPT
            for offset in offsets
        ]


WALKS = [
    Walk("limited", RECORD_LIMIT, 7),
    Walk("batches", BATCH_OPTIMIZED, 20),
    Walk("all", BATCH_OPTIMIZED, 500),
    Walk("limited, mixed", RECORD_LIMIT, 11, mixed=True),
    Walk("batches, mixed", BATCH_OPTIMIZED, 40, mixed=True),
]


@dataclass(slots=True)
class Reported:
    """Apache Kafka's answers about its own log. `acquired`: the acquired ranges, by the name of the walk."""

    last_stable_offset: int = 0
    high_watermark: int = 0
    aborted: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    latest: dict[int, int] = field(default_factory=dict)
    acquired: dict[str, list[Acquired]] = field(default_factory=dict)


@dataclass(slots=True)
class Kafkas:
    """The partition folder of a stopped Apache Kafka, its content, and the answers."""

    broker: BrokerUnderTest
    written: Written
    reported: Reported

    @property
    def folder(self) -> Path:
        return partition_folder(self.broker, TOPIC)


@pytest.fixture(scope="module")
def kafkas(broker_kind: Kind) -> Iterator[Kafkas]:
    missing = why_unavailable()
    if broker_kind == "apache" or missing is not None:
        pytest.skip(missing or "needs shareq beside Apache Kafka")
    broker = BrokerUnderTest("apache", {"transaction.max.timeout.ms": "3600000"})
    try:
        broker.start()
        create_topic(broker.bootstrap, TOPIC, segment_bytes=str(1 << 20))
        with written_by_kafka(broker.bootstrap, TOPIC) as written:
            reported = reported_by(broker, written)
            broker.stop()
        yield Kafkas(broker, written, reported)
    finally:
        broker.remove()


@pytest.fixture(scope="module")
def broker(kafkas: Kafkas) -> Iterator[BrokerUnderTest]:
    broker = BrokerUnderTest("ours")
    try:
        take_over(kafkas.folder, broker, TOPIC)
        broker.start()
        yield broker
    finally:
        broker.remove()


# -- asking any of the two


def fetched(client: WireClient, offset: int, topic_id: bytes) -> PartitionData:
    """Return all that a read_committed fetch from there returns: up to the end of the segment."""
    request: FetchRequest = fetch_request(
        topic_id=topic_id, offset=offset, isolation_level=COMMITTED, max_bytes=1 << 26, partition_max_bytes=1 << 26
    )
    return only_partition(client.call(request, 17, FetchResponse))


def latest(client: WireClient, isolation_level: int) -> int:
    wanted = ListOffsetsTopic(TOPIC, [ListOffsetsPartition(0, -1, -1)])
    answer = client.call(ListOffsetsRequest(-1, isolation_level, [wanted]), 9, ListOffsetsResponse)
    assert answer.topics[0].partitions[0].error_code == ErrorCode.NONE
    return answer.topics[0].partitions[0].offset


def topic_id_of(client: WireClient) -> bytes:
    answer = client.call(MetadataRequest([MetadataRequestTopic(name=TOPIC)]), 12, MetadataResponse)
    return answer.topics[0].topic_id


def walked(broker: BrokerUnderTest, client: WireClient, walk: Walk, written: Written) -> list[Acquired]:
    """Return the records that a read_committed group acquires, fetch by fetch, until it has finished them."""
    group = f"walk, {walk.name}"
    configure_group(broker.bootstrap, group, {"share.isolation.level": "read_committed"})
    begin_at(client, group, TOPIC, [0])
    time.sleep(0.2)  # Apache Kafka may fetch with the default level before it has applied a config that it confirmed
    member = Member(client, group, walk.name, topic_id_of(client))
    member.join([TOPIC])
    left = set(written.committed_values())
    acquired: list[Acquired] = []
    while left:
        got = member.take(walk.max_records, mode=walk.mode)
        acks = [(one.first, one.last, walk.types(one)) for one in got]
        member.acknowledged(*acks)
        for first, last, types in acks:
            left -= {offset for offset, kind in zip(range(first, last + 1), types, strict=True) if kind != RELEASE}
        acquired += got
    member.epoch = -1
    member.fetch(partitions=(), max_records=0)
    return acquired


def reported_by(broker: BrokerUnderTest, written: Written) -> Reported:
    reported = Reported()
    with WireClient(("127.0.0.1", broker.port), timeout_s=30) as client:
        topic_id = topic_id_of(client)
        for offset in range(0, written.stable_end, 3):
            data = fetched(client, offset, topic_id)
            reported.high_watermark, reported.last_stable_offset = data.high_watermark, data.last_stable_offset
            aborted = [(one.producer_id, one.first_offset) for one in data.aborted_transactions or ()]
            # In the last segment it also names those that begin behind what it hands out.
            reported.aborted[offset] = [one for one in aborted if one[1] < written.stable_end]
        reported.latest = {level: latest(client, level) for level in (0, 1)}
        for walk in WALKS:
            reported.acquired[walk.name] = walked(broker, client, walk, written)
    return reported


# -- the log


def test_the_log_is_what_it_is_meant_to_be(kafkas: Kafkas) -> None:
    """The log has several segments, aborted transactions in most, and one open."""
    assert len(list(kafkas.folder.glob("*.log"))) >= 4
    entries = [entry for own in txn_index(kafkas.folder).values() for entry in own]
    assert len(txn_index(kafkas.folder)) >= 3
    assert len(entries) >= 9
    assert any(entry.last_stable_offset < entry.first_offset for entry in entries), "one within another"
    assert kafkas.reported.last_stable_offset == kafkas.written.stable_end < kafkas.reported.high_watermark


def test_fetches_report_the_same(kafkas: Kafkas, broker: BrokerUnderTest) -> None:
    """High watermark, last stable offset and aborted transactions are compared, from every third offset."""
    with WireClient(("127.0.0.1", broker.port)) as client:
        topic_id = topic_id_of(client)
        for offset, aborted in kafkas.reported.aborted.items():
            data = fetched(client, offset, topic_id)
            assert (data.high_watermark, data.last_stable_offset) == (
                kafkas.reported.high_watermark,
                kafkas.reported.last_stable_offset,
            )
            assert [(one.producer_id, one.first_offset) for one in data.aborted_transactions or ()] == aborted
        assert {level: latest(client, level) for level in (0, 1)} == kafkas.reported.latest


@pytest.mark.parametrize(
    "missing",
    [(), (".txnindex",), (".index", ".timeindex", ".txnindex", ".snapshot")],
    ids=["nothing", "transaction indexes", "all but the logs"],
)
def test_after_a_crash_the_same_files_are_made_from_the_log(kafkas: Kafkas, missing: tuple[str, ...]) -> None:
    """Rebuilt files equal Apache Kafka's byte by byte, whatever part of them existed."""
    ours = BrokerUnderTest("ours")
    try:
        take_over(kafkas.folder, ours, TOPIC, missing)
        (ours.data_dir / "clean-shutdown").unlink()
        ours.start()
        with WireClient(("127.0.0.1", ours.port)) as client:
            data = fetched(client, 0, topic_id_of(client))
        assert data.last_stable_offset == kafkas.reported.last_stable_offset
        ours.stop()
        assert txn_index(partition_folder(ours, TOPIC)) == txn_index(kafkas.folder)
    finally:
        ours.remove()


def dumped(java: JavaDriver, file: Path) -> list[str]:
    result = java.tool("DumpLogSegments", "--files", str(file))
    assert result.code == 0, result.output
    return [line for line in result.output.splitlines() if line and not line.startswith("Dumping")]


def test_apache_kafkas_tool_reads_our_files(kafkas: Kafkas, java: JavaDriver) -> None:
    """The tool prints the same of our transaction indexes as of Apache Kafka's, and reads our snapshot."""
    ours = BrokerUnderTest("ours")
    try:
        take_over(kafkas.folder, ours, TOPIC, (".txnindex", ".snapshot"))
        (ours.data_dir / "clean-shutdown").unlink()
        ours.start()
        ours.stop()
        folder = partition_folder(ours, TOPIC)
        for name in txn_index(kafkas.folder):
            assert dumped(java, folder / name) == dumped(java, kafkas.folder / name)
        [snapshot] = list(folder.glob("*.snapshot"))
        ours_reported = snapshot_rows(dumped(java, snapshot))
        assert ours_reported == snapshot_rows(dumped(java, kafkas.folder / snapshot.name))
        assert kafkas.written.stable_end in {int(row["currentTxnFirstOffset"]) for row in ours_reported.values()}
    finally:
        ours.remove()


def snapshot_rows(lines: list[str]) -> dict[str, dict[str, str]]:
    """Return the rows by producer id, without times: Apache Kafka keeps a record's, we that of its arrival."""
    rows = {}
    for line in lines:
        fields = dict(re.findall(r"(\w+): (?:Optional\w*\[)?(-?\w+(?:\.empty)?)", line))
        fields["currentTxnFirstOffset"] = re.sub(r"\D", "", fields.get("currentTxnFirstOffset", "")) or "-1"
        fields.pop("lastTimestamp", None)
        rows[fields["producerId"]] = fields
    return rows


# -- consumers by assignment


def test_a_librdkafka_consumer_gets_exactly_the_committed_records(kafkas: Kafkas, broker: BrokerUnderTest) -> None:
    for level, expected in (
        ("read_committed", kafkas.written.committed_values()),
        ("read_uncommitted", kafkas.written.all_values()),
    ):
        settings = {"bootstrap.servers": broker.bootstrap, "group.id": "plain", "isolation.level": level, **QUIET}
        consumer = Consumer({**settings, "enable.partition.eof": True, "enable.auto.commit": False})
        try:
            consumer.assign([TopicPartition(TOPIC, 0, 0)])
            got: dict[int, bytes] = {}
            deadline = time.monotonic() + 30
            while len(got) < len(expected) and time.monotonic() < deadline:
                message = consumer.poll(0.5)
                if message is not None and message.error() is None:
                    got[message.offset() or 0] = message.value() or b""
            extra = consumer.poll(0.5)
            assert extra is None or extra.error() is not None, "more than there should be"
        finally:
            consumer.close()
        assert got == expected, level


@pytest.mark.parametrize("level", ["read_committed", "read_uncommitted"])
def test_a_java_consumer_gets_exactly_the_committed_records(
    kafkas: Kafkas, broker: BrokerUnderTest, java: JavaDriver, level: str
) -> None:
    """KafkaConsumer reads in the console consumer, by assignment without a group."""
    arguments = ["--bootstrap-server", broker.bootstrap, "--topic", TOPIC, "--partition", "0", "--offset", "earliest"]
    arguments += ["--isolation-level", level, "--timeout-ms", "3000"]
    result = java.tool("consumer.ConsoleConsumer", *arguments)
    values = [line for line in result.output.splitlines() if re.match(r"[a-z0-9-]+ \d+: [0-9a-f]+$", line)]
    written = kafkas.written.committed_values() if level == "read_committed" else kafkas.written.all_values()
    assert values == [value.decode() for value in written.values()]


# -- share consumers


def group_at(broker: BrokerUnderTest, group: str, level: str) -> str:
    configs = {"share.auto.offset.reset": "earliest", "share.isolation.level": level}
    configure_group(broker.bootstrap, group, configs)
    return group


def expected_of(kafkas: Kafkas, level: str) -> dict[int, bytes]:
    return kafkas.written.committed_values() if level == "read_committed" else kafkas.written.all_values()


@pytest.mark.parametrize("level", ["read_committed", "read_uncommitted"])
def test_a_librdkafka_share_consumer(kafkas: Kafkas, broker: BrokerUnderTest, unique: Unique, level: str) -> None:
    expected = expected_of(kafkas, level)
    ledger = Ledger()
    group = group_at(broker, unique("librdkafka"), level)
    with members(broker.bootstrap, group, TOPIC, ledger) as joined_members:
        run_until(joined_members, ledger.finished_at_least(len(expected)))
        joined_members[0].step(0.5)
    assert {offset: value for (_, offset), value in ledger.values.items()} == expected
    assert set(map(tuple, ledger.counts.values())) == {(1,)}


@pytest.mark.parametrize("mode", ["batch_optimized", "record_limit"])
@pytest.mark.parametrize("level", ["read_committed", "read_uncommitted"])
def test_a_java_share_consumer(
    kafkas: Kafkas, broker: BrokerUnderTest, java: JavaDriver, unique: Unique, level: str, mode: str
) -> None:
    """The consumer skips markers and aborted batches and acknowledges them as gaps; nothing is left in flight."""
    expected = expected_of(kafkas, level)
    group = group_at(broker, unique(f"java-{mode}"), level)
    consumer = java.consumer(broker.bootstrap, group, TOPIC, share_acquire_mode=mode, max_poll_records=50)
    got: dict[int, str] = {}
    deadline = time.monotonic() + 60
    while len(got) < len(expected):
        assert time.monotonic() < deadline, f"{len(got)} of {len(expected)}"
        for record in consumer.poll(300):
            assert record.offset not in got
            got[record.offset] = record.value
    assert consumer.poll(500) == []
    assert set(consumer.commit_sync().values()) <= {None}
    consumer.close()
    assert got == {offset: value.decode() for offset, value in expected.items()}


@pytest.mark.parametrize("walk", WALKS, ids=[walk.name for walk in WALKS])
def test_share_fetches_acquire_the_same(kafkas: Kafkas, broker: BrokerUnderTest, walk: Walk) -> None:
    """The offsets are those that Apache Kafka acquires, in both acquire modes, markers included."""
    with WireClient(("127.0.0.1", broker.port), timeout_s=30) as client:
        assert walked(broker, client, walk, kafkas.written) == kafkas.reported.acquired[walk.name]
    values = kafkas.written.all_values()
    acquired = {offset for one in kafkas.reported.acquired[walk.name] for offset in range(one.first, one.last + 1)}
    assert {offset for offset in acquired if offset in values} == set(kafkas.written.committed_values())
