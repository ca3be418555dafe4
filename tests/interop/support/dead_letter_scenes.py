"""Scenes with a dead-letter queue on either broker: a topic, a group, its queue and a member (KIP-1191)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial

import pytest

from devtools.clients.requests import create_topic, fetch, fetch_request, produce
from devtools.clients.state_rpcs import Batch, StateCaller
from devtools.clients.wire import WireClient
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated import incremental_alter_configs
from shareq.protocol.generated.api_versions import ApiVersionsRequest, ApiVersionsResponse
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
    ACKNOWLEDGED,
    ARCHIVED,
    NOT_READY,
    REJECT,
    Acquired,
    Member,
    described_lag,
    eventually,
    joined,
)
from tests.interop.support.transactional import LibrdkafkaProducer

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
        if broker.kind != "node":  # which is started with it: properties of all brokers are those of the cluster's
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
        member = Member(self.connect(), self.group, f"m-{time.monotonic_ns()}", self.topic_id)
        member.join([self.topic])
        return member

    # -- preparing

    def create(self, topic: str, configs: Mapping[str, str] | None = None, *, partitions: int = 1) -> bytes:
        topic_id = create_topic(self.client, topic, partitions, configs)
        eventually(lambda: self.partitions(topic) == partitions or None)
        return topic_id

    def set(self, kind: int, name: str, **configs: str) -> list[tuple[ErrorCode, str]]:
        """Set properties of a topic, a group or all brokers, and wait until they apply; return error and message."""
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
        data = [each if isinstance(each, RecordData) else RecordData(b"k", each) for each in records]
        batch = build_batch(data, timestamp_ms=int(time.time() * 1000), compression=compression)
        assert produce(self.client, self.topic, bytes(batch), partition=partition).error_code == ErrorCode.NONE

    # -- consuming

    def take(self, records: int, *, partitions: Sequence[int] = (0,), member: Member | None = None) -> list[Acquired]:
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
        """Acknowledge; the answer is a success whatever happens to the letters."""
        answer = self.member.acknowledge((first, last, kind), partition=partition)
        codes = [row.error_code for topic in answer.responses for row in topic.partitions]
        assert (answer.error_code, codes) == (ErrorCode.NONE, [ErrorCode.NONE]), answer

    def settled(self, partition: int = 0) -> None:
        """Wait until dead records are archived and their letters written or given up.

        The persisted state agrees: no record is archiving, or available again.
        """
        eventually(lambda: described_lag(self.client, self.group, self.topic, partition) == 0 or None)
        left = [each for each in self.persisted(partition) if each.state not in {ACKNOWLEDGED, ARCHIVED}]
        assert left == []

    def persisted(self, partition: int = 0) -> list[Batch]:
        caller = StateCaller(self.client, self.group, self.topic_id)
        stored = caller.read(caller.summary(partition).leader_epoch, partition)
        assert stored.error == ErrorCode.NONE, stored
        return stored.batches

    def logged(self, text: str) -> None:
        eventually(lambda: text in self.broker.log or None)

    def restart(self) -> None:
        self.broker.restart(kill=True)
        self.client = self.connect()
        self.member = self.join()

    def kill_and_wait(self, letters: int) -> None:
        """Kill the broker, and fetch until the letters of the first so many offsets exist."""
        self.restart()

        def all_there() -> bool | None:
            answer = self.member.fetch()
            if answer.error_code:
                self.member.epoch = 0
            return {letter[2] for letter in self.letters()} == set(range(letters)) or None

        eventually(all_there, timeout_s=90, pause_s=0.5)

    # -- looking

    def partitions(self, topic: str) -> int:
        """Return the topic's number of partitions; 0 if it does not exist."""
        request = MetadataRequest([MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False)
        found = self.client.call(request, 12, MetadataResponse).topics[0]
        return 0 if found.error_code else len(found.partitions)

    def batches(self, queue: str | None = None, partition: int = 0) -> list[bytes]:
        """Return the batches of a partition of the queue; none if there is no queue."""
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
        """Return the row of a fetch; None while the partition has no leader yet."""
        row = fetch(self.client, fetch_request(queue, offset, partition=partition, partition_max_bytes=1 << 23))
        return None if row.error_code in NOT_READY else row

    def records(self, queue: str | None = None, partition: int = 0) -> list[Record]:
        return [record for batch in self.batches(queue, partition) for record in decode_records(batch)]

    def letters(self, queue: str | None = None, partition: int = 0) -> list[Letter]:
        return sorted((_letter(self, record) for record in self.records(queue, partition)), key=lambda each: each[2])


def _letter(scene: Scene, record: Record) -> Letter:
    """Return the letter, which must have exactly the six headers in order."""
    prefix = "__dlq.errors."
    names = [prefix + name for name in ("topic", "partition", "offset", "group", "delivery.count", "message")]
    assert [name for name, _ in record.headers] == names
    values = [value or b"" for _, value in record.headers]
    assert (values[0], values[3]) == (scene.topic.encode(), scene.group.encode())
    return record.key, record.value, int(values[2]), int(values[4]), values[5]


def skip_without_dead_letters(broker: BrokerUnderTest) -> None:
    with WireClient(("127.0.0.1", broker.port)) as client:
        answer = client.call(ApiVersionsRequest("test", "1"), 3, ApiVersionsResponse)
    levels = {feature.name: feature.max_version_level for feature in answer.finalized_features}
    if levels.get("share.version", 0) < 2:
        pytest.skip(f"no dead letters: share.version {levels.get('share.version')}")


Make = Callable[..., Scene]
"""A function that makes the scene of a test; the topic has so many `partitions`."""


@contextmanager
def scenes(broker: BrokerUnderTest, unique: Callable[[str], str]) -> Iterator[Make]:
    skip_without_dead_letters(broker)
    with ExitStack() as stack:
        yield lambda partitions=1: Scene(stack, broker, unique("x"), partitions)


# -- parts of scenes


def has_flag(here: Scene, enabled: str) -> bool | None:
    return describe(here, TOPIC, here.queue).get(ENABLE) == enabled or None


def rejected(here: Scene) -> None:
    here.produce(b"v")
    (taken,) = here.take(1)
    here.end(taken.first, taken.last, REJECT)
    here.settled()


def transactions(here: Scene) -> None:
    """Produce two aborted records, their marker at 2, two committed ones, their marker at 5."""
    producer = LibrdkafkaProducer(here.broker.bootstrap, f"tx-{here.topic}")
    producer.begin()
    producer.send(here.topic, 0, ["x", "y"])
    producer.abort()
    producer.begin()
    producer.send(here.topic, 0, ["a", "b"])
    producer.commit()
    producer.close()


def leave(here: Scene) -> None:
    here.member.member_epoch = -1
    here.member.heartbeat()
    here.member.client.close()  # type: ignore[attr-defined]


def set_level(here: Scene, level: int, *, upgrade_type: int) -> None:
    request = UpdateFeaturesRequest(30_000, [FeatureUpdateKey("share.version", level, upgrade_type=upgrade_type)])
    assert here.client.call(request, 1, UpdateFeaturesResponse).error_code == ErrorCode.NONE

    def shown() -> bool | None:
        answer = here.client.call(ApiVersionsRequest("test", "1"), 3, ApiVersionsResponse)
        levels = {feature.name: feature.max_version_level for feature in answer.finalized_features}
        return levels.get("share.version") == level or None

    eventually(shown)


def describe(here: Scene, kind: int, name: str, *, own: bool = False) -> dict[str, str | None]:
    request = DescribeConfigsRequest([DescribeConfigsResource(kind, name, None)])
    (result,) = here.client.call(request, 4, DescribeConfigsResponse).results
    assert result.error_code == ErrorCode.NONE, result
    return {one.name: one.value for one in result.configs if not own or one.config_source in {1, 8}}
