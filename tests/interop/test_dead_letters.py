"""Dead-letter queues over frames, scene by scene, the same on Apache Kafka 4.4.0 (KIP-1191).

Run with `--broker=apache` to check the expectations themselves; a broker without share.version 2 skips all of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial

import pytest

from devtools.clients.requests import create_topic, fetch, fetch_request, produce
from devtools.clients.wire import WireClient
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated import delete_records, incremental_alter_configs
from shareq.protocol.generated.api_versions import ApiVersionsRequest, ApiVersionsResponse
from shareq.protocol.generated.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from shareq.protocol.generated.delete_records import DeleteRecordsResponse
from shareq.protocol.generated.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from shareq.protocol.generated.fetch import PartitionData
from shareq.protocol.generated.incremental_alter_configs import IncrementalAlterConfigsResponse
from shareq.protocol.generated.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from shareq.protocol.generated.update_features import FeatureUpdateKey, UpdateFeaturesRequest, UpdateFeaturesResponse
from shareq.protocol.records.batch import Compression, Record, RecordData, batch_headers, build_batch, decode_records
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.support.share_wire import (
    ACCEPT,
    NOT_READY,
    REJECT,
    RELEASE,
    Acquired,
    Member,
    begin_at,
    described_lag,
    eventually,
    joined,
)
from tests.interop.support.transactional import LibrdkafkaProducer

pytestmark = pytest.mark.interop

BROKER_SETTINGS = {"group.share.min.record.lock.duration.ms": "1000", "message.max.bytes": "3000000"}
TOPIC, BROKER, GROUP = 2, 4, 32
REJECTED = b"Offset rejected by client."
EXCEEDED = b"Offset delivery count exceeded the threshold."
ENABLE = "errors.deadletterqueue.group.enable"
AUTO_CREATE = "errors.deadletterqueue.auto.create.topics.enable"

Letter = tuple[bytes | None, bytes | None, int, int, bytes]
"""Key, value, source offset, delivery count, message."""


class Scene:
    """A topic, a group whose queue is `dlq.<topic>`, and a member of it on a connection of its own."""

    def __init__(self, stack: ExitStack, broker: BrokerUnderTest, name: str, partitions: int = 1) -> None:
        self._stack = stack
        self.address = ("127.0.0.1", broker.port)
        self.broker = broker
        self.client = self.connect()
        self.topic, self.group = f"t-{name}", f"g-{name}"
        self.queue = f"dlq.{self.topic}"
        self.set(BROKER, "", **{AUTO_CREATE: "true"})
        self.topic_id = self.create(self.topic, partitions=partitions)
        self.configure(
            **{
                "share.auto.offset.reset": "earliest",
                "share.delivery.count.limit": "2",
                "errors.deadletterqueue.topic.name": self.queue,
                "errors.deadletterqueue.copy.record.enable": "true",
            }
        )
        self.member = self.join()

    def connect(self) -> WireClient:
        return self._stack.enter_context(WireClient(self.address))

    def join(self) -> Member:
        """A new member, on a new connection."""
        member = Member(self.connect(), self.group, f"m-{time.monotonic_ns()}", self.topic_id)
        member.join([self.topic])
        return member

    # -- preparing

    def create(self, topic: str, configs: Mapping[str, str] | None = None, *, partitions: int = 1) -> bytes:
        """Create a topic, and wait until the broker knows it."""
        topic_id = create_topic(self.client, topic, partitions, configs)
        eventually(lambda: self.partitions(topic) == partitions or None)
        return topic_id

    def set(self, kind: int, name: str, **configs: str) -> list[tuple[ErrorCode, str]]:
        """Set properties of a topic, a group or all brokers; error and message. Waits until they are in force."""
        rpc = incremental_alter_configs
        rows = [rpc.AlterableConfig(key, 0, value) for key, value in configs.items()]
        request = rpc.IncrementalAlterConfigsRequest([rpc.AlterConfigsResource(kind, name, rows)], False)
        answer = self.client.call(request, 1, IncrementalAlterConfigsResponse)
        outcome = [(ErrorCode(one.error_code), one.error_message or "") for one in answer.responses]
        if not any(code for code, _ in outcome):
            of = str(self._node()) if kind == BROKER else name
            eventually(lambda: configs.items() <= describe(self, kind, of).items() or None)
        return outcome

    def _node(self) -> int:
        return self.client.call(MetadataRequest([]), 12, MetadataResponse).brokers[0].node_id

    def configure(self, **configs: str) -> None:
        assert [code for code, _ in self.set(GROUP, self.group, **configs)] == [ErrorCode.NONE]

    def produce(
        self, *records: RecordData | bytes, partition: int = 0, compression: Compression = Compression.NONE
    ) -> None:
        """One batch."""
        data = [each if isinstance(each, RecordData) else RecordData(b"k", each) for each in records]
        batch = build_batch(data, timestamp_ms=int(time.time() * 1000), compression=compression)
        assert produce(self.client, self.topic, bytes(batch), partition=partition).error_code == ErrorCode.NONE

    # -- consuming

    def take(self, records: int, *, partitions: Sequence[int] = (0,), member: Member | None = None) -> list[Acquired]:
        """Acquire so many records."""
        member = member or self.member
        taken: list[Acquired] = []

        def attempt() -> bool | None:
            answer = member.fetch(partitions=partitions, max_bytes=1 << 23)
            if answer.error_code in {ErrorCode.SHARE_SESSION_NOT_FOUND, ErrorCode.INVALID_SHARE_SESSION_EPOCH}:
                member.epoch = 0
            taken.extend(member.acquired)
            return sum(one.last - one.first + 1 for one in taken) >= records or None

        eventually(attempt)
        return joined(taken)

    def end(self, first: int, last: int, kind: int, *, partition: int = 0) -> None:
        """Acknowledge; the answer is a success whatever becomes of the letters."""
        answer = self.member.acknowledge((first, last, kind), partition=partition)
        codes = [row.error_code for topic in answer.responses for row in topic.partitions]
        assert (answer.error_code, codes) == (ErrorCode.NONE, [ErrorCode.NONE]), answer

    def settled(self, partition: int = 0) -> None:
        """Wait until everything is finished: the dead are archived, their letters written or given up."""
        eventually(lambda: described_lag(self.client, self.group, self.topic, partition) == 0 or None)

    # -- looking

    def partitions(self, topic: str) -> int:
        """How many partitions the topic has; 0 if there is none of that name."""
        request = MetadataRequest([MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False)
        found = self.client.call(request, 12, MetadataResponse).topics[0]
        return 0 if found.error_code else len(found.partitions)

    def batches(self, queue: str | None = None, partition: int = 0) -> list[bytes]:
        """The batches of a partition of the queue; none if there is no queue."""
        queue = queue or self.queue
        found: list[bytes] = []
        if not self.partitions(queue):
            return found
        offset = 0
        while True:
            row = eventually(partial(self._fetched, queue, offset, partition))
            assert row.error_code == ErrorCode.NONE, row
            data = bytes(row.records or b"")
            if not data:
                return found
            for position, header in batch_headers(data):
                found.append(data[position : position + header.size])
                offset = header.next_offset

    def _fetched(self, queue: str, offset: int, partition: int) -> PartitionData | None:
        """What a fetch brings; None while the partition has no leader yet."""
        row = fetch(self.client, fetch_request(queue, offset, partition=partition, partition_max_bytes=1 << 23))
        return None if row.error_code in NOT_READY else row

    def records(self, queue: str | None = None, partition: int = 0) -> list[Record]:
        return [record for batch in self.batches(queue, partition) for record in decode_records(batch)]

    def letters(self, queue: str | None = None, partition: int = 0) -> list[Letter]:
        """What the queue's letters say, by source offset."""
        return sorted((_letter(self, record) for record in self.records(queue, partition)), key=lambda each: each[2])


def _letter(scene: Scene, record: Record) -> Letter:
    """The six headers are there, in their order, and no other."""
    prefix = "__dlq.errors."
    names = [prefix + name for name in ("topic", "partition", "offset", "group", "delivery.count", "message")]
    assert [name for name, _ in record.headers] == names
    values = [value or b"" for _, value in record.headers]
    assert (values[0], values[3]) == (scene.topic.encode(), scene.group.encode())
    return record.key, record.value, int(values[2]), int(values[4]), values[5]


@pytest.fixture(scope="module")
def _with_dead_letters(broker: BrokerUnderTest) -> None:
    with WireClient(("127.0.0.1", broker.port)) as client:
        answer = client.call(ApiVersionsRequest("test", "1"), 3, ApiVersionsResponse)
    levels = {feature.name: feature.max_version_level for feature in answer.finalized_features}
    if levels.get("share.version", 0) < 2:
        pytest.skip(f"no dead letters: share.version {levels.get('share.version')}")


@pytest.fixture
def scene(
    broker: BrokerUnderTest, unique: Callable[[str], str], _with_dead_letters: None
) -> Iterator[Callable[..., Scene]]:
    """Makes the test's scene."""
    with ExitStack() as stack:
        yield lambda partitions=1: Scene(stack, broker, unique("x"), partitions)


Make = Callable[..., Scene]


def test_rejected_records_of_three_partitions(scene: Make) -> None:
    here = scene(3)
    here.produce(b"a", RecordData(None, b"b", (("own", b"1"),)), RecordData(b"c", None))
    here.produce(b"d", b"e", partition=1, compression=Compression.LZ4)
    here.produce(b"f", partition=2)
    here.take(6, partitions=(0, 1, 2))
    before_ms = int(time.time() * 1000)
    for partition, last in enumerate((2, 1, 0)):
        here.end(0, last, REJECT, partition=partition)
    for partition in range(3):
        here.settled(partition)
    assert here.partitions(here.queue) == 1
    of_queue = describe(here, TOPIC, here.queue, own=True)
    assert of_queue == {ENABLE: "true", "message.timestamp.type": "CreateTime"}
    found = sorted(
        (int(record.headers[1][1] or b""), int(record.headers[2][1] or b""), record.key, record.value)
        for record in here.records()
    )
    assert found == [
        (0, 0, b"k", b"a"),
        (0, 1, None, b"b"),
        (0, 2, b"c", None),
        (1, 0, b"k", b"d"),
        (1, 1, b"k", b"e"),
        (2, 0, b"k", b"f"),
    ]
    assert {letter[3:] for letter in here.letters()} == {(1, REJECTED)}
    assert all(record.timestamp >= before_ms for record in here.records())


def test_without_copies_and_only_what_was_rejected(scene: Make) -> None:
    here = scene()
    here.configure(**{"errors.deadletterqueue.copy.record.enable": "false"})
    here.produce(*[b"v"] * 4)
    here.take(4)
    for offset in range(4):
        here.end(offset, offset, REJECT if offset % 2 else ACCEPT)
    here.settled()
    assert here.letters() == [(None, None, 1, 1, REJECTED), (None, None, 3, 1, REJECTED)]


def test_the_last_release_by_partition_and_append_time(scene: Make) -> None:
    here = scene(5)
    here.create(here.queue, {ENABLE: "true", "message.timestamp.type": "LogAppendTime"}, partitions=3)
    here.produce(b"a", b"b", b"c", partition=4, compression=Compression.GZIP)
    for count in (1, 2):
        assert here.take(3, partitions=(4,)) == [Acquired(0, 2, count)]
        here.end(0, 2, RELEASE, partition=4)
    here.settled(4)
    assert [len(here.records(partition=each)) for each in range(3)] == [0, 3, 0]
    assert here.letters(partition=1) == [(b"k", value, at, 2, EXCEEDED) for at, value in enumerate((b"a", b"b", b"c"))]
    assert all(header.is_log_append_time for batch in here.batches(partition=1) for _, header in batch_headers(batch))


def test_the_last_lock_that_runs_out(scene: Make) -> None:
    here = scene()
    here.configure(**{"share.record.lock.duration.ms": "1000", "errors.deadletterqueue.copy.record.enable": "false"})
    here.produce(b"a", b"b", b"c")
    here.take(3)
    here.take(3)
    here.settled()
    assert here.letters() == [(None, None, at, 2, EXCEEDED) for at in range(3)]


def test_the_last_connection_that_is_lost(scene: Make) -> None:
    here = scene()
    here.produce(b"a")
    for _ in range(2):
        here.take(1)
        here.member.client.close()  # type: ignore[attr-defined]
        here.member = here.join()
    here.settled()
    assert here.letters() == [(b"k", b"a", 0, 2, EXCEEDED)]


def test_a_queue_of_another_prefix_gets_nothing(scene: Make) -> None:
    here = scene()
    other = f"zz-{here.topic}"
    here.create(other, {ENABLE: "true"})
    here.configure(**{"errors.deadletterqueue.topic.name": other})
    rejected(here)
    assert here.records(other) == []


def test_a_queue_that_is_missing_and_may_not_be_created(scene: Make) -> None:
    here = scene()
    here.set(BROKER, "", **{AUTO_CREATE: "false"})
    try:
        rejected(here)
        assert here.partitions(here.queue) == 0
    finally:
        here.set(BROKER, "", **{AUTO_CREATE: "true"})


def test_a_queue_that_is_not_enabled_gets_nothing_until_it_is(scene: Make) -> None:
    here = scene()
    here.create(here.queue)
    rejected(here)
    assert here.records() == []
    for enabled, letters in (("true", 1), ("false", 1), ("true", 2)):
        here.set(TOPIC, here.queue, **{ENABLE: enabled})
        eventually(partial(_has, here, enabled))
        rejected(here)
        assert len(here.records()) == letters


def test_a_record_that_is_larger_than_the_queue_takes_goes_without_content(scene: Make) -> None:
    here = scene()
    here.create(here.queue, {ENABLE: "true", "max.message.bytes": "1048588"})
    here.produce(b"small")
    here.produce(b"x" * 2_000_000)
    here.produce(b"small")
    here.take(3)
    here.end(0, 2, REJECT)
    here.settled()
    small = (b"k", b"small")
    assert [letter[:2] for letter in here.letters()] == [small, (None, None), small]


@pytest.mark.parametrize(("limit", "batches"), [("150", 0), ("300", 6)])
def test_a_queue_of_small_batches(scene: Make, limit: str, batches: int) -> None:
    here = scene()
    here.create(here.queue, {ENABLE: "true", "max.message.bytes": limit})
    here.produce(*[b"v"] * 6)
    here.take(6)
    here.end(0, 5, REJECT)
    here.settled()
    assert [len(decode_records(batch)) for batch in here.batches()] == [1] * batches


def test_what_has_left_the_log_makes_the_rest_unreadable(scene: Make) -> None:
    here = scene()
    here.produce(*[b"v"] * 6)
    here.take(6)
    rows = [delete_records.DeleteRecordsPartition(0, 3)]
    request = delete_records.DeleteRecordsRequest([delete_records.DeleteRecordsTopic(here.topic, rows)], 10_000)
    answer = here.client.call(request, 2, DeleteRecordsResponse)
    assert [row.error_code for topic in answer.topics for row in topic.partitions] == [ErrorCode.NONE]
    here.end(0, 5, REJECT)
    here.settled()
    assert here.letters() == [(None, None, at, 1, REJECTED) for at in range(6)]


def test_markers_and_aborted_records_of_a_group_that_reads_uncommitted_ones(scene: Make) -> None:
    here = scene()
    transactions(here)
    for _ in range(2):
        here.take(6)
        here.member.client.close()  # type: ignore[attr-defined]
        here.member = here.join()
    here.settled()
    letters = here.letters()
    assert [letter[2:] for letter in letters] == [(at, 2, EXCEEDED) for at in range(6)]
    assert [letter[1] for letter in letters if letter[2] not in {2, 5}] == [b"x", b"y", b"a", b"b"]
    assert all(len(letters[at][0] or b"") == 4 for at in (2, 5)), "a marker's own key"


def test_only_committed_records_of_a_group_that_reads_these(scene: Make) -> None:
    here = scene()
    here.configure(**{"share.isolation.level": "read_committed"})
    transactions(here)
    taken = here.take(2)
    here.end(3, 4, REJECT)
    assert taken[0].first >= 2
    eventually(lambda: len(here.records()) == 2 or None)
    assert [letter[:3] for letter in here.letters()] == [(None, b"a", 3), (None, b"b", 4)]


def test_offsets_that_are_altered_backwards(scene: Make) -> None:
    here = scene()
    here.produce(*[b"v"] * 4)
    here.take(4)
    here.end(0, 3, REJECT)
    here.settled()
    leave(here)
    begin_at(here.client, here.group, here.topic, [2])
    here.member = here.join()
    assert here.take(2) == [Acquired(2, 3, 1)]
    here.end(2, 3, REJECT)
    here.settled()
    assert [letter[2] for letter in here.letters()] == [0, 1, 2, 2, 3, 3]


def test_a_group_that_is_deleted_leaves_its_properties_and_its_queue(scene: Make) -> None:
    here = scene()
    rejected(here)
    leave(here)

    def deleted() -> bool | None:
        answer = here.client.call(DeleteGroupsRequest([here.group]), 2, DeleteGroupsResponse)
        return answer.results[0].error_code == ErrorCode.NONE or None

    eventually(deleted)
    assert describe(here, GROUP, here.group)["errors.deadletterqueue.topic.name"] == here.queue
    assert len(here.records()) == 1


def test_a_queue_whose_name_begins_as_internal_topics_do_is_refused(scene: Make) -> None:
    here = scene()
    ((code, message),) = here.set(GROUP, here.group, **{"errors.deadletterqueue.topic.name": "__x"})
    assert code is ErrorCode.INVALID_CONFIG
    assert "errors.deadletterqueue.topic.name: DLQ topic name must not start with '__'" in message
    for odd in ("bad/name", "", here.queue):
        assert here.set(GROUP, here.group, **{"errors.deadletterqueue.topic.name": odd})[0][0] is ErrorCode.NONE


def test_the_feature_level_switches_queues_while_the_broker_runs(scene: Make) -> None:
    here = scene()
    rejected(here)
    assert len(here.records()) == 1
    set_level(here, 1, upgrade_type=2)
    try:
        rejected(here)
        assert len(here.records()) == 1
    finally:
        set_level(here, 2, upgrade_type=1)
    rejected(here)
    assert len(here.records()) == 2


def test_a_kill_within_a_range_loses_no_letter(scene: Make) -> None:
    """400 letters, each a batch of its own. What is missing comes with the first fetch after the start."""
    here = scene()
    here.create(here.queue, {ENABLE: "true", "max.message.bytes": "300"})
    here.produce(*[b"v"] * 400)
    here.take(400)
    here.end(0, 399, REJECT)
    here.broker.restart(kill=True)
    here.client = here.connect()
    here.member = here.join()

    def all_there() -> bool | None:
        answer = here.member.fetch()
        if answer.error_code:
            here.member.epoch = 0
        return {letter[2] for letter in here.letters()} == set(range(400)) or None

    eventually(all_there, timeout_s=90, pause_s=0.5)
    here.settled()


# -- parts of scenes


def _has(here: Scene, enabled: str) -> bool | None:
    """Whether the queue's flag is that."""
    return describe(here, TOPIC, here.queue).get(ENABLE) == enabled or None


def rejected(here: Scene) -> None:
    """One more record is produced, rejected, and done with."""
    here.produce(b"v")
    (taken,) = here.take(1)
    here.end(taken.first, taken.last, REJECT)
    here.settled()


def transactions(here: Scene) -> None:
    """Two aborted records, their marker at 2, two committed ones, their marker at 5."""
    producer = LibrdkafkaProducer(here.broker.bootstrap, f"tx-{here.topic}")
    producer.begin()
    producer.send(here.topic, 0, ["x", "y"])
    producer.abort()
    producer.begin()
    producer.send(here.topic, 0, ["a", "b"])
    producer.commit()
    producer.close()


def leave(here: Scene) -> None:
    """The member leaves the group."""
    here.member.member_epoch = -1
    here.member.heartbeat()
    here.member.client.close()  # type: ignore[attr-defined]


def set_level(here: Scene, level: int, *, upgrade_type: int) -> None:
    """Set share.version, and wait until the broker shows it."""
    request = UpdateFeaturesRequest(30_000, [FeatureUpdateKey("share.version", level, upgrade_type=upgrade_type)])
    assert here.client.call(request, 1, UpdateFeaturesResponse).error_code == ErrorCode.NONE

    def shown() -> bool | None:
        answer = here.client.call(ApiVersionsRequest("test", "1"), 3, ApiVersionsResponse)
        levels = {feature.name: feature.max_version_level for feature in answer.finalized_features}
        return levels.get("share.version") == level or None

    eventually(shown)


def describe(here: Scene, kind: int, name: str, *, own: bool = False) -> dict[str, str | None]:
    """Properties of a topic or group; with `own` those that were set for it."""
    request = DescribeConfigsRequest([DescribeConfigsResource(kind, name, None)])
    (result,) = here.client.call(request, 4, DescribeConfigsResponse).results
    assert result.error_code == ErrorCode.NONE, result
    return {one.name: one.value for one in result.configs if not own or one.config_source in {1, 8}}
